package luahost

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

// jsonNull is cjson.null, a light userdata in Redis.
var jsonNull = &lua.LUserData{Metatable: lua.LNil}

// What lua-cjson's options are set to. Functions cannot set them: on a server they would do so for every library.
const (
	jsonDepth     = 1000
	jsonSparse    = 2  // a list may have so many places for each element,
	jsonAnySparse = 10 // and so many in any case
)

func (l *Library) newCJSON() *lua.LTable {
	t := l.module(map[string]func(c call) int{"encode": l.jsonEncode, "decode": jsonDecode})
	t.RawSetString("null", jsonNull)
	t.RawSetString("_NAME", lua.LString("cjson"))
	t.RawSetString("_VERSION", lua.LString("2.1.0"))
	return t
}

// jsonEncoder writes one value as lua-cjson does. The members of an object come in
// the order of their first assignment, where Redis has that of its hash.
type jsonEncoder struct {
	call
	library *Library
	env     *environment
	out     strings.Builder
}

func (l *Library) jsonEncode(c call) int {
	if c.GetTop() != 1 {
		c.badArgument(1, "expected 1 argument")
	}
	e := &jsonEncoder{call: c, env: l.env, library: l}
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
		if depth++; depth > jsonDepth {
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
	if int64(most) > int64(items)*jsonSparse && most > jsonAnySparse {
		e.refuse(t, "excessively sparse array")
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
		e.refuse(lua.LNumber(n), "must not be NaN or Inf")
	}
	text := formatNumber(n)
	e.library.lossy(e.LState, n, text, false)
	e.out.WriteString(text)
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

// jsonToken is one token of lua-cjson; kind is its name in messages.
type jsonToken struct {
	kind  string
	at    int // where it begins, from 0
	value lua.LValue
}

// jsonDecoder reads JSON as lua-cjson does, including what it accepts beyond the
// standard.
type jsonDecoder struct {
	call
	data  string
	at    int
	depth int
}

func jsonDecode(c call) int {
	if c.GetTop() != 1 {
		c.badArgument(1, "expected 1 argument")
	}
	data := c.text(1)
	if len(data) >= 2 && (data[0] == 0 || data[1] == 0) {
		c.fail("JSON parser does not support UTF-16 or UTF-32")
	}
	d := &jsonDecoder{call: c, data: data}
	v := d.value(d.next())
	if t := d.next(); t.kind != "T_END" {
		d.unexpected("the end", t)
	}
	return c.one(v)
}

func (d *jsonDecoder) unexpected(want string, t jsonToken) {
	found := t.kind
	if found == "T_ERROR" {
		found = string(t.value.(lua.LString))
	}
	d.fail("Expected %s but found %s at character %d", want, found, t.at+1)
}

func (d *jsonDecoder) value(t jsonToken) lua.LValue {
	switch t.kind {
	case "T_STRING", "T_NUMBER", "T_BOOLEAN", "T_NULL":
		return t.value
	case "T_OBJ_BEGIN":
		return d.object()
	case "T_ARR_BEGIN":
		return d.array()
	}
	d.unexpected("value", t)
	return nil
}

func (d *jsonDecoder) descend() {
	if d.depth++; d.depth > jsonDepth {
		d.fail("Found too many nested data structures (%d) at character %d", d.depth, d.at)
	}
}

func (d *jsonDecoder) object() lua.LValue {
	d.descend()
	table := &lua.LTable{Metatable: lua.LNil}
	t := d.next()
	if t.kind == "T_OBJ_END" {
		d.depth--
		return table
	}
	for {
		if t.kind != "T_STRING" {
			d.unexpected("object key string", t)
		}
		key := string(t.value.(lua.LString))
		if t = d.next(); t.kind != "T_COLON" {
			d.unexpected("colon", t)
		}
		table.RawSetString(key, d.value(d.next()))
		switch t = d.next(); t.kind {
		case "T_OBJ_END":
			d.depth--
			return table
		case "T_COMMA":
		default:
			d.unexpected("comma or object end", t)
		}
		t = d.next()
	}
}

func (d *jsonDecoder) array() lua.LValue {
	d.descend()
	table := &lua.LTable{Metatable: lua.LNil}
	t := d.next()
	if t.kind == "T_ARR_END" {
		d.depth--
		return table
	}
	for {
		table.Append(d.value(t))
		switch t = d.next(); t.kind {
		case "T_ARR_END":
			d.depth--
			return table
		case "T_COMMA":
		default:
			d.unexpected("comma or array end", t)
		}
		t = d.next()
	}
}

func (d *jsonDecoder) next() jsonToken {
	for d.at < len(d.data) && strings.IndexByte(" \t\n\r", d.data[d.at]) >= 0 {
		d.at++
	}
	start := d.at
	if d.at == len(d.data) || d.data[d.at] == 0 {
		return jsonToken{kind: "T_END", at: start}
	}
	rest := d.data[d.at:]
	single := map[byte]string{'{': "T_OBJ_BEGIN", '}': "T_OBJ_END", '[': "T_ARR_BEGIN", ']': "T_ARR_END", ',': "T_COMMA", ':': "T_COLON"}
	if kind := single[rest[0]]; kind != "" {
		d.at++
		return jsonToken{kind: kind, at: start}
	}
	switch c := rest[0]; {
	case c == '"':
		return d.str(start)
	case c == '-' || isDigit(c):
		return d.num(start)
	case strings.HasPrefix(rest, "true"):
		d.at += 4
		return jsonToken{"T_BOOLEAN", start, lua.LTrue}
	case strings.HasPrefix(rest, "false"):
		d.at += 5
		return jsonToken{"T_BOOLEAN", start, lua.LFalse}
	case strings.HasPrefix(rest, "null"):
		d.at += 4
		return jsonToken{"T_NULL", start, jsonNull}
	case strings.IndexByte("+iInN", c) >= 0 && invalidJSONNumber(rest):
		return d.num(start)
	}
	return d.bad(d.at, "invalid token")
}

func (d *jsonDecoder) bad(at int, why string) jsonToken {
	return jsonToken{"T_ERROR", at, lua.LString(why)}
}

func (d *jsonDecoder) num(start int) jsonToken {
	n, size := strtod(cString(d.data[d.at:]))
	if size == 0 {
		return d.bad(start, "invalid number")
	}
	d.at += size
	return jsonToken{"T_NUMBER", start, lua.LNumber(n)}
}

// invalidJSONNumber tells numbers that C reads and JSON does not have.
func invalidJSONNumber(s string) bool {
	if s[0] == '+' {
		return true
	}
	s = strings.TrimPrefix(s, "-")
	if s == "" {
		return false
	}
	if s[0] == '0' {
		return len(s) > 1 && (s[1]|0x20 == 'x' || isDigit(s[1]))
	}
	return s[0] > '9' && (foldPrefix(s, "inf") || foldPrefix(s, "nan"))
}

// str reads a string token; the decoder is at its opening quote.
func (d *jsonDecoder) str(start int) jsonToken {
	d.at++
	var out []byte
	for {
		if d.at >= len(d.data) || d.data[d.at] == 0 {
			return d.bad(d.at, "unexpected end of string")
		}
		switch c := d.data[d.at]; c {
		case '"':
			d.at++
			return jsonToken{"T_STRING", start, lua.LString(out)}
		case '\\':
			var escape byte
			if d.at+1 < len(d.data) {
				escape = d.data[d.at+1]
			}
			if escape == 'u' {
				r, size := d.unicode(d.data[d.at:])
				if size == 0 {
					return d.bad(d.at, "invalid unicode escape code")
				}
				out = utf8.AppendRune(out, r)
				d.at += size
				continue
			}
			i := strings.IndexByte(`"\/btnfr`, escape)
			if i < 0 || escape == 0 {
				return d.bad(d.at, "invalid escape code")
			}
			out = append(out, "\"\\/\b\t\n\f\r"[i])
			d.at += 2
		default:
			out = append(out, c)
			d.at++
		}
	}
}

// unicode reads \uXXXX, or two of them for a surrogate pair; 0 means an error.
func (d *jsonDecoder) unicode(s string) (r rune, size int) {
	r, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if r&0xf800 != 0xd800 {
		return r, 6
	}
	if r&0x400 != 0 || !strings.HasPrefix(s[6:], `\u`) {
		return 0, 0
	}
	low, ok := hex4(s[6:])
	if !ok || low&0xfc00 != 0xdc00 {
		return 0, 0
	}
	return 0x10000 + (r&0x3ff)<<10 + low&0x3ff, 12
}

func hex4(s string) (r rune, ok bool) {
	if len(s) < 6 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}
