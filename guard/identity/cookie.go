package identity

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
)

// maxCookies is the bound of net/http, which reads none of more.
const maxCookies = 3000

// cookie adds the values of a cookie as services read them, in their quotes and escapes.
func (v *values) cookie(r *http.Request, name string) {
	lines, count := r.Header["Cookie"], 0
	for _, line := range lines {
		if count += strings.Count(line, ";") + 1; count > maxCookies {
			v.over = fmt.Sprintf("more than %d cookies", maxCookies)
			return
		}
	}
	for _, line := range lines {
		for rest := line; rest != ""; {
			var pair string
			pair, rest, _ = strings.Cut(rest, ";")
			if key, value, _ := strings.Cut(pair, "="); isNamed(strings.Trim(key, " \t"), name) {
				v.add(strings.Trim(value, " \t"))
			}
		}
		v.pythonCookie(line, name)
	}
}

// isNamed reports whether a service may read a key as a name. PHP reads a.b as a_b.
func isNamed(key, name string) bool {
	if len(key) != len(name) {
		return false
	}
	for i := range len(key) {
		if key[i] != name[i] && (name[i] != '_' || strings.IndexByte(" .[", key[i]) < 0) {
			return false
		}
	}
	return true
}

// pythonCookie adds the values that Python's http.cookies reads: white space ends a cookie, and quotes may contain a semicolon.
func (v *values) pythonCookie(line, name string) {
	for {
		line = strings.TrimLeft(line, " \t;")
		end := strings.IndexAny(line, "=; \t")
		if end < 0 {
			return
		}
		key := line[:end]
		value, ok := strings.CutPrefix(strings.TrimLeft(line[end:], " \t"), "=")
		if line = value; !ok {
			continue
		}
		line = strings.TrimLeft(line, " \t")
		if end = quotedEnd(line); end == 0 {
			if end = strings.IndexAny(line, "; \t"); end < 0 {
				end = len(line)
			}
		}
		if key == name {
			v.add(line[:end])
		}
		line = line[end:]
	}
}

// quotedEnd returns the length of the quoted string that a text begins with, or 0.
func quotedEnd(text string) int {
	if text == "" || text[0] != '"' {
		return 0
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// unquoted returns a value without its quotes and the backslash and octal escapes in them.
func unquoted(value string) string {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return value
	}
	value = value[1 : len(value)-1]
	if strings.IndexByte(value, '\\') < 0 {
		return value
	}
	text := make([]byte, 0, len(value))
	for i := 0; i < len(value); i++ {
		c := value[i]
		if rest := value[i+1:]; c == '\\' && rest != "" {
			if c = rest[0]; len(rest) > 2 && isOctal(c, '3') && isOctal(rest[1], '7') && isOctal(rest[2], '7') {
				c = (c-'0')<<6 | (rest[1]-'0')<<3 | (rest[2] - '0')
				i += 2
			}
			i++
		}
		text = append(text, c)
	}
	return string(text)
}

func isOctal(c, most byte) bool { return '0' <= c && c <= most }

// unescaped returns a text without its percent escapes, once. An escape that is none stays.
func unescaped(escaped string) string {
	if strings.IndexByte(escaped, '%') < 0 {
		return escaped
	}
	text := make([]byte, 0, len(escaped))
	for i := 0; i < len(escaped); i++ {
		c := escaped[i]
		if c == '%' && i+2 < len(escaped) {
			if b, err := hex.DecodeString(escaped[i+1 : i+3]); err == nil {
				c = b[0]
				i += 2
			}
		}
		text = append(text, c)
	}
	return string(text)
}
