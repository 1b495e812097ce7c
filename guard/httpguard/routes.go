package httpguard

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// routes are what one policy says about requests.
type routes struct {
	policy   *policy.Policy
	mux      *http.ServeMux // nil when no endpoint has patterns
	identify func(*http.Request) (identity.Identity, error)
}

// route is a handler that only names an endpoint.
type route struct{ endpoint *policy.Endpoint }

func (route) ServeHTTP(http.ResponseWriter, *http.Request) {}

func (m *Middleware) compile(p *policy.Policy) (*routes, error) {
	r := &routes{policy: p, identify: m.options.Identify}
	if r.identify == nil {
		config, err := p.Identity.Config(m.options.Verifier)
		if err != nil {
			return nil, err
		}
		who, err := identity.New(config)
		if err != nil {
			return nil, err
		}
		r.identify = who.Identify
	}
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		for _, pattern := range e.Match {
			if strings.HasPrefix(pattern, "/") && strings.HasSuffix(pattern, "/*") {
				continue // of gRPC
			}
			if r.mux == nil {
				r.mux = http.NewServeMux()
			}
			if err := handle(r.mux, pattern, route{e}); err != nil {
				return nil, fmt.Errorf("endpoint %s: %w", e.Name, err)
			}
		}
	}
	return r, nil
}

// handle adds a pattern. ServeMux panics where one is not valid, or is the same as another.
func handle(mux *http.ServeMux, pattern string, h http.Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	mux.Handle(pattern, h)
	return nil
}

// current returns the routes of the policy that holds now. Those of a policy that can not be compiled, as a verifier is missing, are
// not taken: New has refused such a policy, and a later one keeps the last that was good.
func (m *Middleware) current() *routes {
	had, p := m.routes.Load(), m.guard.Policy()
	if had.policy == p {
		return had
	}
	r, err := m.compile(p)
	if err != nil {
		r = new(*had)
		r.policy = p
	}
	m.routes.CompareAndSwap(had, r)
	return r
}

// endpoint returns what a request is for, or nil.
func (r *routes) endpoint(req *http.Request) *policy.Endpoint {
	if r.mux == nil {
		return nil
	}
	h, _ := r.mux.Handler(req)
	if found, ok := h.(route); ok {
		return found.endpoint
	}
	return nil
}
