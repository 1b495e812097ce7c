package replay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// outcomes are what happened to the requests of a log.
type outcomes struct {
	Endpoints map[string][2]int64 // allowed and refused
	Reasons   map[guard.Reason]int64
	Limits    map[string]int64 // refusals, by limit
	Blocks    int64
	Repeats   int64
}

// asReplayed returns the numbers of a report.
func asReplayed(r *Report) outcomes {
	o := outcomes{map[string][2]int64{}, map[guard.Reason]int64{}, map[string]int64{}, r.Blocks, r.Duplicates}
	for _, e := range r.Endpoints {
		if e.Requests > 0 {
			o.Endpoints[e.Name] = [2]int64{e.Allowed, e.Refused}
		}
	}
	for _, c := range r.Reasons {
		o.Reasons[c.Reason] = c.Refused
	}
	for i := range r.Limits {
		if l := &r.Limits[i]; l.Refused > 0 {
			o.Limits[l.Title()] = l.Refused
		}
	}
	return o
}

// asServed sends the requests of a log to a service with the middleware, whose handler answers as the log says. Redis has the log's clock.
func asServed(t *testing.T, log string, p *policy.Policy) outcomes {
	t.Helper()
	o := outcomes{map[string][2]int64{}, map[guard.Reason]int64{}, map[string]int64{}, 0, 0}
	clock := embedded.NewManualClock(time.UnixMicro(0))
	server := embedded.New(embedded.Options{Clock: clock})
	t.Cleanup(func() { _ = server.Close() })
	g, err := guard.New(server, p, guard.Options{CacheSize: -1, NoOverrides: true, Observers: []guard.Observer{func(_ context.Context, e guard.Event) {
		switch e := e.(type) {
		case guard.Decided:
			if e.Err != nil {
				t.Fatal(e.Err)
			}
			o.add(e.Request.Endpoint, e.Decision)
		}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	user := func(r *http.Request) (string, error) { return r.Header.Get("X-Who"), nil }
	m, err := httpguard.New(g, httpguard.Options{Code: policy.Code{Funcs: map[string]identity.Func{"user": user}}})
	if err != nil {
		t.Fatal(err)
	}
	status := 0
	h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	lines, _ := readAll(t, strings.NewReader(log))
	for _, l := range lines {
		clock.Set(l.at)
		status = l.status
		r := httptest.NewRequest(l.method, l.path, nil)
		r.RemoteAddr = l.addr + ":1"
		if strings.Contains(l.addr, ":") {
			r.RemoteAddr = "[" + l.addr + "]:1"
		}
		r.Host = r.URL.Host
		if l.user != "" {
			r.Header.Set("X-Who", l.user)
		}
		if l.id != "" {
			r.Header.Set("Idempotency-Key", l.id)
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	return o
}

func (o *outcomes) add(endpoint string, d *guard.Decision) {
	n := o.Endpoints[endpoint]
	if d.Allowed {
		n[0]++
	} else {
		n[1]++
		o.Reasons[d.Reason]++
	}
	o.Endpoints[endpoint] = n
	if d.Duplicate && d.Allowed {
		o.Repeats++
	}
	if d.Reason == guard.ReasonAttempts {
		o.Blocks++
	}
	for _, l := range d.Limits {
		title := (&Limit{Endpoint: l.Endpoint, Name: l.Name}).Title()
		if !l.Allowed && (l.Shadow || !d.Allowed) {
			o.Limits[title]++
		}
	}
	for _, b := range d.Budgets {
		if !b.Allowed && !d.Allowed {
			o.Limits[b.Name]++
		}
	}
}

// randomPolicy returns a policy with limits of each kind that may count some responses, clients with plans, folded paths, hosts, idempotency,
// blocks and budgets.
func randomPolicy(random *rand.Rand) string {
	limits := func(name string, most int) string {
		var all []string
		for i := range 1 + random.IntN(3) {
			l := fmt.Sprintf("{name: %s%d, by: %s, limit: %d", name, i, [...]string{"ip", "user", "client", "all"}[random.IntN(4)], 1+random.IntN(most))
			switch kind := [...]string{"sliding_log", "sliding_counter", "fixed_window", "gcra", "quota"}[random.IntN(5)]; kind {
			case "quota":
				l += ", kind: quota, every: hour, zone: Asia/Kolkata"
			default:
				l += fmt.Sprintf(", kind: %s, window: %ds", kind, 5+random.IntN(600))
			}
			if random.IntN(4) == 0 {
				l += ", count: {status: [401]}"
			}
			if random.IntN(6) == 0 {
				l += ", shadow: true"
			}
			all = append(all, l+"}")
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	text := `
version: 1
timeout: 10s
identities: {user: {func: true}, client: {first: [user, ip]}}
plans: {by: user}
overrides: {deny: ["ip=192.0.2.2"], multiply: {"ip=192.0.2.3": 3}}
limits: [{name: base, by: ip, kind: gcra, limit: {default: 30, pro: 60}, window: 1m}, ` + limits("shared", 60)[1:] + `
endpoints:
  - {name: items, match: ["GET /v1/items"], limits: ` + limits("items", 40) + `}
  - {name: files, match: ["GET /files/{path...}"], limits: ` + limits("files", 20) + `}
  - {name: list, match: ["GET /files/list"], limits: ` + limits("list", 20) + `}`
	chat := `
  - {name: chat, match: ["POST /v1/chat", "POST chat.example/{any...}"], idempotency: {header: Idempotency-Key, repeats: 2}`
	if random.IntN(2) == 0 {
		text = strings.Replace(text, "limits: [{name: base", `blocks: [{name: many, by: ip, attempts: `+[...]string{"all", "refused"}[random.IntN(2)]+`, tiers: [{threshold: 9, window: 1m, block: 90s}], escalation: [30s, 4m]}]
limits: [{name: base`, 1)
		chat += ", block: many"
	}
	if random.IntN(2) == 0 {
		text = strings.Replace(text, "limits: [{name: base", `budgets: [{name: small, by: ip, budget: "0.90", window: 5m}]
limits: [{name: base`, 1)
		chat += `, cost: {estimate: "0.10", hold: 1m, penalty: 1m}`
	}
	return text + chat + ", limits: " + limits("chat", 20) + "}\n"
}

// randomLog returns lines of some clients, with all that a log can tell.
func randomLog(random *rand.Rand, lines int) string {
	var b strings.Builder
	at := time.Date(2026, 3, 1, 6, 20, 0, 0, time.UTC)
	for range lines {
		at = at.Add(time.Duration(random.ExpFloat64() * float64(400*time.Millisecond)).Truncate(time.Microsecond))
		request := [...]string{
			"GET /v1/items", "GET /V1/Items?page=2", "POST /v1/chat", "POST /v1//chat", "POST http://CHAT.example/x", "GET /files/a", "GET /files/list", "GET /files/x/../list",
			"GET /files//list", "GET /", "post /v1/chat", "GET /v1/%69tems",
		}[random.IntN(12)]
		method, path, _ := strings.Cut(request, " ")
		user, id := "", ""
		if random.IntN(3) == 0 {
			user = [...]string{"ada", "bob", "pro"}[random.IntN(3)]
		}
		if random.IntN(3) == 0 {
			id = fmt.Sprint("id", random.IntN(5))
		}
		fmt.Fprintf(&b, `{"time":%q,"ip":"192.0.2.%d","method":%q,"path":%q,"status":%d,"user":%q,"id":%q}`+"\n",
			at.Format(time.RFC3339Nano), 1+random.IntN(5), method, path, [...]int{200, 200, 401}[random.IntN(3)], user, id)
	}
	return b.String()
}

// A replay has the numbers of a service with the middleware that serves the requests of the log.
func TestRun_hasTheNumbersOfTheMiddleware(t *testing.T) {
	kinds := map[guard.Reason]bool{}
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 38))
		text, log := randomPolicy(random), randomLog(random, 600)
		served := asServed(t, log, mustPolicy(t, text))
		r, err := Run(t.Context(), strings.NewReader(log), mustPolicy(t, text), Options{Subject: ByUser})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(served, asReplayed(r)); diff != "" {
			t.Fatalf("seed %d (-middleware +replay):\n%s\n%s", seed, diff, text)
		}
		for reason := range served.Reasons {
			kinds[reason] = true
		}
	}
	for _, want := range []guard.Reason{guard.ReasonDenied, guard.ReasonBlocked, guard.ReasonAttempts, guard.ReasonLimit, guard.ReasonGlobal, guard.ReasonBudget} {
		if !kinds[want] {
			t.Errorf("no request was refused for %q", want)
		}
	}
}

// Clients that no limit counts together have guards of their own, which does not change the numbers.
func TestRun_shardsDoNotChangeTheNumbers(t *testing.T) {
	const apart = `
limits:
  - {name: bucket, kind: gcra, limit: 2, window: 10s, burst: 5}
  - {name: counter, kind: sliding_counter, limit: 20, window: 1m}
  - {name: fixed, kind: fixed_window, limit: 60, window: 7m}
  - {name: log, limit: 100, window: 10m}
endpoints:
  - {name: items, match: ["GET /v1/items"]}
  - {name: chat, match: ["POST /v1/chat"], limits: [{name: own, kind: gcra, limit: 9, window: 1m, burst: 5, weight: 2}]}`
	log, p := randomLog(rand.New(rand.NewPCG(7, 1)), 1500), mustPolicy(t, apart)
	clients, err := newClients(p, ByIP)
	if err != nil || !clients.separate() {
		t.Fatalf("%v: the clients are not separate", err)
	}
	together := mustPolicy(t, strings.Replace(apart, "limits:", "limits:\n  - {name: all, by: all, kind: sliding_log, limit: 1000000, window: 1s}", 1))
	want, got := asReplayed(replay(t, log, together, Options{})), asReplayed(replay(t, log, p, Options{}))
	if diff := cmp.Diff(want, got); diff != "" || len(got.Limits) < 2 {
		t.Errorf("(-one guard +several):\n%s%v", diff, got.Limits)
	}
}
