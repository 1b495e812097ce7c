package guard_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// moment is the time of the tests' clocks.
var moment = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// inProcess returns a client of an embedded server and its clock.
func inProcess(t *testing.T) (*redis.Client, *embedded.ManualClock) {
	t.Helper()
	clock := embedded.NewManualClock(moment)
	server := embedded.New(embedded.Options{Clock: clock})
	t.Cleanup(func() { _ = server.Close() })
	rdb := server.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb, clock
}

// patience is the timeout of policies in tests of something else: busy machines are slow.
const patience = 10 * time.Second

func newGuard(t *testing.T, rdb redis.UniversalClient, p *policy.Policy, o guard.Options) *guard.Guard {
	t.Helper()
	if p.Timeout == 0 {
		p.Timeout = patience
	}
	g, err := guard.New(rdb, p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

func decide(t *testing.T, g *guard.Guard, r guard.Request) *guard.Decision {
	t.Helper()
	d, err := g.Decide(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func chat(limits ...policy.Limit) *policy.Policy {
	return &policy.Policy{Timeout: patience, Endpoints: []policy.Endpoint{{
		Name: "chat", Limits: limits, Unbounded: len(limits) == 0, Idempotency: &policy.Idempotency{Header: "Idempotency-Key", Repeats: new(int64(8))},
	}}}
}

// byAll makes limits global.
func byAll(limits ...policy.Limit) []policy.Limit {
	for i := range limits {
		limits[i].By = policy.By{policy.ByAll}
	}
	return limits
}

// manySlots is a client that guard treats as a cluster client, with one call for each subject.
type manySlots struct{ *redis.Client }

// eachWay runs a test with one call for all subjects and with one call for each.
func eachWay(t *testing.T, test func(t *testing.T, rdb redis.UniversalClient)) {
	t.Run("one call", func(t *testing.T) {
		rdb, _ := inProcess(t)
		test(t, rdb)
	})
	t.Run("a call for each subject", func(t *testing.T) {
		rdb, _ := inProcess(t)
		test(t, manySlots{rdb})
	})
}

// On one server a decision is one call. On several, each subject has one, and all are under way at the same time.
func TestDecide_takesOneRoundTrip(t *testing.T) {
	p := chat(policy.Limit{Name: "minute", Limit: 10, Window: time.Minute})
	p.Limits = byAll(policy.Limit{Name: "all", Limit: 50, Window: time.Minute}, policy.Limit{Name: "second", Kind: policy.GCRA, Limit: 9, Window: time.Second})
	for _, c := range []struct {
		name  string
		of    func(rdb *redis.Client) redis.UniversalClient
		calls int
	}{
		{"one server", func(rdb *redis.Client) redis.UniversalClient { return rdb }, 1},
		{"several servers", func(rdb *redis.Client) redis.UniversalClient { return manySlots{rdb} }, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			rdb, _ := inProcess(t)
			g := newGuard(t, c.of(rdb), p, guard.Options{CacheSize: -1, NoOverrides: true})
			decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}) // loads the library
			var all sync.WaitGroup                                                      // holds calls back until as many are under way
			var came atomic.Int32
			all.Add(c.calls)
			rdb.AddHook(hook(func(_ context.Context, cmds []redis.Cmder, send func([]redis.Cmder) error) error {
				if hasCall(cmds...) { // not the greeting of a connection
					came.Add(1)
					all.Done()
					all.Wait()
				}
				return send(cmds)
			}))
			if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}); !d.Allowed || len(d.Limits) != 3 {
				t.Errorf("%+v", d)
			}
			if got := came.Load(); int(got) != c.calls {
				t.Errorf("%d calls, want %d", got, c.calls)
			}
		})
	}
}

