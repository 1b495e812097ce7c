package httpguard_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/guard/httpguard"
)

const (
	app = "https://app.example.com"

	crossOrigin = `
unmatched: refuse
exempt: [/healthz]
overrides: {deny: [ip=198.51.100.7]}
endpoints: [{name: chat, match: ["/v1/"], limits: [{name: hour, by: ip, limit: 2, window: 1h}]}]
cors:
  origins: [https://app.example.com, "http://localhost:5173"]
`
	details = `  methods: [PUT, DELETE]
  headers: [Authorization, Content-Type]
  expose: [X-Request-Id]
  credentials: true
  max_age: 1h
`
	exposed = "Retry-After, Ratelimit, Ratelimit-Policy, Budget-Warning"
)

type fields = map[string]string

// corsOf returns the status of a response and its fields that browsers and caches decide by.
func corsOf(w *httptest.ResponseRecorder) (int, fields) {
	got := fields{}
	for name, values := range w.Header() {
		if strings.HasPrefix(name, "Access-Control-") || name == "Vary" {
			got[name] = strings.Join(values, "|")
		}
	}
	return w.Code, got
}

// send sends a request to a handler; headers are pairs of name and value.
func send(t *testing.T, h http.Handler, line string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	method, path, _ := strings.Cut(line, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// A page of a listed origin reads each response, also a refusal with its wait. A cache learns that responses differ by origin.
func TestCORS_pagesReadAllResponses(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, crossOrigin+details), httpguard.Options{}, nil)
	want := fields{
		"Access-Control-Allow-Origin": app, "Access-Control-Allow-Credentials": "true",
		"Access-Control-Expose-Headers": exposed + ", X-Request-Id", "Vary": "Origin",
	}
	for _, c := range []struct {
		line string
		want int
	}{{"GET /v1/chat", 200}, {"POST /v1/chat", 200}, {"GET /v1/chat", 429}, {"GET /healthz", 200}, {"GET /elsewhere", 404}, {"OPTIONS /v1/chat", 429}} {
		got, fields := corsOf(send(t, s.Config.Handler, c.line, "Origin", app))
		if diff := cmp.Diff(want, fields); diff != "" || got != c.want {
			t.Errorf("%s: %d, want %d (-want +got):\n%s", c.line, got, c.want, diff)
		}
	}
}

// Only an origin that the policy lists is ever repeated, byte for byte.
func TestCORS_repeatsNoOtherOrigin(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, crossOrigin+details), httpguard.Options{}, nil)
	for _, origins := range [][]string{
		nil,
		{""},
		{"null"},
		{"*"},
		{"https://evil.example"},
		{app + ".evil.example"},
		{"https://App.example.com"},
		{app + ":443"},
		{app + "/"},
		{" " + app},
		{"http://app.example.com"},
		{"https://example.com"},
		{"http://localhost"},
		{app, "https://evil.example"},
		{app, app},
		{app + ", https://evil.example"},
	} {
		headers := []string{"Access-Control-Request-Method", "PUT"}
		for _, origin := range origins {
			headers = append(headers, "Origin", origin)
		}
		for _, line := range []string{"GET /v1/chat", "OPTIONS /v1/chat"} {
			if _, got := corsOf(send(t, s.Config.Handler, line, headers...)); cmp.Diff(fields{"Vary": "Origin"}, got) != "" {
				t.Errorf("%s from %q: %v", line, origins, got)
			}
		}
	}
}

