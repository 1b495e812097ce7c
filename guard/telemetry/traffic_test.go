package telemetry_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall/prefetch"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/telemetry"
)

// The subjects of the traffic. No output may contain one in full.
const (
	ada   = "ip=203.0.113.77"
	bob   = "fp=6f1c3b0a9d2e4f58"
	eve   = "key=eve-and-her-secret"
	mal   = "device=mallory-and-her-phone"
	zoe   = "fp=9a8b7c6d5e4f3021"
	outer = "ip=198.51.100.99"
)

func everything() *policy.Policy {
	return &policy.Policy{
		Timeout: 10 * time.Second,
		Identities: map[string]policy.Identity{
			"key":    {Func: true},
			"fp":     {Func: true},
			"device": {Header: "X-Device", Claimed: true},
			"client": {First: []string{"key", "fp", "device", "ip"}},
		},
		Budgets: []policy.Budget{{Name: "day", Budget: 1_000_000, Window: 24 * time.Hour, Warn: 0.000001}},
		Blocks:  []policy.Block{{Name: "tries", Attempts: policy.CountAll, Tiers: []policy.Tier{{Threshold: 2, Window: time.Minute, Block: time.Hour}}}},
		Endpoints: []policy.Endpoint{
			{
				Name: "chat",
				Limits: []policy.Limit{
					{Name: "minute", Limit: 2, Window: time.Minute},
					{Name: "trial", Limit: 1, Window: time.Minute, Shadow: true},
					{Name: "all", By: policy.By{policy.ByAll}, Kind: policy.FixedWindow, Limit: 4, Window: time.Minute},
				},
				Idempotency: &policy.Idempotency{Header: "Idempotency-Key"},
			},
			{Name: "pay", Cost: &policy.EndpointCost{Estimate: 400_000}, Unbounded: true},
			{Name: "login", Block: "tries", Unbounded: true},
			{Name: "prove", Challenge: &policy.Challenge{Required: true}, Unbounded: true},
		},
		Overrides: policy.Overrides{Deny: []string{outer}},
	}
}

// contract returns an endpoint whose limit has that failure mode.
func contract(f policy.OnFailure) *policy.Policy {
	return &policy.Policy{Timeout: 10 * time.Second, Endpoints: []policy.Endpoint{
		{Name: string(f), Limits: []policy.Limit{{Name: "minute", Limit: 8, Window: time.Minute, OnFailure: f}}},
	}}
}

// calm admits all requests to chat, and defines no identity.
func calm() *policy.Policy {
	return &policy.Policy{Namespace: "calm", Timeout: 10 * time.Second, Endpoints: []policy.Endpoint{{Name: "chat", Unbounded: true}}}
}

