package httpguard_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A request is of one endpoint, or of none that guard could tell.
func TestRoutes_noSpellingAvoidsALimit(t *testing.T) {
	const (
		unclean = "it has an empty segment or a dot segment"
		slash   = "it has an escaped slash"
		dot     = "it has an escaped dot"
		two     = "routers may serve it as two endpoints of the policy"
	)
	rdb, _ := inProcess(t)
	policies := map[string]*service{}
	for _, paths := range []string{"", "paths: clean", "escapes: keep"} {
		policies[paths] = serve(t, rdb, parse(t, paths+`
endpoints:
  - {name: chat, match: ["POST /v1/chat", "/v1/chat/{id}", "/files/"], limits: [{name: chat, kind: sliding_log, limit: 10000, window: 1m}]}
  - {name: search, match: ["/t/{tenant}/search"], limits: [{name: search, kind: sliding_log, limit: 10000, window: 1m}]}
  - {name: host, match: ["GET api.example.com/x", "orders./o", "[::1]/six"], limits: [{name: host, kind: sliding_log, limit: 10000, window: 1m}]}
  - {name: all, match: ["/all/"], limits: [{name: all, kind: sliding_log, limit: 10000, window: 1m}]}
  - {name: part, match: ["/all/part"], limits: [{name: part, kind: sliding_log, limit: 10000, window: 1m}]}
  - {name: ask, match: ["POST /v1/Ask/{ID}"], limits: [{name: ask, kind: sliding_log, limit: 10000, window: 1m}]}`), httpguard.Options{}, nil)
	}
	for _, c := range []struct {
		request string
		want    string            // the endpoint, or why it is ambiguous
		with    map[string]string // under other settings
	}{
		{"POST /v1/chat", "chat", nil},
		{"POST //v1/chat", unclean, map[string]string{"paths: clean": "chat"}},
		{"POST /v1//chat", unclean, map[string]string{"paths: clean": "chat"}},
		{"POST /v1/./chat", unclean, map[string]string{"paths: clean": "chat"}},
		{"POST /x/../v1/chat", unclean, map[string]string{"paths: clean": "chat"}},
		{"POST /../v1/chat", unclean, map[string]string{"paths: clean": "chat"}},
		{"POST /v1/chat//", unclean, map[string]string{"paths: clean": "chat"}},
		{"POST /v1/chat/.", unclean, map[string]string{"paths: clean": "chat"}},
		{"POST /v1/chat/x/..", unclean, map[string]string{"paths: clean": "chat"}},
		{"POST //h/v1/chat", unclean, map[string]string{"paths: clean": ""}},
		{"POST //h@x/v1/chat", unclean, map[string]string{"paths: clean": ""}},
		{"POST http://h/v1/chat", "chat", nil},
		{"POST /v1\\chat", "it has a backslash", nil},
		{"POST /v1%5Cchat", "it has a backslash", nil},
		{"POST /x\\..\\v1/chat", "it has a backslash", nil},
		{"POST /v1/chat;a=b", "it has a semicolon", nil},
		{"POST /v1/chat%3ba", "it has a semicolon", nil},
		{"POST /static/..;/v1/chat", "it has a semicolon", nil},
		{"POST /v1/chat%00.png", "it has a control character", nil},
		{"POST /v1/chat%0a", "it has a control character", nil},
		{"POST /v1/chat#a", "it has a fragment", nil},
		{"POST /v1/chat.", "it has a segment that ends with a dot or a blank", nil},
		{"POST /v1/chat%20", "it has a segment that ends with a dot or a blank", nil},
		{"POST /v1/ch%61t", "chat", nil},
		{"POST /v1/ch%2561t", "it is escaped twice", nil},
		{"POST /v1%252Fchat", "it is escaped twice", nil},
		{"GET /files/100%25", "chat", nil},
		{"POST /v1%2Fchat", slash, map[string]string{"escapes: keep": ""}},
		{"POST /v1%2fchat", slash, map[string]string{"escapes: keep": ""}},
		{"GET /t/a%2Fb/search", slash, map[string]string{"escapes: keep": "search"}},
		{"POST /%2e%2e/v1/chat", dot, nil},
		{"POST /v1/chat/%2E", dot, nil},
		{"post /v1/chat", "chat", nil},
		{"pOST /v1/chat/", "chat", nil},
		{"POST /v1/chat/", "chat", nil},
		{"GET /v1/chat/7", "chat", nil},
		{"GET /v1/chat/7/", "chat", nil},
		{"GET /v1/chat/.well-known", "chat", nil},
		{"GET /v1/chat/a..b", "chat", nil},
		{"CONNECT /v1/chat/7", "chat", nil},
		{"CONNECT /v1//chat/7", unclean, map[string]string{"paths: clean": "chat"}},
		{"GET /files", "chat", nil},
		{"GET /files/a/b", "chat", nil},
		{"GET /files/J%C3%B6rg%20B", "chat", nil},
		{"GET /t/a/search", "search", nil},
		{"GET /t/a/search/", "search", nil},
		{"GET http://api.example.com/x", "host", nil},
		{"GET http://API.EXAMPLE.COM/x", "host", nil},
		{"GET http://api.example.com./x", "host", nil},
		{"GET http://Api.Example.Com.:8080/x/", "host", nil},
		{"GET http://orders.:80/o", "host", nil},
		{"GET http://[::1]:80/six", "host", nil},
		{"GET /all/other", "all", nil},
		{"GET /all/part", "part", nil},
		{"GET /all/part/", "part", nil},
		{"GET /all/", "all", nil},
		{"GET /all", "all", nil},
		{"GET /all/%70art", two, nil},
		{"GET /all/PART", two, nil},
		{"GET /ALL/other", "all", nil},
		{"POST /v1/Ask/A", "ask", nil},
		{"POST /V1/ASK/A", "ask", nil},
		{"POST /v1/%41SK/a/", "ask", nil},
		{"POST /v1/A%C5%BFk/a", "ask", nil},
		{"POST /v1/as%E2%84%AA/a", "ask", nil},
		{"GET /v1/chat", "", nil},
		{"POST /v1/chats", "", nil},
		{"GET /", "", nil},
		{"OPTIONS *", "it does not begin with a slash", nil},
		{"GET http://example.com/x", "", nil},
		{"GET /" + strings.Repeat("a/", 100_000) + "a", "", nil},
		{"GET " + strings.Repeat("/", 64<<10), unclean, map[string]string{"paths: clean": ""}},
	} {
		method, target, _ := strings.Cut(c.request, " ")
		for paths, s := range policies {
			want, ok := c.with[paths]
			if !ok {
				want = c.want
			}
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Method = method
			if u, err := url.ParseRequestURI(target); err != nil {
				t.Fatal(err)
			} else if r.URL = u; u.Host != "" {
				r.Host = u.Host
			}
			r.Header.Set("X-API-Key", "ada")
			w := httptest.NewRecorder()
			s.Config.Handler.ServeHTTP(w, r)
			got := w.Body.String()
			if d := w.Header().Get("RateLimit"); w.Code == http.StatusOK {
				got, _, _ = strings.Cut(strings.TrimPrefix(d, `"`), `"`)
			} else if _, why, ok := strings.Cut(got, "The path of the request is ambiguous: "); ok {
				got, _, _ = strings.Cut(why, ".")
			}
			if got != want || (w.Code == http.StatusOK) != !strings.Contains(want, " ") {
				t.Errorf("%.40s with %q: %d %.200q, want %q", c.request, paths, w.Code, got, want)
			}
		}
	}
}

