package replay

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
)

// A line is of the endpoint that the middleware finds for the same request.
func TestRoutes_areThoseOfTheMiddleware(t *testing.T) {
	p := mustPolicy(t, `
paths: {case: fold}
endpoints:
  - {name: chat, match: ["POST /v1/chat"], limits: [{name: minute, by: ip, limit: 10, window: 1m}]}
  - {name: orders, match: ["orders.example/{id}"], limits: [{name: minute, by: ip, limit: 10, window: 1m}]}
  - {name: files, match: ["GET /files/{path...}"], limits: [{name: minute, by: ip, limit: 10, window: 1m}]}
  - {name: list, match: ["GET /files/list"], limits: [{name: minute, by: ip, limit: 10, window: 1m}]}
`)
	g, err := guard.New(embedded.RunT(t).Client(), p, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	m, err := httpguard.New(g, httpguard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	complete := g.Policy()
	routes, err := newRoutes(complete, "")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, line := range []string{
		"POST /v1/chat", "POST /V1/Chat", "post /v1/chat", "POST /v1//chat", "POST /v1/./chat", "POST /v1/chat?x=1", "POST /v1/%63hat", "GET /v1/chat",
		"GET http://orders.example/7", "GET http://ORDERS.example:80/7", "GET http://other.example/7", "GET /files/a/b", "GET /files/list", "GET /files//list",
		"GET /files/x/../list", "HEAD /files/list", "GET /", "OPTIONS *",
	} {
		method, target, _ := strings.Cut(line, " ")
		want := "none"
		if target != "*" {
			asked := httptest.NewRequest(strings.ToUpper(method), target, nil)
			asked.Method = method
			if !strings.HasPrefix(target, "http:") {
				asked.Host = ""
			}
			e, err := m.Explain(asked)
			if err != nil {
				t.Fatal(err)
			}
			if e.Request.Endpoint != "" {
				want = fmt.Sprint(e.Request.Endpoint, len(e.Request.OtherEndpoints) > 0)
			}
		}
		got := "none"
		if found := routes.of(method, target); found.endpoint >= 0 {
			got = fmt.Sprint(complete.Endpoints[found.endpoint].Name, found.several)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-middleware +replay):\n%s", line, diff)
		}
		seen[got] = true
	}
	if len(seen) < 6 {
		t.Errorf("the lines are of %v", seen)
	}
}

// What a log does not tell is listed, and then the report is not complete.
func TestRun_saysWhatItCannotDecide(t *testing.T) {
	const limits = `
identities: {user: {jwt: {claim: sub, keys: keys.json}}}
plans: {by: user, named: {pro: {limits: {minute: {limit: 100}}}}}
limits: [{name: minute, by: ip, limit: 50, window: 1m}]
endpoints:
  - {name: files, match: ["GET /files/{path...}"]}
  - {name: list, match: ["GET /files/list"], limits: [{name: failed, by: ip, limit: 5, window: 1m, count: {status: [401]}}]}
`
	at := `{"time":"2026-03-01T06:00:00Z","ip":"192.0.2.1","method":"GET","user":"`
	log := at + `ada","path":"/files/a"}` + "\n" + at + `pro","path":"/files/a"}` + "\n" + at + `ada","path":"/files/x/../list"}` + "\n"
	r := replay(t, log, mustPolicy(t, limits), Options{Subject: ByUser})
	if r.Complete || r.Planned != 1 || r.Several != 1 || r.Requests != 1 || len(r.LeftOut) == 0 || !strings.Contains(r.Verdict(), "as far as the log tells") {
		t.Errorf("got %+v", r)
	}
	if r := replay(t, at+`ada","path":"/"}`+"\n"+at+`ada","path":"/a"}`+"\n", mustPolicy(t, "endpoints: [{name: a, match: [/a], limits: [{name: minute, by: ip, limit: 5, window: 1m}]}]"), Options{}); !r.Complete || r.Requests != 1 {
		t.Errorf("got %+v", r)
	}
}
