package httpguard_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A path counts for every endpoint that a router may match it to.
func TestRoutes_noSpellingAvoidsALimit(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, `
endpoints:
  - {name: chat, match: ["POST /v1/chat", "/v1/chat/{id}", "/files/"], limits: [{name: chat, limit: 1000, window: 1m}]}
  - {name: search, match: ["/t/{tenant}/search"], limits: [{name: search, limit: 1000, window: 1m}]}
  - {name: host, match: ["GET api.example.com/x", "orders./o", "[::1]/six"], limits: [{name: host, limit: 1000, window: 1m}]}
  - {name: all, match: ["/all/"], limits: [{name: all, limit: 1000, window: 1m}]}
  - {name: part, match: ["/all/part"], limits: [{name: part, limit: 1000, window: 1m}]}`), httpguard.Options{}, nil)
	for _, c := range []struct {
		request string
		want    string // the limits that count it
	}{
		{"POST /v1/chat", "chat"},
		{"POST //v1/chat", "chat"},
		{"POST /v1//chat", "chat"},
		{"POST /v1/./chat", "chat"},
		{"POST /x/../v1/chat", "chat"},
		{"POST /v1/ch%61t", "chat"},
		{"POST /v1%2Fchat", "chat"},
		{"POST /v1%2fchat", "chat"},
		{"POST /%2e%2e/v1/chat", "chat"},
		{"post /v1/chat", "chat"},
		{"Post //v1/chat", "chat"},
		{"pOST /v1/chat/", "chat"},
		{"POST /v1/chat/", "chat"},
		{"POST /v1/chat//", "chat"},
		{"POST /v1/chat/.", "chat"},
		{"POST /v1/chat/%2e", "chat"},
		{"POST /v1/chat/x/..", "chat"},
		{"GET /v1/chat/7", "chat"},
		{"GET /v1/chat%2F7", "chat"},
		{"GET /v1/chat/7%2F8", "chat"},
		{"GET /v1/chat/7/", "chat"},
		{"CONNECT /v1/chat/7", "chat"},
		{"CONNECT /v1//chat/7", "chat"},
		{"GET /files", "chat"},
		{"GET /files/a/b", "chat"},
		{"GET /t/a/search", "search"},
		{"GET /t//search", "search"},
		{"GET /t/./search", "search"},
		{"GET /t/../search", "search"},
		{"GET /t/%2F/search", "search"},
		{"GET /t/%2E%2E/search", "search"},
		{"GET /t/a/search/", "search"},
		{"GET /t/x/..//search", "search"},
		{"GET /t//../search", "search"},
		{"GET /x%2Fy/%2e%2e/t/a/search", "search"},
		{"GET /t/a%2Fsearch", "search"},
		{"GET http://api.example.com/x", "host"},
		{"GET http://API.EXAMPLE.COM/x", "host"},
		{"GET http://api.example.com./x", "host"},
		{"GET http://api.example.com:8080/x", "host"},
		{"GET http://Api.Example.Com.:8080/x/", "host"},
		{"GET http://orders/o", "host"},
		{"GET http://orders.:80/o", "host"},
		{"GET http://[::1]:80/six", "host"},
		{"GET http://[::1]/six", "host"},
		{"GET /all/other", "all"},
		{"GET /all/part", "part"},
		{"GET /all/part/", "part all"},
		{"GET /all/x/../part", "part all"},
		{"GET /all/%70art", "part"},
		{"GET /all%2Fpart", "part"},
		{"GET /v1/chat", ""},
		{"POST /v1/chats", ""},
		{"GET /", ""},
		{"GET http://example.com/x", ""},
		{"GET /y", ""},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		r := httptest.NewRequest(method, path, nil)
		if method == http.MethodConnect { // as a gateway forwards it
			r = httptest.NewRequest(http.MethodGet, path, nil)
			r.Method = method
		}
		r.Header.Set("X-API-Key", "ada")
		w := httptest.NewRecorder()
		s.Config.Handler.ServeHTTP(w, r)
		if w.Code != http.StatusOK || w.Body.String() != "hello" {
			t.Errorf("%s: %d %q", c.request, w.Code, w.Body)
		}
		var got []string
		for _, name := range []string{"chat", "search", "host", "part", "all"} {
			if strings.Contains(w.Header().Get("RateLimit"), `"`+name+`"`) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: counted by %q, want %q", c.request, got, c.want)
		}
	}
}

