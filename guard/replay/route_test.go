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
exempt: ["GET /files/health", "/live/"]
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
		"GET /files/x/../list", "HEAD /files/list", "GET /", "OPTIONS *", "GET /files/health", "GET /FILES/health", "GET /live/a", "GET /live/..;/v1",
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
			if e.Exempt {
				want = "exempt"
			} else if e.Request.Endpoint != "" {
				want = fmt.Sprint(e.Request.Endpoint, len(e.Request.OtherEndpoints) > 0)
			}
		}
		got := "none"
		if found, err := routes.of(method, target); found.Exempt {
			got = "exempt"
		} else if err == nil && found.Endpoint != nil {
			got = fmt.Sprint(found.Endpoint.Name, len(found.Others) > 0)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-middleware +replay):\n%s", line, diff)
		}
		seen[got] = true
	}
	if len(seen) < 7 {
		t.Errorf("the lines are of %v", seen)
	}
}

func TestRun_countsLinesThatGuardDoesNotDecide(t *testing.T) {
	line := `{"time":"2026-03-01T06:00:00Z","ip":"192.0.2.1","method":"GET","path":"/healthz","status":200}` + "\n"
	p := "exempt: [/healthz]\nendpoints: [{name: a, match: [/], limits: [{name: minute, by: ip, limit: 1, window: 1m}]}]"
	r := replay(t, strings.Repeat(line, 3)+strings.Replace(line, "/healthz", "/a", 1), mustPolicy(t, p), Options{})
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	preflight := strings.Replace(strings.Replace(line, "GET", "OPTIONS", 1), "/healthz", "/a", 1)
	for cors, want := range map[string]bool{"": true, "\ncors: {origins: [https://app.example.com]}": false} {
		if r := replay(t, line+preflight, mustPolicy(t, p+cors), Options{}); r.Complete != want || (len(r.Notes) == 0) != want {
			t.Errorf("complete %v, notes %v", r.Complete, r.Notes)
		}
	}
	if r.Exempt != 3 || r.Requests != 1 || r.Unmatched != 0 || !strings.Contains(text.String(), "3 lines are exempt") {
		t.Errorf("%d exempt, %d requests, %d unmatched:\n%s", r.Exempt, r.Requests, r.Unmatched, &text)
	}
}

// Batches of tokens, which a process takes of a hot limit, change no number.
func TestRun_takesNoBatches(t *testing.T) {
	const p = "limits: [{name: all, by: all, kind: fixed_window, limit: 3, window: 1m}]\nendpoints: [{name: a, match: [/a]}]"
	line := `{"time":"2026-03-01T06:00:00Z","ip":"192.0.2.1","method":"GET","path":"/a","status":200}` + "\n"
	next := strings.ReplaceAll(line, "06:00", "06:01") // in the log's next window, which begins at once in real time
	r := replay(t, strings.Repeat(line, 5)+strings.Repeat(next, 2), mustPolicy(t, strings.Replace(p, "window: 1m", "window: 1m, prefetch: {most: 2, for: 10s}", 1)), Options{})
	if r.Allowed != 5 || r.Refused != 2 {
		t.Errorf("%d allowed, %d refused of 7", r.Allowed, r.Refused)
	}
}

// What a log does not tell is listed, and then the report is not complete.
func TestRun_saysWhatItCannotDecide(t *testing.T) {
	const whole = "endpoints: [{name: a, match: [/a], limits: [{name: minute, by: ip, limit: 5, window: 1m}]}]"
	line := `{"time":"2026-03-01T06:00:00Z","ip":"192.0.2.1","method":"GET","path":"/a","status":200}` + "\n"
	silent := strings.Replace(line, `,"status":200`, "", 1)
	for what, c := range map[string]struct {
		log, policy string
		note        string
	}{
		"nothing":                {line, whole, ""},
		"no status":              {silent, whole, ""},
		"responses":              {line, strings.Replace(whole, "window: 1m", "window: 1m, count: {status: [401]}", 1), ""},
		"responses, no status":   {silent, strings.Replace(whole, "window: 1m", "window: 1m, count: {status: [401]}", 1), "Some lines have no status"},
		"an identity":            {line, "identities: {key: {func: true}}\n" + strings.Replace(whole, "{name: minute", "{name: keyed, by: key, limit: 9, window: 1m}, {name: minute", 1), "Left out: a/keyed (by key)"},
		"requests at a time":     {line, strings.Replace(whole, "{name: minute", "{name: places, kind: concurrency, limit: 2}, {name: minute", 1), "Left out: a/places (by client): a log does not say which requests ran at the same time"},
		"a challenge":            {line, strings.Replace(whole, "limits:", "challenge: {required: true}, limits:", 1), "Challenges are left out"},
		"what it cost":           {line, `cost: {budgets: [{name: day, budget: "1", window: 24h}]}` + "\n" + strings.Replace(whole, "limits:", `cost: {estimate: "0.1"}, limits:`, 1), "Budgets are charged"},
		"who has a plan":         {line, "identities: {user: {func: true}}\nplans: {by: user, named: {pro: {limits: {a/minute: {limit: 9}}}}}\n" + whole, "which clients have a plan"},
		"a line in another form": {line + `{"time":"x"}` + "\n", whole, ""},
	} {
		r := replay(t, c.log, mustPolicy(t, c.policy), Options{})
		complete := c.note == "" && !strings.Contains(c.log, `"x"`)
		if r.Complete != complete || r.Requests != 1 || r.Allowed != 1 || !strings.Contains(strings.Join(r.Notes, "\n"), c.note) || complete == strings.Contains(r.Verdict(), "as far as the log tells") {
			t.Errorf("%s: %+v", what, r)
		}
	}
}