// A plain client of a cluster of one node: the first call for several subjects fails, and then each subject has its own call.
func TestDecide_detectsACluster(t *testing.T) {
	cluster := engines.OnPath(t).StartCluster(t, 1, 0)
	rdb := redis.NewClient(&redis.Options{Addr: cluster.Addrs()[0]})
	defer rdb.Close()
	p := chat(policy.Limit{Name: "minute", Limit: 10, Window: time.Minute})
	p.Limits = byAll(policy.Limit{Name: "all", Limit: 50, Window: time.Minute})
	g := newGuard(t, rdb, p, guard.Options{CacheSize: -1})
	var first sync.WaitGroup
	for i := range 20 { // concurrently
		first.Go(func() {
			if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=" + strconv.Itoa(i)}}); !d.Allowed || d.Fallback != guard.FallbackNone {
				t.Errorf("one of the first: %+v", d)
			}
		})
	}
	first.Wait()
	for i := range int64(3) {
		d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
		if !d.Allowed || d.Fallback != guard.FallbackNone || d.Limits[0].Remaining != 9-i || d.Limits[1].Remaining != 29-i {
			t.Errorf("request %d: %+v", i+1, d)
		}
	}
}

func TestSetPolicy_keepsThePolicyIfACheckFails(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, chat(policy.Limit{Name: "minute", Limit: 1, Window: time.Minute}), guard.Options{})
	no := errors.New("no")
	current, err := guard.Compile(g, func(p *policy.Policy, all []*guard.Endpoint) (int, error) {
		if len(all) > 1 {
			return 0, no
		}
		return int(p.Endpoints[0].Limits[0].Limit), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	had := g.Policy()
	p := chat(policy.Limit{Name: "minute", Limit: 2, Window: time.Minute})
	p.Endpoints = append(p.Endpoints, policy.Endpoint{Name: "more", Unbounded: true})
	if err := g.SetPolicy(p); !errors.Is(err, no) || g.Policy() != had || current() != 1 {
		t.Errorf("error %v, and %d of the policy", err, current())
	}
	p.Endpoints = p.Endpoints[:1]
	if err := g.SetPolicy(p); err != nil || g.Policy() == had || current() != 2 {
		t.Errorf("error %v, and %d of the policy", err, current())
	}
}

// A middleware that has found the endpoint in a policy gets a decision by that one, even if another has taken its place since.
func TestDecide_byThePolicyThatFoundTheEndpoint(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, chat(policy.Limit{Name: "minute", Limit: 1, Window: time.Minute}), guard.Options{})
	current, err := guard.Compile(g, func(_ *policy.Policy, all []*guard.Endpoint) (*guard.Endpoint, error) { return all[0], nil })
	if err != nil {
		t.Fatal(err)
	}
	r := guard.Request{Endpoint: "chat", At: current(), Subjects: []string{"ip=203.0.113.7"}}
	if err := g.SetPolicy(&policy.Policy{Endpoints: []policy.Endpoint{{Name: "other", Unbounded: true}}}); err != nil {
		t.Fatal(err)
	}
	if d := decide(t, g, r); len(d.Limits) != 1 || current().Name != "other" {
		t.Errorf("%+v; the current endpoint is %s", d, current().Name)
	}
	if _, err := g.Decide(t.Context(), guard.Request{Endpoint: "chat"}); !errors.Is(err, guard.ErrEndpoint) {
		t.Errorf("by name: error %v", err)
	}
}

func TestDecide_reportsTheCauseOfAFallback(t *testing.T) {
	for _, contract := range []policy.OnFailure{policy.Open, policy.Closed} {
		p := chat(policy.Limit{Name: "minute", Limit: 10, Window: time.Minute, OnFailure: contract})
		p.Timeout = 20 * time.Millisecond
		g := newGuard(t, client(t, silentServer(t)), p, guard.Options{BreakAfter: 2, BreakFor: time.Hour})
		for i, want := range []error{guard.ErrTimeout, guard.ErrTimeout, guard.ErrBreaker} {
			d, err := g.Decide(t.Context(), guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
			if contract == policy.Open && err == nil {
				err = d.Cause
			}
			if !errors.Is(err, want) {
				t.Errorf("%s: decision %d: the cause is %v, want %v", contract, i+1, err, want)
			}
		}
	}
}

// An address that claims another device with each request makes no more keys than its own limit admits, and one for itself: a request that is
// refused writes nothing. docs/security.md#attacks has the bytes of a run.
func TestDecide_anAddressMakesOnlyAsManyKeysAsItsLimitAdmits(t *testing.T) {
	const admits, requests, addresses = 60, 100, 100
	for _, kind := range []policy.Kind{policy.GCRA, policy.SlidingLog, policy.SlidingCounter, policy.FixedWindow} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			rdb := redis.NewClient(&redis.Options{Addr: engines.OnPath(t).Start(t).Addr})
			defer rdb.Close()
			p := chat(
				policy.Limit{Name: "address", By: policy.By{policy.ByIP}, Kind: kind, Limit: admits, Window: time.Hour},
				policy.Limit{Name: "device", By: policy.By{"device"}, Kind: kind, Limit: 10, Window: time.Hour},
			)
			p.Identities = map[string]policy.Identity{"device": {Header: "X-Device", Claimed: true}}
			g := newGuard(t, rdb, p, guard.Options{CacheSize: -1})
			load(t, rdb)
			if err := rdb.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			before := used(t, rdb)
			for a := range addresses {
				for i := range requests {
					decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{fmt.Sprintf("ip=203.0.113.%d", a), fmt.Sprintf("device=%d-%d", a, i)}})
				}
			}
			keys, err := rdb.DBSize(t.Context()).Result()
			if err != nil {
				t.Fatal(err)
			}
			if keys != addresses*(admits+1) {
				t.Errorf("%d keys of %d addresses, want %d of each", keys, addresses, admits+1)
			}
			t.Logf("%d bytes a key", (used(t, rdb)-before)/keys)
		})
	}
}

