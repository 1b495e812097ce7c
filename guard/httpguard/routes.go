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
	patterns map[string]*policy.Endpoint
	identify func(*http.Request) (identity.Identity, error)
}

func (m *Middleware) compile(p *policy.Policy) (*routes, error) {
	r := &routes{policy: p, patterns: map[string]*policy.Endpoint{}, identify: m.options.Identify}
	if r.identify == nil {
		who, err := p.Identity.Identifier(m.options.Verifier)
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
			if err := handle(r.mux, pattern); err != nil {
				return nil, fmt.Errorf("endpoint %s: %w", e.Name, err)
			}
			r.patterns[pattern] = e
		}
	}
	return r, nil
}

// handle adds a pattern. ServeMux panics where one is not valid, or is the same as another.
func handle(mux *http.ServeMux, pattern string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	mux.Handle(pattern, http.NotFoundHandler())
	return nil
}

// current returns the routes of the policy that holds now. The guard takes no policy that can not be compiled, see New.
func (m *Middleware) current() *routes {
	had, p := m.routes.Load(), m.guard.Policy()
	if had.policy == p {
		return had
	}
	r, err := m.compile(p)
	if err != nil {
		return had
	}
	m.routes.CompareAndSwap(had, r)
	return r
}

// endpoint returns what a request is for, or nil. A path that a ServeMux would clean, or redirect to one with a slash, is read as it
// would be in the end, and one with an escaped slash in both ways: what stands behind may do any of it, and none is a way around
// a limit.
func (r *routes) endpoint(req *http.Request) *policy.Endpoint {
	if r.mux == nil {
		return nil
	}
	_, pattern := r.mux.Handler(req)
	if e := r.patterns[pattern]; e != nil || req.URL.RawPath == "" {
		return e
	}
	decoded, u := *req, *req.URL
	u.RawPath = ""
	decoded.URL = &u
	_, pattern = r.mux.Handler(&decoded)
	return r.patterns[pattern]
}
