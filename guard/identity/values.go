package identity

import (
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