// used is the memory that a server uses for its data.
func used(t *testing.T, rdb *redis.Client) int64 {
	t.Helper()
	info, err := rdb.Info(t.Context(), "memory").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "used_memory:")
	line, _, _ := strings.Cut(rest, "\r")
	n, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

var asAda = guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}

// The clock of this process is wrong, and Redis decides.
func TestDecide_quotaWithAWrongClock(t *testing.T) {
	rdb, clock := inProcess(t)
	hourly := policy.Limit{Name: "hour", Kind: policy.Quota, Limit: 2, Every: policy.Hour, OnFailure: policy.Closed}
	guards := map[string]*guard.Guard{}
	for name, off := range map[string]time.Duration{"right": 0, "ahead": time.Hour, "behind": -time.Hour, "far behind": -3 * time.Hour} {
		guards[name] = newGuard(t, rdb, chat(hourly), guard.Options{CacheSize: -1}.WithLocalClock(embedded.NewManualClock(moment.Add(off))))
	}
	clock.Set(moment.Add(20 * time.Minute))
	for _, name := range []string{"ahead", "behind"} {
		if d := decide(t, guards[name], asAda); !d.Allowed || d.Limits[0].ResetAfter != 40*time.Minute {
			t.Errorf("by a clock that is an hour %s: %+v", name, d)
		}
	}
	for _, name := range []string{"right", "ahead", "behind"} {
		if d := decide(t, guards[name], asAda); d.Allowed || d.RetryAfter != 40*time.Minute {
			t.Errorf("a full hour, by the clock that is %s: %+v", name, d)
		}
	}
	_, err := guards["far behind"].Decide(t.Context(), asAda)
	if !errors.Is(err, guard.ErrUnavailable) || !strings.Contains(err.Error(), "after must be after the server's time") {
		t.Errorf("by a clock that is three hours behind: %v", err)
	}
}

// Redis cannot decide a quota for a clock that is wrong by more than a period, so the failure mode does. The breaker stays closed.
func TestDecide_quotaWithAClockThatIsFarOff(t *testing.T) {
	rdb, _ := inProcess(t)
	for _, off := range []time.Duration{3 * time.Hour, -3 * time.Hour} {
		for mode, want := range map[policy.OnFailure]guard.Fallback{policy.Open: guard.FallbackOpen, policy.Local: guard.FallbackLocal} {
			hourly := policy.Limit{Name: "hour", Kind: policy.Quota, Limit: 8, Every: policy.Hour, OnFailure: mode}
			g := newGuard(t, rdb, chat(hourly), guard.Options{CacheSize: -1, BreakAfter: 1}.WithLocalClock(embedded.NewManualClock(moment.Add(off))))
			for i := range 4 {
				d := decide(t, g, asAda)
				if d.Fallback != want || !errors.Is(d.Cause, fcall.ErrArgument) || d.Allowed != (mode == policy.Open || i < 2) /* a quarter of 8 */ {
					t.Errorf("%s, clock off by %s, request %d: %+v", mode, off, i+1, d)
				}
			}
		}
	}
}

