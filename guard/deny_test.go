package guard_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// asked counts the decisions that went to Redis.
func asked(n *int) []guard.Observer {
	return on(func(e guard.Decided) {
		if e.Redis > 0 {
			*n++
		}
	})
}

func TestDecide_cachedRefusalTakesNoRoundTrip(t *testing.T) {
	rdb, _ := inProcess(t)
	trips := 0
	g := newGuard(t, rdb, chat(policy.Limit{Name: "minute", Limit: 1, Window: time.Minute}), guard.Options{Observers: asked(&trips)})
	r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}
	decide(t, g, r)
	first := decide(t, g, r)
	for range 100 {
		d := decide(t, g, r)
		if d.Allowed || !d.Cached || d.Reason != guard.ReasonLimit || d.RetryAfter > first.RetryAfter || d.Age <= 0 {
			t.Fatalf("cached: %+v", d)
		}
	}
	if trips != 2 {
		t.Errorf("102 requests, of which 100 were known to be refused, took %d round trips", trips)
	}
	if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=bob"}}); !d.Allowed {
		t.Error("another subject is refused")
	}
}

func TestDecide_duplicatePassesDespiteCachedRefusal(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, chat(policy.Limit{Name: "minute", Limit: 1, Window: time.Minute}), guard.Options{})
	mine := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Receipt: "fp:c1:ada"}
	decide(t, g, mine)
	if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Receipt: "fp:c2:ada"}); d.Allowed {
		t.Fatal("the second request passes")
	}
	if d := decide(t, g, mine); !d.Allowed || !d.Duplicate {
		t.Errorf("the first one's retry: %+v", d)
	}
}

// A known receipt does not give a refused client round trips: not once its repeats are used up, nor while the client is blocked.
func TestDecide_knownReceiptOfARefusedClientIsCached(t *testing.T) {
	rdb, _ := inProcess(t)
	p := chat(policy.Limit{Name: "minute", Limit: 1, Window: time.Minute})
	p.Endpoints[0].Idempotency.Repeats = new(int64(1))
	trips := 0
	g := newGuard(t, rdb, p, guard.Options{Observers: asked(&trips)})
	r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Receipt: "r1"}
	var got []string
	for range 5 {
		d := decide(t, g, r)
		got = append(got, fmt.Sprintf("%s %d", d.Reason, trips))
	}
	want := []string{" 1", " 2", "limit 3", "limit 3", "limit 3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("round trips (-want +got):\n%s", diff)
	}
	r = guard.Request{Endpoint: "chat", Subjects: []string{"ip=bob"}, Receipt: "r1"}
	decide(t, g, r)
	if err := g.Block(t.Context(), "ip=bob", time.Hour, ""); err != nil {
		t.Fatal(err)
	}
	trips = 0
	for range 3 {
		if d := decide(t, g, r); d.Reason != guard.ReasonBlocked || trips > 0 {
			t.Errorf("a known receipt of a blocked client: %s, %d round trips", d.Reason, trips)
		}
	}
}

func TestDecide_refusedAttemptsReachRedisUntilBlocked(t *testing.T) {
	rdb, _ := inProcess(t)
	p := chat(policy.Limit{Name: "minute", Limit: 1, Window: time.Minute})
	p.Blocks = []policy.Block{{Name: "tries", Tiers: []policy.Tier{{Threshold: 3, Window: time.Hour, Block: time.Hour}}}}
	p.Endpoints[0].Block = "tries"
	trips := 0
	g := newGuard(t, rdb, p, guard.Options{Observers: asked(&trips)})
	r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}
	var reasons []guard.Reason
	for range 10 {
		reasons = append(reasons, decide(t, g, r).Reason)
	}
	want := []guard.Reason{"", "limit", "limit", "attempts", "blocked", "blocked", "blocked", "blocked", "blocked", "blocked"}
	for i := range want {
		if reasons[i] != want[i] {
			t.Fatalf("reasons %v, want %v", reasons, want)
		}
	}
	if trips != 5 {
		t.Errorf("%d round trips, want 5: the block is cached", trips)
	}
}

func TestDecide_reloadDropsCachedRefusals(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, chat(policy.Limit{Name: "minute", Limit: 1, Window: time.Minute}), guard.Options{})
	r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}
	decide(t, g, r)
	decide(t, g, r)
	p := chat(policy.Limit{Name: "minute", Limit: 2, Window: time.Minute})
	p.Timeout = 10 * time.Second
	if err := g.SetPolicy(p); err != nil {
		t.Fatal(err)
	}
	if d := decide(t, g, r); !d.Allowed {
		t.Errorf("after the limit was raised: %+v", d)
	}
}

func TestDecide_overridesNeedNoRedis(t *testing.T) {
	p := chat(policy.Limit{Name: "minute", Limit: 1, Window: time.Minute, OnFailure: policy.Closed})
	withKeys(p)
	p.Overrides = policy.Overrides{Allow: []string{"key=internal"}, Deny: []string{"ip=203.0.113.0/24"}}
	g := newGuard(t, redis.NewClient(&redis.Options{Addr: closedPort(t)}), p, guard.Options{})
	for subject, want := range map[string]guard.Reason{"key=internal": guard.ReasonNone, "ip=203.0.113.9": guard.ReasonDenied} {
		if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{subject}}); d.Reason != want || d.Allowed != (want == "") {
			t.Errorf("%s: %+v", subject, d)
		}
	}
}

func TestDecide_cachedRefusalAllocatesNothing(t *testing.T) {
	g := newGuard(t, redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}), chat(policy.Limit{Name: "minute", Limit: 1, Window: time.Minute}), guard.Options{CacheTTL: time.Hour})
	guard.Refuse(g, "chat", time.Hour, "ip=ada")
	allowed, r := false, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}
	if n := testing.AllocsPerRun(1000, func() {
		d, err := g.Decide(t.Context(), r)
		allowed = allowed || err != nil || d.Allowed || !d.Cached
	}); n > 0 || allowed {
		t.Errorf("%v allocations, want none; not cached: %v", n, allowed)
	}
}

func TestDecide_receiptIsPerEndpoint(t *testing.T) {
	rdb, _ := inProcess(t)
	p := chat(policy.Limit{Name: "minute", Limit: 10, Window: time.Minute})
	p.Endpoints = append(p.Endpoints, policy.Endpoint{Name: "image", Limits: p.Endpoints[0].Limits, Idempotency: p.Endpoints[0].Idempotency})
	g := newGuard(t, rdb, p, guard.Options{})
	long := strings.Repeat("r", 1000)
	for _, receipt := range []string{"fp:c1:ada", long} {
		for _, endpoint := range []string{"chat", "image"} {
			for i := range 2 {
				if d := decide(t, g, guard.Request{Endpoint: endpoint, Subjects: []string{"ip=ada"}, Receipt: receipt}); d.Duplicate != (i == 1) {
					t.Errorf("%s, request %d with a receipt of %d bytes: duplicate is %v", endpoint, i+1, len(receipt), d.Duplicate)
				}
			}
		}
	}
}
