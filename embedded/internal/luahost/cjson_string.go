package luahost

import (
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

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
	for _, c := range []byte(s[2:6]) {
		h := hexDigit(c)
		if h < 0 {
			return 0, false
		}
		r = r<<4 | rune(h)
	}
	return r, true
}
