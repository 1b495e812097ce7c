package guard_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func TestDecide_refundInvalidatesCachedRefusal(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, g *guard.Guard, d *guard.Decision) error{
		"settled":   func(t *testing.T, _ *guard.Guard, d *guard.Decision) error { return d.Charge.Settle(t.Context(), 1) },
		"cancelled": func(t *testing.T, _ *guard.Guard, d *guard.Decision) error { return d.Charge.Settle(t.Context(), 0) },
		"settled by text": func(t *testing.T, g *guard.Guard, d *guard.Decision) error {
			c, err := g.ParseCharge(d.Charge.Detach().Text())
			return errors.Join(err, c.Settle(t.Context(), 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			rdb, _ := inProcess(t)
			g := newGuard(t, rdb, budgeted(), guard.Options{})
			r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Estimate: 600_000}
			held := decide(t, g, r)
			decide(t, g, r)
			if d := decide(t, g, r); d.Allowed || !d.Cached {
				t.Fatalf("not cached: %+v", d)
			}
			if err := end(t, g, held); err != nil {
				t.Fatal(err)
			}
			if d := decide(t, g, r); !d.Allowed {
				t.Errorf("refused after a refund: %+v", d)
			}
		})
	}
}

// A client that asks for less in each request causes no call for each, and one that may pass does.
func TestDecide_refusalsOfOtherCostsAreCached(t *testing.T) {
	rdb, _ := inProcess(t)
	p := budgeted()
	p.Endpoints[0].Limits = []policy.Limit{{Name: "bucket", Kind: policy.GCRA, Limit: 100, Window: time.Hour, By: policy.By{"ip"}}}
	g := newGuard(t, rdb, p, guard.Options{CacheTTL: time.Minute})
	ask := func(weight int64, estimate fcall.Micros) *guard.Decision {
		return decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Weight: weight, Estimate: estimate})
	}
	if d := ask(1, 600_000); !d.Allowed {
		t.Fatalf("%+v", d)
	}
	calls := 0
	for i := range 10_000 {
		d := ask(1, fcall.Micros(900_000-i))
		if d.Allowed {
			t.Fatalf("request %d: %+v", i, d)
		}
		if !d.Cached {
			calls++
		}
	}
	if calls > 100 {
		t.Errorf("10,000 refused requests made %d calls", calls)
	}
	if d := ask(1, 300_000); !d.Allowed {
		t.Errorf("what is left is not given: %+v", d)
	}
	if d := ask(100, 1); d.Allowed || d.Cached {
		t.Errorf("more than the bucket has: %+v", d)
	}
	if d := ask(99, 1); d.Allowed {
		t.Errorf("less, but more than the bucket has: %+v", d)
	}
	if d := ask(98, 1); !d.Allowed {
		t.Errorf("what the bucket has: %+v", d)
	}
}

// A refusal is that of its own subjects, whatever text a client chooses as a value.
func TestDecide_cachedRefusalIsOfItsSubjects(t *testing.T) {
	by := func(name string) policy.Limit {
		return policy.Limit{Name: name, By: policy.By{name}, Limit: 1, Window: time.Hour}
	}
	for _, mark := range []string{"|", ",", " ", "\x00", "\n", "/", ";", "&", "%2B"} {
		p := chat(by("tenant"), by("user"))
		p.Endpoints[0].Unbounded = true
		p.Identities = map[string]policy.Identity{"tenant": {Header: "X-Tenant", Claimed: true}, "user": {Header: "X-User", Claimed: true}}
		rdb, _ := inProcess(t)
		g := newGuard(t, rdb, p, guard.Options{})
		attack := guard.Request{Endpoint: "chat", Subjects: []string{"tenant=acme" + mark + "user=ada"}}
		decide(t, g, attack)
		for range 2 { // from Redis, then from the cache
			if d := decide(t, g, attack); d.Allowed {
				t.Fatalf("%+v", d)
			}
		}
		if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"tenant=acme", "user=ada"}}); !d.Allowed {
			t.Errorf("%q: another client's refusal: %+v", mark, d)
		}
	}
}

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