func TestRoutes_foldedCase(t *testing.T) {
	rdb, _ := inProcess(t)
	const ask = `endpoints: [{name: ask, match: ["POST /v1/Ask/{ID}"], limits: [{name: minute, limit: 1000, window: 1m}]}]`
	for prefix, want := range map[string]bool{"": false, "paths: {case: fold}\n": true} {
		s := serve(t, rdb, parse(t, prefix+ask), httpguard.Options{}, nil)
		for _, path := range []string{"/v1/Ask/A", "/V1/ASK/A", "/v1/%41SK/a/", "/v1/A%C5%BFk/a", "/v1/a%c5%bf%E2%84%AA%2Fa", "/v1/as%E2%84%AA/a%2Fa"} {
			w := httptest.NewRecorder()
			s.Config.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, nil))
			if got := w.Header().Get("RateLimit") != ""; got != (want || path == "/v1/Ask/A") {
				t.Errorf("%q: %s is counted: %v", prefix, path, got)
			}
		}
	}
}

// No spelling of a path or method hides a path value that the service reads.
func TestRoutes_readPathValuesFromEachSpelling(t *testing.T) {
	rdb, _ := inProcess(t)
	const search = `
endpoints: [{name: search, match: ["GET /t/{tenant}/search"], limits: [{name: minute, by: ip, limit: 1000, window: 1m}]}]`
	with := func(paths string) *service {
		p := parse(t, paths+search)
		p.Identities["tenant"] = policy.Identity{Path: "tenant", Claimed: true}
		return serve(t, rdb, p, httpguard.Options{}, nil)
	}
	exact, fold := with(""), with("paths: {case: fold}")
	for _, c := range []struct{ request, exact, fold string }{
		{"GET /t/Acme/search", "tenant=Acme", "tenant=Acme"},
		{"get /t/Acme/search", "tenant=Acme", "tenant=Acme"},
		{"GET //t/Acme/search", "tenant=Acme", "tenant=Acme"},
		{"GET /t//Acme/search", "tenant=Acme", "tenant=Acme"},
		{"GET /x/../t/Acme/search", "tenant=Acme", "tenant=Acme"},
		{"GET /t/Acme/search/", "tenant=Acme", "tenant=Acme"},
		{"GET /t%2FAcme%2fsearch", "tenant=Acme", "tenant=Acme"},
		{"GET /%74/A%63me/search", "tenant=Acme", "tenant=Acme"},
		{"GET /t/a%2Fb/search", "tenant=a/b", "tenant=a/b"},
		{"GET /T/Acme/SEARCH", "", "tenant=Acme"},
		{"GET /T/Acme/%C5%BFearch", "", "tenant=Acme"},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		for s, want := range map[*service]string{exact: c.exact, fold: c.fold} {
			e, err := s.middleware.Explain(httptest.NewRequest(method, path, nil))
			if err != nil || subject(e, "tenant") != want {
				t.Errorf("%s: %+v, %v, want %q", c.request, e, err, want)
			}
		}
	}
	folded := parse(t, search)
	folded.Identities["tenant"] = policy.Identity{Path: "tenant", Claimed: true, Fold: identity.FoldCase}
	e, err := serve(t, rdb, folded, httpguard.Options{}, nil).middleware.Explain(httptest.NewRequest("GET", "/t/Acme%2F..%2FBob/search", nil))
	if err != nil || subject(e, "tenant") != "tenant=acme/../bob" || !slices.Contains(e.Request.Also, "tenant=bob") {
		t.Errorf("folded: %+v, %v", e, err)
	}
	// A router may clean a decoded path.
	e, err = exact.middleware.Explain(httptest.NewRequest("GET", "/t/Acme%2F..%2FBob/search", nil))
	if err != nil || subject(e, "tenant") != "tenant=Acme/../Bob" || !slices.Contains(e.Request.Also, "tenant=Bob") {
		t.Errorf("%+v, %v", e, err)
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

// The work for a path is bounded: one that routers read in many ways and that is long is refused before any reading.
func TestRoutes_longPathsAreReadInOneWay(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, `endpoints: [{name: files, match: ["/files/"], limits: [{name: minute, limit: 1000, window: 1m}]}]`), httpguard.Options{}, nil)
	for _, c := range []struct {
		what, path string
		want       int
	}{
		{"a long path", "/files/" + strings.Repeat("a/", 100_000) + "a", 200},
		{"its escapes", "/files/" + strings.Repeat("%61", 1000), 200},
		{"slashes", "/files" + strings.Repeat("/", 200) + "a", 200},
		{"64 KiB of slashes", strings.Repeat("/", 64<<10), 400},
		{"encoded slashes", "/files" + strings.Repeat("%2F", 300), 400},
		{"64 KiB of dots", strings.Repeat("/.", 32<<10), 400},
		{"64 KiB of escapes", "/" + strings.Repeat("%2e", 22<<10), 400},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path, r.URL.RawPath = c.path, c.path
		if path, err := url.PathUnescape(c.path); err == nil {
			r.URL.Path = path
		}
		r.Header.Set("X-API-Key", "ada")
		w := httptest.NewRecorder()
		s.Config.Handler.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: %d %s", c.what, w.Code, w.Body)
		}
	}
}