// All libraries have one default namespace: clients of them see what guard counts, reserves and blocks. Another namespace is another state.
func TestNamespace_isOneForAllLibraries(t *testing.T) {
	rdb, _ := inProcess(t)
	p := budgeted()
	p.Endpoints[0].Limits = []policy.Limit{{Name: "minute", By: policy.By{"ip"}, Limit: 3, Window: time.Minute}}
	r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}
	decide(t, newGuard(t, rdb, p, guard.Options{}), r)
	seen := func(o fcall.Options) string {
		limits, err := ratelimit.New(rdb, o)
		costs, errCosts := cost.New(rdb, o)
		if err != nil || errCosts != nil {
			t.Fatal(err, errCosts)
		}
		row := ratelimit.PackLimit(ratelimit.Limit{Name: "chat/minute", Kind: ratelimit.LimitKindSlidingLog, Limit: 3, Window: time.Minute})
		check, err := limits.Check(t.Context(), ratelimit.CheckParams{Subject: "ip=ada", Limits: row, Look: true})
		if err != nil {
			t.Fatal(err)
		}
		peek, err := costs.Peek(t.Context(), cost.PeekParams{Subject: "ip=ada", Budgets: cost.PackBudget(cost.Budget{Budget: 1_000_000, Window: 24 * time.Hour, Name: "day"})})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d left, %v spent", check.Limits[0].Remaining, peek.Budgets[0].Spent)
	}
	if here, there := seen(fcall.Options{}), seen(fcall.Options{Namespace: "other"}); here != "2 left, 0.100000 spent" || there != "3 left, 0.000000 spent" {
		t.Errorf("clients see %s, and in another namespace %s", here, there)
	}
	blocks, err := abuse.New(rdb, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blocks.Block(t.Context(), abuse.BlockParams{Subject: "ip=ada", Duration: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if d := decide(t, newGuard(t, rdb, p, guard.Options{}), r); d.Reason != guard.ReasonBlocked {
		t.Errorf("blocked by library abuse: %+v", d)
	}
	p.Namespace = "other"
	if d := decide(t, newGuard(t, rdb, p, guard.Options{}), r); !d.Allowed || d.Limits[0].Remaining != 2 {
		t.Errorf("in another namespace: %+v", d)
	}
	if there := seen(fcall.Options{Namespace: "other"}); there != "2 left, 0.100000 spent" {
		t.Errorf("clients of the other namespace see %s", there)
	}
}

// A client of library abuse sees and ends a block by its name.
func TestBlocks_areThoseOfLibraryAbuse(t *testing.T) {
	rdb, _ := inProcess(t)
	p := &policy.Policy{
		Blocks:    []policy.Block{{Name: "resending", Attempts: policy.CountAll, Tiers: []policy.Tier{{Threshold: 3, Window: time.Hour, Block: time.Hour}}}},
		Endpoints: []policy.Endpoint{{Name: "resend", Block: "resending", Unbounded: true}},
	}
	g := newGuard(t, rdb, p, guard.Options{CacheSize: -1})
	client, err := abuse.New(rdb, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := guard.Request{Endpoint: "resend", Subjects: []string{"ip=203.0.113.7"}}
	for range 3 {
		decide(t, g, r)
	}
	subject := fcall.Subject("ip=203.0.113.7")
	status := func(name string) bool {
		s, err := client.Status(t.Context(), abuse.StatusParams{Subject: subject, Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return s.Blocked
	}
	if !status("resending") || status("guessing") || status("") {
		t.Errorf("blocked by name: %v, by another name: %v, without one: %v", status("resending"), status("guessing"), status(""))
	}
	if u, err := client.Unblock(t.Context(), abuse.UnblockParams{Subject: subject, Name: "resending"}); err != nil || !u.Existed {
		t.Fatalf("unblock: %+v, %v", u, err)
	}
	if d := decide(t, g, r); !d.Allowed {
		t.Errorf("after unblock: %+v", d)
	}
}

// on returns an observer of one kind of event.
func on[E guard.Event](f func(E)) []guard.Observer {
	return []guard.Observer{func(_ context.Context, e guard.Event) {
		if e, ok := e.(E); ok {
			f(e)
		}
	}}
}
