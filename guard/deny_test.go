package guard_test

import (
	"testing"
	"time"

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
