package identity

import (
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
	over bool // there are more than maxValues
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

// header adds the lines of a header, whose name must be canonical.
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

// query adds the values of a query parameter as url.ParseQuery reads them, without a map of all parameters.

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
