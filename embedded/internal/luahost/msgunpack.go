package luahost

import (
	"encoding/binary"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// messageUnpack reads limit values from an offset on, all of them if limit is 0;
// with a limit it first answers where the next one begins, or -1.
func messageUnpack(c call, limit, offset int) int {
	data := c.text(1)
	switch {
	case limit < 0 || offset < 0:
		c.fail("Invalid request to unpack with offset of %d and limit of %d.", offset, len(data))
	case offset > len(data):
		c.fail("Start offset %d greater than input length %d.", offset, len(data))
	}
	all := limit == 0
	u := &unpacker{call: c, data: []byte(data[offset:])}
	var values []lua.LValue
	for len(u.data) > 0 && (all || len(values) < limit) {
		values = append(values, u.value())
	}
	if !all {
		next := -1
		if len(u.data) > 0 {
			next = len(data) - len(u.data)
		}
		c.Push(lua.LNumber(next))
	}
	for _, v := range values {
		c.Push(v)
	}
	if all {
		return len(values)
	}
	return len(values) + 1
}

type unpacker struct {
	call
	data []byte
}

// take is the next n bytes.
func (u *unpacker) take(n int) []byte {
	if n < 0 || n > len(u.data) {
		u.fail("Missing bytes in input.")
	}
	b := u.data[:n]
	u.data = u.data[n:]
	return b
}

// unsigned is a number of n bytes.
func (u *unpacker) unsigned(n int) uint64 {
	var padded [8]byte
	copy(padded[8-n:], u.take(n))
	return binary.BigEndian.Uint64(padded[:])
}

// size is a count of bytes or values; every input has fewer than an int of 32 bits can hold.
func (u *unpacker) size(n int) int { return int(min(u.unsigned(n), math.MaxInt32)) }

func (u *unpacker) value() lua.LValue {
	code := u.take(1)[0]
	switch {
	case code <= 0x7f, code >= 0xe0:
		return lua.LNumber(int8(code))
	case code >= 0xa0 && code <= 0xbf:
		return lua.LString(u.take(int(code & 0x1f)))
	case code >= 0x90 && code <= 0x9f:
		return u.array(int(code & 0xf))
	case code >= 0x80 && code <= 0x8f:
		return u.table(int(code & 0xf))
	}
	switch code {
	case 0xc0:
		return lua.LNil
	case 0xc2:
		return lua.LFalse
	case 0xc3:
		return lua.LTrue
	case 0xca:
		return lua.LNumber(math.Float32frombits(uint32(u.unsigned(4))))
	case 0xcb:
		return lua.LNumber(math.Float64frombits(u.unsigned(8)))
	case 0xcc, 0xcd, 0xce:
		return lua.LNumber(u.unsigned(1 << (code - 0xcc)))
	case 0xcf: // Redis takes it for signed
		return lua.LNumber(int64(u.unsigned(8)))
	case 0xd0:
		return lua.LNumber(int8(u.unsigned(1)))
	case 0xd1:
		return lua.LNumber(int16(u.unsigned(2)))
	case 0xd2:
		return lua.LNumber(int32(u.unsigned(4)))
	case 0xd3:
		return lua.LNumber(int64(u.unsigned(8)))
	case 0xd9, 0xda, 0xdb:
		return lua.LString(u.take(u.size(1 << (code - 0xd9))))
	case 0xdc, 0xdd:
		return u.array(u.size(2 << (code - 0xdc)))
	case 0xde, 0xdf:
		return u.table(u.size(2 << (code - 0xde)))
	}
	u.fail("Bad data format in input.")
	return nil
}

func (u *unpacker) array(n int) lua.LValue {
	t := &lua.LTable{Metatable: lua.LNil}
	for i := 1; i <= n; i++ {
		t.RawSetInt(i, u.value())
	}
	return t
}

func (u *unpacker) table(n int) lua.LValue {
	t := &lua.LTable{Metatable: lua.LNil}
	for range n {
		k := u.value()
		v := u.value()
		if k == lua.LNil {
			u.Error(lua.LString("table index is nil"), 0)
		}
		t.RawSet(k, v)
	}
	return t
}