func TestRoutes_unmatchedIsRefused(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, "unmatched: refuse\nendpoints: [{name: chat, match: [\"POST /v1/chat\"], limits: [{name: minute, limit: 1000, window: 1m}]}]"), httpguard.Options{}, nil)
	for request, want := range map[string]int{"POST /v1/chat": 200, "POST /v1%2Fchat": 200, "GET /v1/chat": 404, "PUT /v1/chat": 404, "POST /V1/chat": 404, "GET /": 404} {
		response, body := s.ask(t, request)
		if response.StatusCode != want {
			t.Errorf("%s: %d %s", request, response.StatusCode, body)
		}
	}
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

func TestRoutes_reloadWithThePolicy(t *testing.T) {
	rdb, _ := inProcess(t)
	one := `endpoints: [{name: old, match: ["/old"], limits: [{name: minute, limit: 1, window: 1m}]}]`
	two := `endpoints: [{name: new, match: ["/new"], limits: [{name: minute, limit: 1, window: 1m}]}]`
	s := serve(t, rdb, parse(t, one), httpguard.Options{}, nil)
	statuses := func(path string) (got [2]int) {
		for i := range got {
			response, _ := s.ask(t, "GET "+path)
			got[i] = response.StatusCode
		}
		return got
	}
	if old, new := statuses("/old"), statuses("/new"); old != [2]int{200, 429} || new != [2]int{200, 200} {
		t.Errorf("%v, %v", old, new)
	}
	if err := s.guard.SetPolicy(parse(t, two)); err != nil {
		t.Fatal(err)
	}
	if old, new := statuses("/old"), statuses("/new"); old != [2]int{200, 200} || new != [2]int{200, 429} {
		t.Errorf("after a reload %v, %v", old, new)
	}
	signed := parse(t, two)
	signed.Identities["own"] = policy.Identity{Func: true}
	if err := s.guard.SetPolicy(signed); err == nil || !strings.Contains(err.Error(), `set Funcs["own"]`) {
		t.Errorf("a policy with missing code: %v", err)
	}
	if new := statuses("/new"); new != [2]int{429, 429} {
		t.Errorf("after a rejected policy %v", new)
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

// The embedded clock stands still, so the request passes only after Advance.
func TestWait_waitsUntilTheRequestMayPass(t *testing.T) {
	rdb, clock := inProcess(t)
	s := serve(t, rdb, parse(t, `endpoints: [{name: chat, match: ["/"], limits: [{name: tick, limit: 1, window: 20ms}]}]`), httpguard.Options{Wait: true}, nil)
	s.get(t)
	waited := make(chan answer)
	go func() { waited <- s.get(t) }()
	select {
	case a := <-waited:
		t.Fatalf("did not wait: %+v", a)
	case <-time.After(50 * time.Millisecond): // waiting has nothing to poll for
	}
	clock.Advance(20 * time.Millisecond)
	if a := <-waited; a.Status != 200 {
		t.Errorf("after its turn: %+v", a)
	}
}

func TestWait_endsAtTheDeadline(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, `endpoints: [{name: chat, match: ["/"], limits: [{name: minute, limit: 1, window: 1m}]}]`), httpguard.Options{Wait: true}, nil)
	late := httptest.NewServer(http.TimeoutHandler(s.middleware.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
	})), 10*time.Second, "late"))
	defer late.Close()
	s.get(t)
	s.Server.URL, late.URL = late.URL, s.Server.URL
	if a := s.get(t); a.Status != 429 || a.RetryAfter != "60" {
		t.Errorf("passes in a minute, deadline in 10 s: %+v", a)
	}
}
