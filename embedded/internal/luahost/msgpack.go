package luahost

import (
	"encoding/binary"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// maxPackDepth is where cmsgpack gives up on nested tables and writes nil.
const maxPackDepth = 16

func (l *Library) newMessagePack() *lua.LTable {
	t := l.module(map[string]func(c call) int{
		"pack":         l.messagePack,
		"unpack":       func(c call) int { return messageUnpack(c, 0, 0) },
		"unpack_one":   func(c call) int { return messageUnpack(c, 1, c.optInt(2, 0)) },
		"unpack_limit": func(c call) int { return messageUnpack(c, c.int(2), c.optInt(3, 0)) },
	})
	for name, text := range map[string]string{
		"_NAME": "cmsgpack", "_VERSION": "lua-cmsgpack 0.4.0",
		"_COPYRIGHT":   "Copyright (C) 2012, Salvatore Sanfilippo",
		"_DESCRIPTION": "MessagePack C implementation for Lua",
	} {
		t.RawSetString(name, lua.LString(text))
	}
	return t
}

// messagePack joins the encodings of its arguments.
func (l *Library) messagePack(c call) int {
	if c.GetTop() == 0 {
		c.badArgument(0, "MessagePack pack needs input.")
	}
	p := packer{env: l.env}
	for i := 1; i <= c.GetTop(); i++ {
		p.value(c.Get(i), 0)
	}
	return c.oneText(string(p.out))
}

type packer struct {
	env *environment
	out []byte
}

func (p *packer) value(v lua.LValue, depth int) {
	switch v := v.(type) {
	case lua.LString:
		p.text(string(v))
	case lua.LBool:
		if v {
			p.out = append(p.out, 0xc3)
		} else {
			p.out = append(p.out, 0xc2)
		}
	case lua.LNumber:
		p.number(float64(v))
	case *lua.LTable:
		if depth == maxPackDepth {
			p.out = append(p.out, 0xc0)
			return
		}
		p.table(p.env.behind(v), depth)
	default:
		p.out = append(p.out, 0xc0)
	}
}

func (p *packer) text(s string) {
	switch n := len(s); {
	case n < 32:
		p.out = append(p.out, 0xa0|byte(n))
	case n <= 0xff:
		p.out = append(p.out, 0xd9, byte(n))
	case n <= 0xffff:
		p.out = binary.BigEndian.AppendUint16(append(p.out, 0xda), uint16(n))
	default:
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xdb), uint32(n))
	}
	p.out = append(p.out, s...)
}

func (p *packer) number(n float64) {
	if n == math.Trunc(n) && n >= -1<<63 && n < 1<<63 {
		p.integer(int64(n))
		return
	}
	if f := float32(n); float64(f) == n {
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xca), math.Float32bits(f))
		return
	}
	p.out = binary.BigEndian.AppendUint64(append(p.out, 0xcb), math.Float64bits(n))
}

func (p *packer) integer(n int64) {
	switch {
	case n >= 0 && n <= 127, n < 0 && n >= -32:
		p.out = append(p.out, byte(n))
	case n >= 0 && n <= 0xff:
		p.out = append(p.out, 0xcc, byte(n))
	case n >= 0 && n <= 0xffff:
		p.out = binary.BigEndian.AppendUint16(append(p.out, 0xcd), uint16(n))
	case n >= 0 && n <= 0xffffffff:
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xce), uint32(n))
	case n >= 0:
		p.out = binary.BigEndian.AppendUint64(append(p.out, 0xcf), uint64(n))
	case n >= -1<<7:
		p.out = append(p.out, 0xd0, byte(n))
	case n >= -1<<15:
		p.out = binary.BigEndian.AppendUint16(append(p.out, 0xd1), uint16(n))
	case n >= -1<<31:
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xd2), uint32(n))
	default:
		p.out = binary.BigEndian.AppendUint64(append(p.out, 0xd3), uint64(n))
	}
}

// header writes the size of an array or a map.
func (p *packer) header(n int, short, code byte) {
	switch {
	case n <= 15:
		p.out = append(p.out, short|byte(n))
	case n <= 0xffff:
		p.out = binary.BigEndian.AppendUint16(append(p.out, code), uint16(n))
	default:
		p.out = binary.BigEndian.AppendUint32(append(p.out, code+1), uint32(n))
	}
}

// table writes an array if the keys are exactly 1 to n, else a map.
func (p *packer) table(t *lua.LTable, depth int) {
	n, most, array := 0, 0, true
	for k, _ := t.Next(lua.LNil); k != lua.LNil; k, _ = t.Next(k) {
		n++
		i, ok := k.(lua.LNumber)
		if !ok || i < 1 || float64(i) != math.Floor(float64(i)) {
			array = false
			continue
		}
		most = max(most, toInt(float64(i)))
	}
	if array && most == n {
		p.header(n, 0x90, 0xdc)
		for i := 1; i <= n; i++ {
			p.value(t.RawGet(lua.LNumber(i)), depth+1)
		}
		return
	}
	p.header(n, 0x80, 0xde)
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		p.value(k, depth+1)
		p.value(v, depth+1)
	}
}

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
