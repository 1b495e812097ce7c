package identity

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
)

// maxValues is the most different values of one source. A request with more is ambiguous.
const maxValues = 8

// values holds the different values of one source, in the order of the request, without empty ones.
type values struct {
	all       [maxValues]string
	n         int
	ambiguous string // why services read the values in different ways; "" if they do not
}

func (v *values) add(value string) {
	for i := range v.n {
		if v.all[i] == value {
			return
		}
	}
	switch {
	case value == "":
	case v.n == maxValues:
		v.ambiguous = fmt.Sprintf("more than %d different values", maxValues)
	default:
		v.all[v.n] = value
		v.n++
	}
}

// header adds the lines of a header, whose name must be canonical. CGI and WSGI read - and _ in a name as the same.
func (v *values) header(r *http.Request, name string) {
	for _, line := range r.Header[name] {
		if IsCredentials(name) {
			eachCredentials(line, func(value string) {
				_, credentials := cutScheme(value)
				v.add(credentials)
			})
		} else {
			v.add(textproto.TrimString(line))
		}
	}
	if strings.IndexByte(name, '-') < 0 {
		return
	}
	for other := range r.Header {
		if len(other) == len(name) && other != name && strings.EqualFold(strings.ReplaceAll(other, "_", "-"), name) {
			v.ambiguous = "the header " + strconv.Quote(other)
		}
	}
}

// query adds the values of a query parameter, without a map of all parameters.
func (v *values) query(r *http.Request, name string) {
	if r.URL == nil {
		return
	}
	for rest := r.URL.RawQuery; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		for i, part := range strings.Split(pair, ";") {
			key, value, _ := strings.Cut(part, "=")
			switch key = unescaped(strings.ReplaceAll(key, "+", " ")); {
			case !isNamed(key, name):
			case key != name:
				v.ambiguous = "the query parameter " + strconv.Quote(key)
			case i > 0 || len(part) < len(pair):
				v.ambiguous = "a query with a semicolon"
			default:
				if _, err := url.QueryUnescape(value); err != nil {
					v.ambiguous = "a query parameter with a broken escape"
				}
				v.add(unescaped(strings.ReplaceAll(value, "+", " ")))
			}
		}
	}
}

// cookie adds the values of a cookie, without their quotes and escapes, as most services read them.
func (v *values) cookie(r *http.Request, name string) {
	for _, line := range r.Header["Cookie"] {
		named := 0
		for pair := range strings.SplitSeq(line, ";") {
			key, value, _ := strings.Cut(pair, "=")
			switch key = strings.Trim(key, " \t"); {
			case !isNamed(key, name):
				continue
			case key != name:
				v.ambiguous = "the cookie " + strconv.Quote(key)
			}
			named++
			value = strings.Trim(value, " \t")
			if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
				value = value[1 : len(value)-1]
			}
			if strings.ContainsAny(value, " \t\"\\") {
				v.ambiguous = "a cookie with a quote, a backslash or white space in its value"
			}
			v.add(unescaped(value))
		}
		if v.ambiguous == "" && named != mentions(line, name) {
			v.ambiguous = "a cookie behind white space, a comma or a quote"
		}
	}
}

// mentions returns how often a line has a name and an equals sign, as any service may find them: some take white space or a comma for the end of
// a cookie.
func mentions(line, name string) (n int) {
	for at := 0; ; at++ {
		next := strings.Index(line[at:], name)
		if next < 0 {
			return n
		}
		at += next
		begins := at == 0 || strings.IndexByte("; \t,\"", line[at-1]) >= 0
		if begins && strings.HasPrefix(strings.TrimLeft(line[at+len(name):], " \t"), "=") {
			n++
		}
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
