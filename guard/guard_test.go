package guard_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
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

// withKeys identifies clients by key, or by address without a key.
func withKeys(p *policy.Policy) {
	p.Identities = map[string]policy.Identity{"key": {Func: true}, "client": {First: []string{"key", "ip"}}}
}

func TestDecide_refusalByOneLimitChargesNoOther(t *testing.T) {
	rdb, clock := inProcess(t)
	g := newGuard(t, rdb, chat(
		policy.Limit{Name: "minute", Limit: 2, Window: time.Minute},
		policy.Limit{Name: "hour", Limit: 3, Window: time.Hour},
	), guard.Options{CacheSize: -1})
	r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}
	for range 2 {
		if d := decide(t, g, r); !d.Allowed {
			t.Fatalf("refused: %+v", d)
		}
	}
	if d := decide(t, g, r); d.Allowed || d.Reason != guard.ReasonLimit || d.RetryAfter != time.Minute {
		t.Errorf("the third in a minute: %+v", d)
	}
	clock.Advance(time.Minute)
	if d := decide(t, g, r); !d.Allowed {
		t.Fatalf("the third in an hour: %+v", d)
	}
	want := &guard.Decision{
		Endpoint: "chat", Subject: "ip=ada", Reason: guard.ReasonLimit, Refused: "ip=ada", RetryAfter: 59 * time.Minute,
		Limits: []guard.LimitState{
			{Name: "minute", Endpoint: "chat", Subject: "ip=ada", Kind: policy.SlidingLog, Limit: 2, Window: time.Minute, Allowed: true, Remaining: 1, ResetAfter: time.Minute},
			{Name: "hour", Endpoint: "chat", Subject: "ip=ada", Kind: policy.SlidingLog, Limit: 3, Window: time.Hour, RetryAfter: 59 * time.Minute, ResetAfter: time.Hour},
		},
	}
	if diff := cmp.Diff(want, decide(t, g, r), cmpopts.IgnoreUnexported(guard.Decision{})); diff != "" {
		t.Errorf("the fourth in an hour (-want +got):\n%s", diff)
	}
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

func TestDecide_globalRefusalChargesNoSubject(t *testing.T) {
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := chat(policy.Limit{Name: "minute", Limit: 10, Window: time.Minute})
		p.Endpoints[0].Limits = append(p.Endpoints[0].Limits, byAll(policy.Limit{Name: "all", Kind: policy.FixedWindow, Limit: 3, Window: time.Minute})...)
		g := newGuard(t, rdb, p, guard.Options{CacheSize: -1})
		for range 3 {
			decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
		}
		for range 5 {
			d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=bob"}})
			if d.Allowed || d.Reason != guard.ReasonGlobal || d.RetryAfter != time.Minute {
				t.Fatalf("the fourth of all: %+v", d)
			}
			guard.WaitBackground(g)
		}
		p = chat(policy.Limit{Name: "minute", Limit: 10, Window: time.Minute})
		p.Timeout = 10 * time.Second
		if err := g.SetPolicy(p); err != nil {
			t.Fatal(err)
		}
		if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=bob"}}); d.Limits[0].Remaining != 9 {
			t.Errorf("refused by the global limit, a subject has %d of 10 left after its first request", d.Limits[0].Remaining)
		}
	})
}

func TestDecide_duplicateChargesGlobalLimitsOnly(t *testing.T) {
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := chat(policy.Limit{Name: "minute", Limit: 10, Window: time.Minute})
		p.Limits = byAll(policy.Limit{Name: "all", Limit: 3, Window: time.Minute})
		g := newGuard(t, rdb, p, guard.Options{CacheSize: -1})
		r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Receipt: "r1"}
		for i := range int64(3) {
			d := decide(t, g, r)
			if !d.Allowed || d.Duplicate != (i > 0) || d.Limits[0].Remaining != 9 || d.Limits[1].Remaining != 2-i {
				t.Errorf("request %d: %+v", i+1, d)
			}
		}
		if d := decide(t, g, r); d.Allowed || d.Reason != guard.ReasonGlobal || !d.Limits[0].Allowed || d.Limits[1].Allowed {
			t.Errorf("the fourth of all: %+v", d)
		}
	})
}

// A meeting holds calls back until as many are under way as it waits for.
type meeting struct {
	sync.WaitGroup
	came atomic.Int32
}

func (m *meeting) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m *meeting) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if hasCall(cmd) { // not the greeting of a connection
			m.came.Add(1)
			m.Done()
			m.Wait()
		}
		return next(ctx, cmd)
	}
}

func (m *meeting) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
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
			var all meeting
			all.Add(c.calls)
			rdb.AddHook(&all)
			if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}); !d.Allowed || len(d.Limits) != 3 {
				t.Errorf("%+v", d)
			}
			if got := all.came.Load(); int(got) != c.calls {
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

func TestDecide_reportsMultipliedLimits(t *testing.T) {
	rdb, _ := inProcess(t)
	p := budgeted()
	p.Endpoints[0].Limits = []policy.Limit{{Name: "rate", Kind: policy.GCRA, Limit: 5, Window: time.Second, Burst: 20}}
	withKeys(p)
	p.Overrides.Multiply = map[string]int64{"key=partner": 10}
	g := newGuard(t, rdb, p, guard.Options{})
	d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"key=partner"}})
	if l, b := d.Limits[0], d.Budgets[0]; l.Limit != 50 || l.Burst != 200 || l.Remaining != 199 || b.Budget != 10_000_000 {
		t.Errorf("%+v, %+v", l, b)
	}
}

func TestDecide_rejectsWeightOutOfBounds(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, chat(policy.Limit{Name: "rate", Kind: policy.GCRA, Limit: 4, Window: time.Second, Cost: 4}), guard.Options{})
	for _, weight := range []int64{-1, 1_000_001, 1 << 62} { // four times the last is 0 in 64 bits
		if d, err := g.Decide(t.Context(), guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Weight: weight}); !errors.Is(err, fcall.ErrArgument) {
			t.Errorf("weight %d: %+v, %v", weight, d, err)
		}
	}
}

// Clients without a subject would share one bucket, with Redis and without.
func TestDecide_rejectsEmptySubject(t *testing.T) {
	rdb, _ := inProcess(t)
	dead := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = dead.Close() })
	for _, client := range []*redis.Client{rdb, dead} {
		g := newGuard(t, client, chat(policy.Limit{Name: "rate", Kind: policy.GCRA, Limit: 4, Window: time.Second}), guard.Options{})
		d, err := g.Decide(t.Context(), guard.Request{Endpoint: "chat"})
		if !errors.Is(err, fcall.ErrArgument) || d != nil && d.Allowed {
			t.Errorf("Decide: %+v, %v, want ErrArgument", d, err)
		}
	}
}

func TestSetPolicy_keepsThePolicyIfACheckFails(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, chat(policy.Limit{Name: "minute", Limit: 1, Window: time.Minute}), guard.Options{})
	no := errors.New("no")
	g.Require(func(p *policy.Policy) error {
		if len(p.Endpoints) > 1 {
			return no
		}
		return nil
	})
	had := g.Policy()
	p := chat(policy.Limit{Name: "minute", Limit: 2, Window: time.Minute})
	p.Endpoints = append(p.Endpoints, policy.Endpoint{Name: "more", Unbounded: true})
	if err := g.SetPolicy(p); !errors.Is(err, no) || g.Policy() != had {
		t.Errorf("error %v", err)
	}
	p.Endpoints = p.Endpoints[:1]
	if err := g.SetPolicy(p); err != nil || g.Policy() == had {
		t.Errorf("error %v", err)
	}
}
