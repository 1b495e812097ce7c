package luahost

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// jsonEncoder writes one value as lua-cjson does. The members of an object come in
// the order of their first assignment, where Redis has that of its hash.
type jsonEncoder struct {
	call
	library *Library
	env     *environment
	set     *jsonState
	out     strings.Builder
}

func (l *Library) jsonEncode(c call, set *jsonState) int {
	if c.GetTop() != 1 {
		c.badArgument(1, "expected 1 argument")
	}
	e := &jsonEncoder{call: c, env: l.env, set: set, library: l}
	e.value(c.Get(1), 0)
	return c.oneText(e.out.String())
}

func (e *jsonEncoder) refuse(v lua.LValue, why string) {
	e.fail("Cannot serialise %s: %s", v.Type().String(), why)
}

func (e *jsonEncoder) value(v lua.LValue, depth int) {
	switch v := v.(type) {
	case lua.LString:
		e.text(string(v))
	case lua.LNumber:
		e.num(float64(v))
	case lua.LBool:
		e.out.WriteString(v.String())
	case *lua.LTable:
		if depth++; depth > e.set.encodeDepth {
			e.fail("Cannot serialise, excessive nesting (%d)", depth)
		}
		t := e.env.behind(v)
		if n := e.arrayLength(t); n > 0 {
			e.array(t, n, depth)
		} else {
			e.object(t, depth)
		}
	default:
		if v != lua.LNil && v != lua.LValue(jsonNull) {
			e.refuse(v, "type not supported")
		}
		e.out.WriteString("null")
	}
}

// arrayLength is the length of a table with whole positive keys only, else -1.
func (e *jsonEncoder) arrayLength(t *lua.LTable) int {
	most, items := 0, 0
	for k, _ := t.Next(lua.LNil); k != lua.LNil; k, _ = t.Next(k) {
		n, ok := k.(lua.LNumber)
		if !ok || float64(n) != math.Floor(float64(n)) || n < 1 {
			return -1
		}
		most = max(most, toInt(float64(n)))
		items++
	}
	if e.set.sparseRatio > 0 && int64(most) > int64(items)*int64(e.set.sparseRatio) && most > e.set.sparseSafe {
		if !e.set.sparseConvert {
			e.refuse(t, "excessively sparse array")
		}
		return -1
	}
	return most
}

func (e *jsonEncoder) array(t *lua.LTable, n, depth int) {
	e.out.WriteByte('[')
	for i := 1; i <= n; i++ {
		if i > 1 {
			e.out.WriteByte(',')
		}
		e.value(t.RawGet(lua.LNumber(i)), depth)
	}
	e.out.WriteByte(']')
}

func (e *jsonEncoder) object(t *lua.LTable, depth int) {
	e.out.WriteByte('{')
	first := true
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		if !first {
			e.out.WriteByte(',')
		}
		first = false
		switch k := k.(type) {
		case lua.LNumber:
			e.out.WriteByte('"')
			e.num(float64(k))
			e.out.WriteByte('"')
		case lua.LString:
			e.text(string(k))
		default:
			e.refuse(k, "table key must be a number or string")
		}
		e.out.WriteByte(':')
		e.value(v, depth)
	}
	e.out.WriteByte('}')
}

func (e *jsonEncoder) num(n float64) {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		switch e.set.encodeInvalid {
		case "off":
			e.refuse(lua.LNumber(n), "must not be NaN or Inf")
		case "null":
			e.out.WriteString("null")
			return
		}
		if math.IsNaN(n) {
			e.out.WriteString("nan")
			return
		}
	}
	if e.set.precision == 14 {
		text := formatNumber(n)
		e.library.lossy(e.LState, n, text, false)
		e.out.WriteString(text)
		return
	}
	e.out.WriteString(formatG(n, e.set.precision, false))
}

// text escapes what JSON must have escaped, and also / and DEL.
func (e *jsonEncoder) text(s string) {
	const hex = "0123456789abcdef"
	e.out.WriteByte('"')
	for i := 0; i < len(s); i++ {
		c := s[i]
		if at := strings.IndexByte("\"\\/\b\f\n\r\t", c); at >= 0 {
			e.out.WriteByte('\\')
			e.out.WriteByte(`"\/bfnrt`[at])
			continue
		}
		if c < 0x20 || c == 0x7f {
			e.out.WriteString(`\u00`)
			e.out.WriteByte(hex[c>>4])
			e.out.WriteByte(hex[c&15])
			continue
		}
		e.out.WriteByte(c)
	}
	e.out.WriteByte('"')
}