// A path value is read from the path that counts.
// A service may be called over gRPC and over HTTP, and one pattern guards both.
func TestRoutes_patternsOfGRPCMatchHTTP(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, `
unmatched: refuse
exempt: ["/grpc.health.v1.Health/*"]
endpoints:
  - {name: chat, match: ["/chat.Chat/*"], limits: [{name: minute, limit: 1, window: 1m}]}`), httpguard.Options{}, nil)
	for _, c := range []struct {
		path   string
		status int
	}{{"/chat.Chat/Say", 200}, {"/CHAT.chat/Other", 429}, {"/chat.Chat/Say/more", 404}, {"/grpc.health.v1.Health/Check", 200}, {"/grpc.health.v1.Health/Check", 200}} {
		if got, _ := s.ask(t, "POST "+c.path); got.StatusCode != c.status {
			t.Errorf("POST %s: %d, want %d", c.path, got.StatusCode, c.status)
		}
	}
}

func TestRoutes_readPathValues(t *testing.T) {
	rdb, _ := inProcess(t)
	p := parse(t, `
paths: clean
escapes: keep
endpoints: [{name: search, match: ["GET /t/{tenant}/search"], limits: [{name: minute, by: ip, limit: 1000, window: 1m}]}]`)
	p.Identities["tenant"] = policy.Identity{Path: "tenant", Claimed: true}
	s := serve(t, rdb, p, httpguard.Options{}, nil)
	for request, want := range map[string]string{
		"GET /t/Acme/search":       "tenant=Acme",
		"get /t/Acme/search":       "tenant=Acme",
		"GET //t/Acme/search":      "tenant=Acme",
		"GET /x/../t/Acme/search":  "tenant=Acme",
		"GET /t/Acme/search/":      "tenant=Acme",
		"GET /%74/A%63me/search":   "tenant=Acme",
		"GET /t/a%2Fb/search":      "tenant=a/b",
		"GET /T/Acme/SEARCH":       "tenant=Acme",
		"GET /T/Acme/%C5%BFearch":  "tenant=Acme",
		"GET /t/Acme/search/other": "",
	} {
		method, path, _ := strings.Cut(request, " ")
		e, err := s.middleware.Explain(httptest.NewRequest(method, path, nil))
		if err != nil || subject(e, "tenant") != want {
			t.Errorf("%s: %+v, %v, want %q", request, e, err, want)
		}
	}
}

