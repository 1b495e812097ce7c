package luahost

import (
	"strconv"
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

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
	set   *jsonState
	depth int
}

func jsonDecode(c call, set *jsonState) int {
	if c.GetTop() != 1 {
		c.badArgument(1, "expected 1 argument")
	}
	data := c.text(1)
	if len(data) >= 2 && (data[0] == 0 || data[1] == 0) {
		c.fail("JSON parser does not support UTF-16 or UTF-32")
	}
	d := &jsonDecoder{call: c, data: data, set: set}
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
	if d.depth++; d.depth > d.set.decodeDepth {
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
		if !d.set.decodeInvalid && invalidJSONNumber(rest) {
			return d.bad(d.at, "invalid number")
		}
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
	case d.set.decodeInvalid && strings.IndexByte("+iInN", c) >= 0 && invalidJSONNumber(rest):
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
