package httpguard

import (
	"net/http"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
)

// An Explanation describes how a middleware reads a request.
type Explanation struct {
	// Endpoint is the endpoint of the request; "" if none matches.
	Endpoint string
	// Others are further endpoints that a router may serve the request as. Their limits apply as well.
	Others []string
	// Found is the identities of the request.
	Found identity.Found
	// Guard is how guard would decide; nil if no endpoint matches.
	Guard *guard.Explanation
}

// Explain returns how guard would decide a request. It sends nothing to Redis and charges nothing.
func (m *Middleware) Explain(r *http.Request) (*Explanation, error) {
	routes := m.routes.Current()
	matched, err := routes.Match(r)
	if matched.Endpoint == nil {
		return &Explanation{}, err
	}
	found, err := routes.Identify(routes.reader, r, matched)
	if err != nil {
		return nil, err
	}
	e := &Explanation{Endpoint: matched.Endpoint.Name, Others: matched.Others, Found: found}
	e.Guard, err = m.guard.Explain(guard.Request{Endpoint: e.Endpoint, OtherEndpoints: e.Others, Subjects: found.Subjects, Also: found.Also})
	return e, err
}