// play sends one request of each kind and settles its reservations.
func play(t testing.TB, exported *telemetry.Telemetry) {
	t.Helper()
	ctx := context.Background()
	server := embedded.New(embedded.Options{Clock: embedded.NewManualClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))})
	defer server.Close()
	rdb := server.Client()
	defer rdb.Close()
	watch := guard.Options{Observers: []guard.Observer{exported.Observe}, BreakAfter: 1, BreakFor: time.Hour}
	ask := func(g *guard.Guard, r guard.Request, want string) *guard.Decision {
		t.Helper()
		d, err := g.Decide(ctx, r)
		got := "error"
		if err == nil {
			got = string(d.Reason)
			if d.Cached {
				got += " cached"
			}
		}
		if got != want {
			t.Errorf("%s of %s is %q, want %q: %v", r.Endpoint, r.Subjects, got, want, err)
		}
		return d
	}
	g := start(t, manySlots{rdb}, everything(), watch)
	chat := func(subject, receipt, want string) {
		t.Helper()
		ask(g, guard.Request{Endpoint: "chat", Subjects: []string{subject}, Receipt: receipt}, want)
		if err := g.Close(); err != nil { // waits for what a refusal gives back
			t.Error(err)
		}
	}
	chat(ada, "r1", "")
	chat(ada, "r1", "") // a duplicate
	chat(ada, "r2", "") // a shadow limit refuses it
	chat(ada, "r3", "limit")
	chat(ada, "r4", "limit cached")
	chat(bob, "", "")
	chat(eve, "", "global")
	chat(mal, "", "global cached")
	chat(outer, "", "denied")

	paid := ask(g, guard.Request{Endpoint: "pay", Subjects: []string{ada}}, "").Charge
	if err := paid.Settle(ctx, 300_000); err != nil {
		t.Error(err)
	}
	exported.Observe(ctx, guard.Settled{Subject: bob, Outcome: "settled", Unknown: guard.UnknownUntold})
	if err := ask(g, guard.Request{Endpoint: "pay", Subjects: []string{ada}}, "").Charge.Settle(ctx, 0); err != nil {
		t.Error(err)
	}
	ask(g, guard.Request{Endpoint: "pay", Subjects: []string{ada}, Estimate: 2_000_000}, "too_large")
	ask(g, guard.Request{Endpoint: "pay", Subjects: []string{ada}, Estimate: 900_000}, "budget")

	ask(g, guard.Request{Endpoint: "login", Subjects: []string{bob}}, "")
	ask(g, guard.Request{Endpoint: "login", Subjects: []string{bob}}, "attempts")
	ask(g, guard.Request{Endpoint: "login", Subjects: []string{bob}}, "blocked")
	if err := g.Block(ctx, bob, time.Hour, ""); err != nil {
		t.Error(err)
	}
	ask(g, guard.Request{Endpoint: "pay", Subjects: []string{bob}}, "blocked cached")
	ask(g, guard.Request{Endpoint: "prove", Subjects: []string{eve}}, "challenge")
	ask(g, guard.Request{Endpoint: "nowhere", Subjects: []string{eve}}, "error")

	if err := rdb.RPush(ctx, "rl:{"+zoe+"}:spent:86400000000:day", "no hash").Err(); err != nil {
		t.Fatal(err)
	}
	ask(g, guard.Request{Endpoint: "pay", Subjects: []string{zoe}}, "error")
	if err := g.SetPolicy(&policy.Policy{Namespace: "another"}); err == nil {
		t.Error("the namespace may change")
	}
	if err := g.SetPolicy(everything()); err != nil {
		t.Error(err)
	}

	ask(start(t, rdb, calm(), watch), guard.Request{Endpoint: "chat", Subjects: []string{zoe}}, "") // no limit counts it
	exported.Observe(ctx, guard.Prefetched{Limit: "total", Stats: prefetch.Stats{Calls: 4, Failed: 1, Taken: 9, Refunded: 3, Lost: 2}})

	dead := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	defer dead.Close()
	for f, want := range map[policy.OnFailure]string{policy.Open: "", policy.Closed: "error", policy.Local: ""} {
		g := start(t, dead, contract(f), watch)
		ask(g, guard.Request{Endpoint: string(f), Subjects: []string{ada}}, want)
		ask(g, guard.Request{Endpoint: string(f), Subjects: []string{ada}}, want) // the breaker is open
	}
	unpaid, err := start(t, dead, everything(), watch).ParseCharge(paid.Text())
	if err != nil {
		t.Fatal(err)
	}
	if err := unpaid.Settle(ctx, 1); err == nil {
		t.Error("settled without Redis")
	}
	unknown := guard.Request{Endpoint: "pay", Subjects: []string{ada}, Units: []guard.Amount{{Unit: "tokens", N: 1}}}
	if _, err := g.Record(ctx, unknown); err == nil {
		t.Error("recorded a unit that no budget has")
	}
}

func start(t testing.TB, rdb redis.UniversalClient, p *policy.Policy, o guard.Options) *guard.Guard {
	t.Helper()
	g, err := guard.New(rdb, p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// manySlots is a client of several servers to guard: guard makes one call for each subject, and refunds.
type manySlots struct{ *redis.Client }
