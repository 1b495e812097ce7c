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
	endpoint, others := routes.endpoints(r)
	if endpoint == nil {
		return &Explanation{}, nil
	}
	found, err := routes.reader.Read(r, routes.wildcard(r, endpoint))
	if err != nil {
		return nil, err
	}
	e := &Explanation{Endpoint: endpoint.Name, Others: others, Found: found}
	e.Guard, err = m.guard.Explain(guard.Request{Endpoint: endpoint.Name, OtherEndpoints: others, Subjects: found.Subjects, Also: found.Also})
	return e, err
}
