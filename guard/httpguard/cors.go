package httpguard

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/guard/internal/web"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// cors writes the CORS fields of a policy (the Fetch standard, 3.3). A nil one writes none.
type cors struct {
	origins                           []string // nil for any
	credentials                       bool
	methods, headers, exposed, maxAge string
}

func newCORS(c *policy.CORS, o *Options) *cors {
	if c == nil {
		return nil
	}
	exposed := append(append([]string{"Retry-After"}, web.HTTP.Of(o.Headers, o.XHeaders)...), c.Expose...)
	out := &cors{
		origins: c.Origins, credentials: c.Credentials, methods: strings.Join(c.Methods, ", "), headers: strings.Join(c.Headers, ", "),
		exposed: strings.Join(exposed, ", "), maxAge: strconv.FormatInt(web.Seconds(c.MaxAge), 10),
	}
	if slices.Contains(c.Origins, "*") {
		out.origins = nil
	}
	return out
}

// isPreflight reports whether a browser asks with a request whether a page may send another one.
func (c *cors) isPreflight(r *http.Request) bool {
	return c != nil && r.Method == http.MethodOptions && r.Header["Origin"] != nil && r.Header["Access-Control-Request-Method"] != nil
}

// write writes the fields of the response to a request. Nothing of the request is repeated but an origin that the policy lists, and a cache
// is told that the response depends on it, also if the request has none.
func (c *cors) write(h http.Header, r *http.Request) {
	if c == nil {
		return
	}
	origin := "*"
	if c.origins != nil {
		h.Add("Vary", "Origin")
		lines := r.Header["Origin"]
		if len(lines) != 1 || !slices.Contains(c.origins, lines[0]) {
			return
		}
		origin = lines[0]
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if c.credentials {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	if !c.isPreflight(r) {
		h.Set("Access-Control-Expose-Headers", c.exposed)
		return
	}
	h.Set("Access-Control-Max-Age", c.maxAge)
	if c.methods != "" {
		h.Set("Access-Control-Allow-Methods", c.methods)
	}
	if c.headers != "" {
		h.Set("Access-Control-Allow-Headers", c.headers)
	}
}

// crossOrigin answers preflights, which nothing counts, and writes the CORS fields of all other responses.
func (m *Middleware) crossOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cors := m.routes.Current().cors
		cors.write(w.Header(), r)
		if cors.isPreflight(r) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}
