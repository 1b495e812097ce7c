package httpguard_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func TestRoutes_noPathIsAWayAround(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, `
endpoints:
  - {name: chat, match: ["POST /v1/chat", "/v1/chat/{id}", "/files/"], limits: [{name: minute, limit: 1000, window: 1m}]}
  - {name: other, match: ["GET example.com/x"], limits: [{name: minute, limit: 1000, window: 1m}]}`), httpguard.Options{}, nil)
	for _, c := range []struct {
		request string
		guarded bool
	}{
		{"POST /v1/chat", true},
		{"POST //v1/chat", true},
		{"POST /v1//chat", true},
		{"POST /v1/./chat", true},
		{"POST /x/../v1/chat", true},
		{"POST /v1/ch%61t", true},
		{"POST /v1%2Fchat", true},
		{"POST /%2e%2e/v1/chat", true},
		{"GET /v1/chat/7", true},
		{"GET /v1/chat%2F7", true},
		{"GET /v1/chat/7%2F8", true},
		{"GET /files", true},
		{"GET /files/a/b", true},
		{"GET /v1/chat", false},
		{"POST /v1/chats", false},
		{"GET /", false},
		{"GET /x", true}, // of example.com, as httptest has it
		{"GET /y", false},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		r := httptest.NewRequest(method, path, nil)
		r.Header.Set("X-API-Key", "ada")
		w := httptest.NewRecorder()
		s.Config.Handler.ServeHTTP(w, r)
		if got := w.Header().Get("RateLimit") != ""; got != c.guarded || w.Code != http.StatusOK || w.Body.String() != "hello" {
			t.Errorf("%s: guarded is %v; %d %q", c.request, got, w.Code, w.Body)
		}
	}
}

func TestRoutes_forIsOneEndpoint(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, `endpoints: [{name: chat, limits: [{name: minute, limit: 1, window: 1m}]}]`), httpguard.Options{}, nil)
	for name, want := range map[string][2]int{"chat": {200, 429}, "chta": {500, 500}} {
		h := s.middleware.For(name, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if d := httpguard.FromContext(r.Context()); d == nil || d.Endpoint != name {
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

func TestRoutes_followThePolicy(t *testing.T) {
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
	signed := parse(t, `endpoints: [{name: old, match: ["/old"]}]`)
	signed.Identity.Fingerprint.Verify = policy.VerifyHMAC
	if err := s.guard.SetPolicy(signed); err == nil || !strings.Contains(err.Error(), "verifier") {
		t.Errorf("a policy that asks for a verifier that is not there: %v", err)
	}
	if new := statuses("/new"); new != [2]int{429, 429} {
		t.Errorf("after a policy that was not taken %v", new)
	}
}

func TestNew_refusesWhatItCanNotDo(t *testing.T) {
	rdb, _ := inProcess(t)
	p := parse(t, `endpoints: [{name: old, match: ["/old"]}]`)
	p.Identity.Fingerprint.Verify = policy.VerifyHMAC
	g, err := guard.New(rdb, p, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	verifier, err := identity.NewHMAC(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		guard   *guard.Guard
		options httpguard.Options
		ok      bool
	}{
		"no guard":             {options: httpguard.Options{Verifier: verifier}},
		"no verifier":          {guard: g},
		"no such headers":      {guard: g, options: httpguard.Options{Verifier: verifier, Headers: 7}},
		"all that is asked of": {guard: g, options: httpguard.Options{Verifier: verifier}, ok: true},
	} {
		if _, err := httpguard.New(c.guard, c.options); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The clock of Redis stands still, so a turn never comes unless it is moved.
func TestWait_waitsForATurnAsLongAsTheClientDoes(t *testing.T) {
	rdb, clock := inProcess(t)
	s := serve(t, rdb, parse(t, `endpoints: [{name: chat, match: ["/"], limits: [{name: tick, limit: 1, window: 20ms}]}]`), httpguard.Options{Wait: true}, nil)
	s.get(t)
	waited := make(chan answer)
	go func() { waited <- s.get(t) }()
	select {
	case a := <-waited:
		t.Fatalf("did not wait: %+v", a)
	case <-time.After(50 * time.Millisecond): // nothing to poll for: that it waits is that nothing comes
	}
	clock.Advance(20 * time.Millisecond)
	if a := <-waited; a.Status != 200 {
		t.Errorf("after its turn: %+v", a)
	}
}

func TestWait_aRequestsOwnDeadlineEndsIt(t *testing.T) {
	rdb, _ := inProcess(t)
	s := serve(t, rdb, parse(t, `endpoints: [{name: chat, match: ["/"], limits: [{name: minute, limit: 1, window: 1m}]}]`), httpguard.Options{Wait: true}, nil)
	late := httptest.NewServer(http.TimeoutHandler(s.middleware.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
	})), 10*time.Second, "late"))
	defer late.Close()
	s.get(t)
	s.Server.URL, late.URL = late.URL, s.Server.URL
	if a := s.get(t); a.Status != 429 || a.RetryAfter != "60" {
		t.Errorf("a turn in a minute, for 10 s: %+v", a)
	}
}
