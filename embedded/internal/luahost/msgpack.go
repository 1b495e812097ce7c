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
