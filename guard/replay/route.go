package replay

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/rlfunc/rlfunc/guard/internal/web"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// routes find endpoints as the middleware does, and cache them.
type routes struct {
	*web.Routes
	places map[*policy.Endpoint]int // in the policy
	fixed  int                      // endpoint of all lines, or -1
	found  map[routeKey]routed
}

type routeKey struct{ method, path string }

// routed is the endpoint of a line.
type routed struct {
	endpoint int      // -1 if none matches
	others   []string // that a router may also mean: guard holds the request to all of them
	err      error    // guard answers 400
}

// maxCached bounds the cache: a log may have many paths with IDs.
const maxCached = 1 << 16

// newRoutes returns the routes of a policy's patterns, or of one endpoint for all requests.
func newRoutes(p *policy.Policy, endpoint string) (*routes, error) {
	r := &routes{fixed: -1, places: map[*policy.Endpoint]int{}, found: map[routeKey]routed{}}
	for i := range p.Endpoints {
		if r.places[&p.Endpoints[i]] = i; p.Endpoints[i].Name == endpoint {
			r.fixed = i
			return r, nil
		}
	}
	if endpoint != "" {
		return nil, fmt.Errorf("the policy has no endpoint %q%s", endpoint, endpointsOf(p))
	}
	var err error
	if r.Routes, err = web.NewRoutes(p); err != nil {
		return nil, err
	}
	if r.Empty() {
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

// of returns the endpoint of a request.
func (r *routes) of(method, path string) routed {
	if r.fixed >= 0 {
		return routed{endpoint: r.fixed}
	}
	path, _, _ = strings.Cut(path, "?")
	if found, ok := r.found[routeKey{method, path}]; ok {
		return found
	}
	found := routed{endpoint: -1}
	if u, err := url.ParseRequestURI(path); err == nil {
		m, err := r.Match(&http.Request{Method: method, URL: u, Host: u.Host})
		if m.Endpoint != nil {
			found.endpoint = r.places[m.Endpoint]
		}
		found.others, found.err = m.Others, err
	}
	if len(r.found) >= maxCached {
		clear(r.found)
	}
	r.found[routeKey{strings.Clone(method), strings.Clone(path)}] = found
	return found
}
