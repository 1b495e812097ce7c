package httpguard_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/guard/httpguard"
)

// exempting decides all requests but the exempt ones, and admits none of those.
const exempting = `
exempt: ["GET /healthz", "/metrics", "/static/{rest...}", "/.well-known/", "OPTIONS /v2/", "PUT admin.example.com/x"]
unmatched: refuse
limits: [{name: whole, by: ip, limit: 1, window: 1h}]
blocks: [{name: many, by: ip, tiers: [{threshold: 1, window: 1h, block: 1h}]}]
overrides: {deny: [ip=192.0.2.0/24]}
endpoints: [{name: all, match: ["GET /", "POST /", "GET /{tenant}/settings"], limits: [{name: minute, by: ip, limit: 1, window: 1h}], block: many}]
`

// A request is exempt only if every program behind serves it as an exempt one. Only the policy can free a request: nothing that a client writes.
func TestExempt_noSpellingFreesARequest(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, exempting), httpguard.Options{}, nil)
	for _, c := range []struct {
		request string
		exempt  bool
	}{
		{"GET /healthz", true},
		{"GET /healthz?x=/v1/chat", true},
		{"HEAD /healthz", true}, // net/http's patterns for GET match it
		{"GET /metrics", true},
		{"POST /metrics", true},
		{"OPTIONS /metrics", true},
		{"get /metrics", true},
		{"GET /static/app.js", true},
		{"GET /static/img/a.png", true},
		{"GET /static/img/", true},
		{"GET /static//img", false},
		{"GET /static/settings", true},
		{"GET /.well-known/acme", true},
		{"PUT http://admin.example.com/x", true},
		{"PUT http://ADMIN.example.com.:80/x", true},

		{"POST /healthz", false},
		{"get /healthz", false}, // only Flask and PHP read it as GET
		{"GET /healthz/", false},
		{"GET /HEALTHZ", false},
		{"GET /healthz/../v1/chat", false},
		{"GET /v1/chat/../../healthz", false}, // net/http redirects, other routers serve /v1/chat/...
		{"GET //healthz", false},
		{"GET /./healthz", false},
		{"GET /healthz%2f..", false},
		{"GET /healthz%2f..%2fv1%2fchat", false},
		{"GET /%68ealthz", false},
		{"GET /healthz;x=1", false},
		{"GET /healthz%00", false},
		{"GET /healthz/v1", false},
		{"GET /static", false}, // which ServeMux redirects and others serve
		{"GET /static/", false},
		{"GET /static/../v1/chat", false},
		{"GET /static/x/../../v1/chat", false},
		{"GET /static/..;/v1/chat", false},
		{`GET /static/..\v1\chat`, false},
		{"GET /static/%2e%2e/v1/chat", false},
		{"GET /static/%252e%252e/v1/chat", false},
		{"GET /static/..%2fv1/chat", false},
		{"GET /static/a%20b", false},
		{"GET /.well-known/../v1", false},
		{"CONNECT /static/../v1/chat", false},
		{"PUT http://other.example.com/x", false},
		{"PUT /x", false},
		{"OPTIONS /v2/chat", true},
		{"options /v2/chat", false},
		{"OPTIONS /v2/../v1/chat", false},
		{"OPTIONS /v1/chat", false},
		{"GET /v2/chat", false},
		{"GET /v1/chat", false},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Method, r.RemoteAddr = method, "192.0.2.7:1" // which is denied
		r.Header.Set("Origin", "https://app.example.com")
		r.Header.Set("Access-Control-Request-Method", "GET")
		w := httptest.NewRecorder()
		s.Config.Handler.ServeHTTP(w, r)
		if passed := w.Code == http.StatusOK && w.Body.String() == "hello" || w.Code == http.StatusOK && method == http.MethodHead; passed != c.exempt {
			t.Errorf("%s: %d %s, want exempt %v", c.request, w.Code, w.Body, c.exempt)
		}
		if e, _ := s.middleware.Explain(r); e.Exempt != c.exempt {
			t.Errorf("%s is explained as %+v", c.request, e)
		}
	}
}

// Only a preflight is exempt by a pattern for OPTIONS: a handler may serve any other request with that method.
func TestExempt_ofOptionsIsForPreflights(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, "exempt: [OPTIONS /]\nendpoints: [{name: all, match: [/], limits: [{name: hour, by: ip, limit: 9, window: 1h}]}]"), httpguard.Options{}, nil)
	for headers, exempt := range map[string]bool{"": false, "Origin": false, "Access-Control-Request-Method": false, "Origin Access-Control-Request-Method": true} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodOptions, "/v1/chat", nil)
		for _, name := range strings.Fields(headers) {
			r.Header.Set(name, "x")
		}
		w := httptest.NewRecorder()
		s.Config.Handler.ServeHTTP(w, r)
		if counted := w.Header().Get("RateLimit") != ""; counted == exempt {
			t.Errorf("with %q: %d %v", headers, w.Code, w.Header())
		}
	}
}

// Code that names the endpoint of a handler decides all requests that reach it.
func TestExempt_doesNotFreeWhatCodeNames(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, exempting), httpguard.Options{}, nil)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil)
	r.RemoteAddr = "192.0.2.7:1"
	w := httptest.NewRecorder()
	s.middleware.For("all", http.NotFoundHandler()).ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
