package policy

import "testing"

// An exempt pattern may be a part of an endpoint's: it is what the endpoint does not count.
func TestCheck_acceptsExemptPartsOfEndpoints(t *testing.T) {
	for _, exempt := range []string{
		"/healthz", "GET /healthz", "/v1/healthz", "/v1/{id}/healthz", "/static/", "/static/{rest...}", "/static/{$}", "GET /v1/chat/7", "/v1/chat/{id}/{part}",
		"/files/{$}", "/files/a/{rest...}", "/files/{a}/", "admin.example.com/metrics", "other.example.com/api/", "PUT /v1/chats", "/grpc.health.v1.Health/*",
		"/chat.Chat/Ping", "/exact/below/",
	} {
		p := &Policy{
			Exempt: []string{exempt},
			Endpoints: []Endpoint{{
				Name: "all", Unbounded: true,
				Match: []string{
					"/", "GET /v1/", "POST /v1/", "POST /v1/chats", "GET /v1/chat/{id}", "/files/", "/chat.Chat/*", "api.example.com/api/", "/exact/below",
				},
			}},
		}
		if err := p.Check(); err != nil {
			t.Errorf("%s: %v", exempt, err)
		}
	}
}
