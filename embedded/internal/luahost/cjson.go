package luahost

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// jsonNull is cjson.null, a light userdata in Redis.
var jsonNull = &lua.LUserData{Metatable: lua.LNil}

// jsonState is how a library has set cjson's options. The defaults are those of
// lua-cjson 2.1.
type jsonState struct {
	sparseConvert           bool
	sparseRatio, sparseSafe int
	encodeDepth             int
	decodeDepth             int
	precision               int
	keepBuffer              bool
	encodeInvalid           string // "off", "on" or "null"
	decodeInvalid           bool
}

func newJSONState() jsonState {
	return jsonState{
		sparseRatio: 2, sparseSafe: 10, encodeDepth: 1000, decodeDepth: 1000, precision: 14,
		keepBuffer: true, encodeInvalid: "off", decodeInvalid: true,
	}
}

func (l *Library) newCJSON(s *jsonState) *lua.LTable {
	t := l.module(map[string]func(c call) int{
		"encode": func(c call) int { return l.jsonEncode(c, s) },
		"decode": func(c call) int { return jsonDecode(c, s) },
		"new": func(c call) int {
			fresh := newJSONState()
			return c.one(l.newCJSON(&fresh))
		},
		"encode_sparse_array":     s.setSparse,
		"encode_max_depth":        func(c call) int { return setNumber(c, &s.encodeDepth, 1<<31-1) },
		"decode_max_depth":        func(c call) int { return setNumber(c, &s.decodeDepth, 1<<31-1) },
		"encode_number_precision": func(c call) int { return setNumber(c, &s.precision, 14) },
		"encode_keep_buffer":      func(c call) int { return setBool(c, &s.keepBuffer) },
		"encode_invalid_numbers":  s.setEncodeInvalid,
		"decode_invalid_numbers":  func(c call) int { return setBool(c, &s.decodeInvalid) },
	})
	t.RawSetString("null", jsonNull)
	t.RawSetString("_NAME", lua.LString("cjson"))
	t.RawSetString("_VERSION", lua.LString("2.1.0"))
	return t
}

func (c call) atMost(n int) {
	if c.GetTop() > n {
		c.badArgument(n+1, "found too many arguments")
	}
}

// setNumber reads and answers an option of at least 1.
func setNumber(c call, option *int, most int) int {
	c.atMost(1)
	if !c.absent(1) {
		n := c.int(1)
		if n < 1 || n > most {
			c.badArgument(1, "expected integer between 1 and "+formatNumber(float64(most)))
		}
		*option = n
	}
	return c.oneNumber(float64(*option))
}

func setBool(c call, option *bool) int {
	c.atMost(1)
	if !c.absent(1) {
		*option = c.choice(1, "off", "on") == "on"
	}
	return c.one(lua.LBool(*option))
}

// choice reads a boolean, as off or on, or one of the names.
func (c call) choice(n int, names ...string) string {
	if b, ok := c.Get(n).(lua.LBool); ok {
		if b {
			return "on"
		}
		return "off"
	}
	s := c.text(n)
	for _, name := range names {
		if s == name {
			return s
		}
	}
	c.badArgument(n, "invalid option '"+s+"'")
	return ""
}

func (s *jsonState) setEncodeInvalid(c call) int {
	c.atMost(1)
	if !c.absent(1) {
		s.encodeInvalid = c.choice(1, "off", "on", "null")
	}
	if s.encodeInvalid == "null" {
		return c.oneText("null")
	}
	return c.one(lua.LBool(s.encodeInvalid == "on"))
}

func (s *jsonState) setSparse(c call) int {
	c.atMost(3)
	for i, option := range []*int{&s.sparseRatio, &s.sparseSafe} {
		if c.absent(i + 2) {
			continue
		}
		n := c.int(i + 2)
		if n < 0 || n > 1<<31-1 {
			c.badArgument(i+2, "expected integer between 0 and 2147483647")
		}
		*option = n
	}
	if !c.absent(1) {
		s.sparseConvert = c.choice(1, "off", "on") == "on"
	}
	c.Push(lua.LBool(s.sparseConvert))
	c.Push(lua.LNumber(s.sparseRatio))
	c.Push(lua.LNumber(s.sparseSafe))
	return 3
}

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
