package replay

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/rlfunc/rlfunc/guard/policy"
)

// routes finds endpoints as net/http.ServeMux does, and caches them.
type routes struct {
	mux   *http.ServeMux
	fixed int // endpoint of all lines, or -1
	found map[routeKey]int
}

type routeKey struct{ method, path string }

// maxCached bounds the cache: a log may have many paths with IDs.
const maxCached = 1 << 16

// newRoutes returns the routes of a policy's patterns, or of one endpoint for all requests.
func newRoutes(p *policy.Policy, endpoint string) (*routes, error) {
	r := &routes{fixed: -1, found: map[routeKey]int{}}
	if endpoint != "" {
		for i := range p.Endpoints {
			if p.Endpoints[i].Name == endpoint {
				r.fixed = i
				return r, nil
			}
		}
		return nil, fmt.Errorf("the policy has no endpoint %q%s", endpoint, endpointsOf(p))
	}
	r.mux = http.NewServeMux()
	any := false
	for i := range p.Endpoints {
		for _, pattern := range p.Endpoints[i].Match {
			if strings.HasPrefix(pattern, "/") && strings.HasSuffix(pattern, "/*") {
				continue // a gRPC pattern
			}
			any = true
			r.mux.Handle(pattern, target(i))
		}
	}
	if !any {
		return nil, fmt.Errorf("no endpoint of the policy has a match: name the endpoint of the log%s", endpointsOf(p))
	}
	return r, nil
}

func endpointsOf(p *policy.Policy) string {
	names := make([]string, len(p.Endpoints))
	for i := range names {
		names[i] = p.Endpoints[i].Name
	}
	if len(names) == 0 {
		return " (it has none)"
	}
	return " (endpoints: " + strings.Join(names, ", ") + ")"
}

// target is the handler of an endpoint's patterns. The mux never calls it.
type target int

func (target) ServeHTTP(http.ResponseWriter, *http.Request) {}

// of returns the endpoint of a request, or -1.
func (r *routes) of(method, path string) int {
	if r.fixed >= 0 {
		return r.fixed
	}
	path, _, _ = strings.Cut(path, "?")
	if n, ok := r.found[routeKey{method, path}]; ok {
		return n
	}
	n := -1
	if u, err := url.ParseRequestURI(path); err == nil {
		h, _ := r.mux.Handler(&http.Request{Method: method, URL: u, Host: u.Host})
		if t, ok := h.(target); ok {
			n = int(t)
		}
	}
	if len(r.found) >= maxCached {
		clear(r.found)
	}
	r.found[routeKey{strings.Clone(method), strings.Clone(path)}] = n
	return n
}
