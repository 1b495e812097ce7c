package httpguard

import (
	"net/http"

	"github.com/rlfunc/rlfunc/guard"
)

// Explain returns how guard would decide a request. It sends nothing to Redis and charges nothing.
func (m *Middleware) Explain(r *http.Request) (*guard.Explanation, error) {
	routes := m.routes.Current()
	matched, err := routes.Match(r)
	if matched.Endpoint == nil {
		return &guard.Explanation{}, err
	}
	found, err := routes.Identify(routes.reader, r, matched)
	if err != nil {
		return nil, err
	}
	return m.guard.Explain(guard.Request{Endpoint: matched.Endpoint.Name, OtherEndpoints: matched.Others, Subjects: found.Subjects, Also: found.Also})
}