// guard answers preflights itself: they cost no call, and reach neither the service nor a limit. Nothing else is free.
func TestCORS_answersPreflights(t *testing.T) {
	rdb, _ := inProcess(t)
	served := 0
	count := func(w http.ResponseWriter, _ *http.Request) { served++ }
	s := serve(t, rdb, parse(t, crossOrigin+details), httpguard.Options{}, count)
	preflight := []string{"Origin", app, "Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "authorization, x-evil"}
	want := fields{
		"Access-Control-Allow-Origin": app, "Access-Control-Allow-Credentials": "true", "Access-Control-Allow-Methods": "PUT, DELETE",
		"Access-Control-Allow-Headers": "Authorization, Content-Type", "Access-Control-Max-Age": "3600", "Vary": "Origin",
	}
	for name, h := range map[string]http.Handler{"by its path": s.Config.Handler, "by code": s.middleware.For("chat", http.HandlerFunc(count))} {
		for _, path := range []string{"/v1/chat", "/v1/chat", "/v1/chat", "//v1/../x", "/elsewhere"} {
			got, fields := corsOf(send(t, h, "OPTIONS "+path, preflight...))
			if diff := cmp.Diff(want, fields); diff != "" || got != http.StatusNoContent {
				t.Errorf("%s, %s: %d (-want +got):\n%s", name, path, got, diff)
			}
		}
	}
	if keys, err := rdb.DBSize(t.Context()).Result(); err != nil || keys != 0 || served != 0 {
		t.Errorf("preflights wrote %d keys (%v) and reached the service %d times", keys, err, served)
	}
	for _, c := range []struct {
		line    string
		headers []string
	}{
		{"OPTIONS /v1/chat", nil},
		{"OPTIONS /v1/chat", preflight[:2]},
		{"OPTIONS /v1/chat", preflight[2:4]},
		{"GET /v1/chat", preflight},
		{"options /v1/chat", preflight},
	} {
		if w := send(t, s.Config.Handler, c.line, c.headers...); w.Header().Get("RateLimit") == "" {
			t.Errorf("%s %v: %d, and nothing counted it", c.line, c.headers, w.Code)
		}
	}
}

func TestCORS_ofAnyOrigin(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, strings.Replace(crossOrigin, `https://app.example.com, "http://localhost:5173"`, `"*"`, 1)), httpguard.Options{XHeaders: true}, nil)
	for _, origin := range []string{app, "null"} {
		want := fields{
			"Access-Control-Allow-Origin":   "*",
			"Access-Control-Expose-Headers": strings.Replace(exposed, ", Budget", ", X-Ratelimit-Limit, X-Ratelimit-Remaining, X-Ratelimit-Reset, Budget", 1),
		}
		if _, got := corsOf(send(t, s.Config.Handler, "GET /v1/chat", "Origin", origin)); cmp.Diff(want, got) != "" {
			t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
		}
		want = fields{"Access-Control-Allow-Origin": "*", "Access-Control-Max-Age": "600"}
		if _, got := corsOf(send(t, s.Config.Handler, "OPTIONS /v1/chat", "Origin", origin, "Access-Control-Request-Method", "PUT")); cmp.Diff(want, got) != "" {
			t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
		}
	}
}

// Another middleware for CORS behind guard, and a service's own Vary, keep working: each field is set once.
func TestCORS_behindGuard(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, crossOrigin), httpguard.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "https://other.example")
		w.Header().Add("Vary", "Accept-Encoding")
	})
	want := fields{"Access-Control-Allow-Origin": "https://other.example", "Access-Control-Expose-Headers": exposed, "Vary": "Origin|Accept-Encoding"}
	if _, got := corsOf(send(t, s.Config.Handler, "GET /v1/chat", "Origin", app)); cmp.Diff(want, got) != "" {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
}

// A proxy passes refusals on to the page. It would pass a preflight that is answered on to the service, so that one counts.
func TestForwardAuth_refusalsHaveCORS(t *testing.T) {
	p := newProxy(t, gateway+"cors: {origins: [https://app.example.com]}")
	from := caddy + "Origin: " + app
	for _, want := range []int{204, 204, 429} {
		w, _ := p.ask(from)
		if status, got := corsOf(w); status != want || got["Access-Control-Allow-Origin"] != app || got["Access-Control-Expose-Headers"] != exposed {
			t.Errorf("%d %v, want %d", status, got, want)
		}
	}
	w, _ := p.ask(strings.Replace(from, "POST", "OPTIONS", 1) + "\nAccess-Control-Request-Method: POST")
	if w.Code != 404 { // no endpoint is for OPTIONS
		t.Errorf("a preflight: %d %v", w.Code, w.Header())
	}
	w, _ = p.askFrom("10.0.0.1:1", "/forward-auth?refuse=403", from)
	if status, got := corsOf(w); status != 403 || got["Access-Control-Allow-Origin"] != app {
		t.Errorf("%d %v", status, got)
	}
}
