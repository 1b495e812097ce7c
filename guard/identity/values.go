package identity

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// maxValues is the most different values of one source. A request with more is ambiguous.
const maxValues = 8

// values holds the different values of one source, in the order of the request, without empty ones.
type values struct {
	all  [maxValues]string
	n    int
	over string // what the request has too many of; "" if nothing
}

func (v *values) add(value string) {
	if value == "" || v.over != "" {
		return
	}
	for i := range v.n {
		if v.all[i] == value {
			return
		}
	}
	if v.n == maxValues {
		v.over = fmt.Sprintf("more than %d different values", maxValues)
		return
	}
	v.all[v.n] = value
	v.n++
}

// header adds the lines of a header, whose name must be canonical.
func (v *values) header(r *http.Request, name string) {
	for _, line := range r.Header[name] {
		if IsCredentials(name) {
			eachCredentials(line, v.add)
		} else {
			v.add(textproto.TrimString(line))
		}
	}
}

// query adds the values of a query parameter, without a map of all parameters. Services differ in what ; and broken escapes mean, so it adds
// the values that each of them reads.
func (v *values) query(r *http.Request, name string) {
	if r.URL == nil {
		return
	}
	for rest := r.URL.RawQuery; rest != "" && v.over == ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		v.pair(pair, name)
		for more := strings.Contains(pair, ";"); more && v.over == ""; {
			var part string
			part, pair, more = strings.Cut(pair, ";")
			v.pair(part, name)
		}
	}
}

func (v *values) pair(pair, name string) {
	key, value, _ := strings.Cut(pair, "=")
	if key, err := url.QueryUnescape(key); err == nil && isNamed(key, name) {
		v.add(unescaped(strings.ReplaceAll(value, "+", " ")))
	}
}

// forms returns the texts that services may read from a value: the canonical one, which counts, and others.
func (s *source) forms(value string) (f values) {
	switch {
	case s.Cookie != "":
		text := unquoted(value)
		if text == "" {
			return f
		}
		f.add(unescaped(text))
		f.add(text)
		if value[0] == '"' && len(value) > 1 {
			f.add(unescaped(value[1 : len(value)-1])) // npm's cookie
		}
	case IsCredentials(s.Header):
		_, credentials := cutScheme(value)
		f.add(credentials)
	}
	f.add(value)
	return f
}

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

const maxScheme = 64 // bytes of an authentication scheme

// IsCredentials reports whether a header, in any case, has credentials behind a scheme (RFC 9110, 11.4): a secret.
func IsCredentials(header string) bool {
	return strings.EqualFold(header, "Authorization") || strings.EqualFold(header, "Proxy-Authorization")
}

// cutScheme returns the scheme and what follows it. The scheme is "" without one. White space is what any service takes for it: DRF and
// passport split at tabs, Python's str.split also at those of Latin-1.
func cutScheme(value string) (scheme, credentials string) {
	value = trimSpace(value)
	for i := range min(len(value), maxScheme) {
		if isSpace(value[i]) {
			if isToken(value[:i]) {
				return value[:i], trimSpace(value[i:])
			}
			break
		}
	}
	return "", value
}

// eachCredentials calls f with each of the credentials in a line: Basic x, Bearer y. Some services look for theirs behind a comma.
func eachCredentials(line string, f func(string)) {
	line = trimSpace(line)
	start := 0
	for i := range len(line) {
		if line[i] != ',' {
			continue
		}
		if scheme, _ := cutScheme(line[i+1:]); scheme != "" {
			f(trimSpace(line[start:i]))
			start = i + 1
		}
	}
	f(line[start:])
}

func trimSpace(text string) string {
	for text != "" && isSpace(text[0]) {
		text = text[1:]
	}
	for text != "" && isSpace(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == 0x85 || c == 0xa0 }
