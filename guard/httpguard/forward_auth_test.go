package httpguard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

const gateway = `
version: 1
timeout: 20s
unmatched: refuse
identities: {ip: {trusted_proxies: [10.0.0.1]}}
endpoints:
  - {name: chat, match: ["POST api.example/v1/chat"], limits: [{name: hour, limit: 2, window: 1h}]}
  - {name: login, match: ["POST /login"], limits: [{name: failures, limit: 2, window: 1h, count: {status: [401]}}]}
  - {name: rest, match: ["GET /"], limits: [{name: hour, limit: 1000, window: 1h}]}
`

// A proxy asks a middleware about requests.
type proxy struct {
	http.Handler
	decided []*guard.Decision
}

func newProxy(t *testing.T, yaml string) *proxy {
	t.Helper()
	rdb, _ := inProcess(t)
	limits, err := policy.Parse("policy.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	p := new(proxy)
	g, err := guard.New(rdb, limits, guard.Options{CacheSize: -1, Observers: []guard.Observer{func(_ context.Context, e guard.Event) {
		if e, ok := e.(guard.Decided); ok {
			p.decided = append(p.decided, e.Decision)
		}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	m, err := httpguard.New(g, httpguard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.Handler = m.ForwardAuth()
	return p
}

// ask sends header lines from the trusted proxy, and returns the answer and who was decided about, such as chat ip=192.0.2.1.
func (p *proxy) ask(lines string) (*httptest.ResponseRecorder, string) {
	return p.askFrom("10.0.0.1:4711", "/forward-auth", lines)
}

func (p *proxy) askFrom(peer, target, lines string) (*httptest.ResponseRecorder, string) {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.RemoteAddr = peer
	for line := range strings.Lines(lines) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			r.Header.Add(name, value)
		}
	}
	p.decided = nil
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	if len(p.decided) == 0 {
		return w, ""
	}
	return w, p.decided[0].Endpoint + " " + p.decided[0].Subject
}

const (
	caddy = `
		X-Forwarded-For: 192.0.2.1
		X-Forwarded-Method: POST
		X-Forwarded-Uri: /v1/chat?q=1
		X-Forwarded-Host: api.example
	`
	nginx = `
		X-Forwarded-For: 192.0.2.1
		X-Original-Method: POST
		X-Original-URI: /v1/chat?q=1
		X-Original-Host: api.example
	`
)

func TestForwardAuth_decidesTheOriginalRequest(t *testing.T) {
	for name, lines := range map[string]string{
		"Caddy, Traefik": caddy,
		"nginx":          nginx,
		"a client's X-Forwarded-Host behind nginx": nginx + "X-Forwarded-Host: other.example",
		"a client's X-Original-Host behind Caddy":  caddy + "X-Original-Host: other.example",
		"a method in lower case":                   strings.Replace(caddy, "POST", "post", 1),
		"a client's X-Forwarded-For":               strings.Replace(caddy, "192.0.2.1", "198.51.100.9, garbage, 192.0.2.1", 1),
	} {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t, gateway)
			for i, want := range []int{204, 204, 429} {
				w, whom := p.ask(lines)
				if w.Code != want || whom != "chat ip=192.0.2.1" {
					t.Fatalf("request %d: %d for %s: %s", i+1, w.Code, whom, w.Body)
				}
				checkHeaders(t, w.Header())
				if got, want := w.Header().Get("RateLimit"), `"hour";r=`+string("100"[i])+`;t=3600`; got != want {
					t.Errorf("RateLimit: %s, want %s", got, want)
				}
				if refused := w.Code == 429; refused != (w.Header().Get("Retry-After") == "3600") || refused != strings.Contains(w.Body.String(), `"error":"rate_limited"`) {
					t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
				}
			}
		})
	}
}

func TestForwardAuth_rejectsWhatNoProxySends(t *testing.T) {
	without := func(lines, name string) string {
		kept := slices.DeleteFunc(strings.Split(lines, "\n"), func(line string) bool { return strings.Contains(line, name) })
		return strings.Join(kept, "\n")
	}
	p := newProxy(t, gateway)
	for name, c := range map[string]struct {
		lines  string
		status int
	}{
		"no client":                   {without(caddy, "X-Forwarded-For"), 400},
		"no method":                   {without(caddy, "Method"), 400},
		"no URI":                      {without(caddy, "Uri"), 400},
		"no host":                     {without(caddy, "Host"), 400},
		"no host of nginx":            {without(nginx, "Host"), 400},
		"no URI of nginx":             {without(nginx, "URI") + "X-Original-URL: http://api.example/free", 400},
		"two URIs":                    {caddy + "X-Forwarded-Uri: /free", 400},
		"nginx's URI behind Caddy":    {caddy + "X-Original-URI: /free", 400},
		"nginx's method behind Caddy": {caddy + "X-Original-Method: GET", 400},
		"Caddy's URI behind nginx":    {nginx + "X-Forwarded-Uri: /free", 400},
		"an absolute URI":             {strings.Replace(caddy, "/v1/chat", "http://api.example/v1/chat", 1), 400},
		"OPTIONS *":                   {strings.Replace(caddy, "/v1/chat?q=1", "*", 1), 400},
		"a wrong escape":              {strings.Replace(caddy, "/v1/chat", "/v1/%zz", 1), 400},
		"a fragment":                  {strings.Replace(nginx, "/v1/chat?q=1", "/v1/chat#x", 1), 400},
		"a query only":                {strings.Replace(nginx, "/v1/chat?q=1", "?x=/v1/chat", 1), 400},
		"no endpoint":                 {strings.Replace(caddy, "POST", "PUT", 1), 404},
		"a path that is not UTF-8":    {strings.Replace(caddy, "/v1/chat", "/\xff%ff", 1), 404},
		"a host that is not UTF-8":    {strings.Replace(caddy, "api.example", "\xff", 1), 404},
	} {
		w, whom := p.ask(c.lines)
		if w.Code != c.status || whom != "" {
			t.Errorf("%s: %d for %q: %s", name, w.Code, whom, w.Body)
		}
		checkHeaders(t, w.Header())
	}
	if w, _ := p.ask(without(caddy, "Host")); !strings.Contains(w.Body.String(), "it must send one X-Forwarded-Host, with a value.") {
		t.Errorf("without a host: %s", w.Body)
	}
	for _, peer := range []string{"192.0.2.1:4711", "[2001:db8::1]:80", "@", ""} {
		w, whom := p.askFrom(peer, "/forward-auth", caddy)
		if w.Code != 403 || whom != "" || !strings.Contains(w.Body.String(), `"error":"untrusted_proxy"`) {
			t.Errorf("from %q: %d for %q: %s", peer, w.Code, whom, w.Body)
		}
	}
}

// Spellings that a router behind the proxy may clean are refused.
func TestForwardAuth_readsPathsAsTheMiddleware(t *testing.T) {
	p := newProxy(t, gateway)
	for path, want := range map[string]string{"//v1/chat": "400 ", "/v1%2Fchat": "400 ", "/x/../v1/chat": "400 ", "/v1/chat/": "204 chat ip=192.0.2.1"} {
		w, whom := p.ask(strings.Replace(caddy, "/v1/chat", path, 1))
		if got := fmt.Sprint(w.Code, " ", whom); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

// The proxy's answer is not known, so no attempt is refunded.
func TestForwardAuth_countsEachRequestOfALimitByStatus(t *testing.T) {
	p := newProxy(t, gateway)
	for i, want := range []int{204, 204, 429} {
		if w, _ := p.ask(strings.Replace(caddy, "/v1/chat", "/login", 1)); w.Code != want {
			t.Errorf("attempt %d: %d, want %d", i+1, w.Code, want)
		}
	}
}

func TestForwardAuth_refusesWith403WhereProxiesNeedIt(t *testing.T) {
	p := newProxy(t, gateway)
	for range 2 {
		p.ask(nginx)
	}
	w, _ := p.askFrom("10.0.0.1:1", "/forward-auth?refuse=403", nginx)
	h := w.Header()
	if w.Code != 403 || h.Get("X-Refusal-Status") != "429" || h.Get("Retry-After") != "3600" || h.Get("RateLimit") == "" {
		t.Errorf("%d %v", w.Code, h)
	}
	plain, _ := p.ask(nginx)
	var moved, body map[string]any
	if err := json.Unmarshal([]byte(h.Get("X-Refusal-Body")), &moved); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(plain.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(body, moved); diff != "" {
		t.Errorf("X-Refusal-Body (-want +got):\n%s", diff)
	}
	if w, _ := p.askFrom("192.0.2.1:1", "/forward-auth?refuse=403", nginx); w.Code != 403 || w.Header().Get("X-Refusal-Status") != "403" {
		t.Errorf("from an untrusted peer: %d %v", w.Code, w.Header())
	}
	if w, _ := p.askFrom("10.0.0.1:1", "/forward-auth?refuse=403", ""); w.Code != 403 || w.Header().Get("X-Refusal-Status") != "400" {
		t.Errorf("without headers: %d %v", w.Code, w.Header())
	}
}
