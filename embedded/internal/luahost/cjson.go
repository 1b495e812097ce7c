package luahost

import (
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