// subject returns the subject of an identity that guard is asked about.
func subject(e *guard.Explanation, identity string) string {
	for _, s := range e.Request.Subjects {
		if strings.HasPrefix(s, identity+"=") {
			return s
		}
	}
	return ""
}

func TestRoutes_forServesOneEndpoint(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, `endpoints: [{name: chat, limits: [{name: minute, limit: 1, window: 1m}]}]`), httpguard.Options{}, nil)
	for name, want := range map[string][2]int{"chat": {200, 429}, "chta": {500, 500}} {
		h := s.middleware.For(name, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if d := httpguard.FromContext(r.Context()); d.Endpoint != name {
				t.Errorf("the handler's decision: %+v", d)
			}
		}))
		for _, status := range want {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/anything", nil))
			if w.Code != status {
				t.Errorf("%s: %d, want %d", name, w.Code, status)
			}
		}
	}
	if response, _ := s.ask(t, "GET /anything"); response.StatusCode != 200 || response.Header.Get("RateLimit") != "" {
		t.Errorf("an endpoint without patterns guards %+v", response)
	}
}

// A key file may vanish after the policy was accepted and before the first request.
func TestRoutes_areThoseThatWereChecked(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, `endpoints: [{name: old, match: ["/old"], limits: [{name: minute, limit: 1, window: 1m}]}]`), httpguard.Options{}, nil)
	keys := filepath.Join(t.TempDir(), "keys.txt")
	if err := os.WriteFile(keys, []byte(strings.Repeat("ab", 32)+" ada\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := parse(t, `endpoints: [{name: new, match: ["/new"], limits: [{name: minute, by: all, limit: 1, window: 1m}]}]`)
	p.Identities["file"] = policy.Identity{Header: "X-File", Verify: &policy.Verify{SHA256File: keys}}
	if err := s.guard.SetPolicy(p); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(keys); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{200, 429} {
		if response, _ := s.ask(t, "GET /new"); response.StatusCode != want {
			t.Errorf("status %d, want %d", response.StatusCode, want)
		}
	}
}

func TestNew_rejectsInvalidOptions(t *testing.T) {
	rdb, _ := inProcess(t)
	g, err := guard.New(rdb, parse(t, `endpoints: [{name: old, match: ["/old"], unbounded: true}]`), guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	code := policy.Code{Verifiers: map[string]identity.Verifier{"key": anyKey{}}}
	more := policy.Code{Verifiers: map[string]identity.Verifier{"key": anyKey{}, "ip": anyKey{}}}
	for name, c := range map[string]struct {
		guard   *guard.Guard
		options httpguard.Options
		ok      bool
	}{
		"no guard":                           {options: httpguard.Options{Code: code}},
		"no verifier":                        {guard: g},
		"a verifier that the policy ignores": {guard: g, options: httpguard.Options{Code: more}},
		"no such headers":                    {guard: g, options: httpguard.Options{Code: code, Headers: 7}},
		"all that is asked of":               {guard: g, options: httpguard.Options{Code: code}, ok: true},
	} {
		if _, err := httpguard.New(c.guard, c.options); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
