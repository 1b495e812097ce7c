package httpguard

import (
	"net/http"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
)

// An Explanation is how a middleware would read a request.
type Explanation struct {
	// Endpoint is what the request is for; "" where no endpoint matches.
	Endpoint string
	// Others are the endpoints that another reading of the path means: the request is held to them as well.
	Others []string
	// Found is who the request is from.
	Found identity.Found
	// Guard is how it would be decided; nil where no endpoint matches.
	Guard *guard.Explanation
}

// Explain says how a request would be decided. It sends nothing to Redis, and counts nothing.
func (m *Middleware) Explain(r *http.Request) (*Explanation, error) {
	routes := m.current()
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
