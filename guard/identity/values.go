package identity

import (
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// maxValues is how many different values of one source Read looks at. A request with more is ambiguous.
const maxValues = 8

// values are the different values of one source, in the order of the request; empty ones do not count.
type values struct {
	all  [maxValues]string
	n    int
	over bool // there are more
}

func (v *values) add(value string) {
	if value == "" || v.over {
		return
	}
	for i := range v.n {
		if v.all[i] == value {
			return
		}
	}
	if v.n == maxValues {
		v.over = true
		return
	}
	v.all[v.n] = value
	v.n++
}

// header adds the lines of a header; its name is canonical.
func (v *values) header(r *http.Request, name string) {
	for _, line := range r.Header[name] {
		v.add(textproto.TrimString(line))
	}
}

func (v *values) cookie(r *http.Request, name string) {
	if len(r.Header["Cookie"]) == 0 {
		return
	}
	for _, cookie := range r.CookiesNamed(name) {
		v.add(cookie.Value)
	}
}

// query adds the values of a parameter of the URL as url.ParseQuery reads them, without a map of all others.
func (v *values) query(r *http.Request, name string) {
	if r.URL == nil {
		return
	}
	for rest := r.URL.RawQuery; rest != "" && !v.over; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		if strings.Contains(pair, ";") {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		if key, err := url.QueryUnescape(key); err != nil || key != name {
			continue
		}
		if value, err := url.QueryUnescape(value); err == nil {
			v.add(value)
		}
	}
}
