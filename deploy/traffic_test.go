package deploy_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/telemetry"
	page "github.com/rlfunc/rlfunc/guard/telemetry/prometheus"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// serveTraffic runs guards with requests of every kind until the test ends, and returns the URL of their metrics.
func serveTraffic(t *testing.T) string {
	t.Helper()
	metrics, err := page.New()
	if err != nil {
		t.Fatal(err)
	}
	exported, err := telemetry.New(telemetry.Options{
		MeterProvider: metrics.MeterProvider(), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := embedded.New(embedded.Options{})
	t.Cleanup(func() { _ = server.Close() })
	rdb := server.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	// No server listens there, so this guard decides by its failure modes.
	nowhere := redis.NewClient(&redis.Options{Addr: engines.FreeAddr(t), MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { _ = nowhere.Close() })
	o := guard.Options{Observers: []guard.Observer{exported.Observe}, BreakAfter: 1, BreakFor: time.Hour}
	cut := newGuard(t, nowhere, livePolicy(), o)
	live := newGuard(t, rdb, livePolicy(), o)

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			round(ctx, t, live, fmt.Sprintf("fp=%d", i))
			_, _ = cut.Decide(ctx, guard.Request{Endpoint: "chat", Subjects: []string{"fp=1"}})
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	return web.URL + "/metrics"
}

func livePolicy() *policy.Policy {
	return &policy.Policy{
		Timeout:    10 * time.Second,
		Identities: map[string]policy.Identity{"fp": {Func: true}, "client": {First: []string{"fp", "ip"}}},
		Budgets:    []policy.Budget{{Name: "day", Budget: 1_000_000, Window: 24 * time.Hour}},
		Endpoints: []policy.Endpoint{
			{
				Name: "chat",
				Limits: []policy.Limit{
					{Name: "minute", Limit: 1, Window: time.Minute},
					{Name: "trial", Limit: 1, Window: time.Hour, Shadow: true},
				},
				Idempotency: &policy.Idempotency{Header: "Idempotency-Key"},
			},
			{Name: "pay", Cost: &policy.EndpointCost{Estimate: 100_000}, Unbounded: true},
			{
				Name: "sum", Limits: []policy.Limit{
					{Name: "hour", Limit: 1000, Window: time.Hour},
					{Name: "all", By: policy.By{policy.ByAll}, Kind: policy.FixedWindow, Limit: 1, Window: 250 * time.Millisecond},
				},
			},
		},
	}
}

// round sends requests of every kind for one subject.
func round(ctx context.Context, t *testing.T, g *guard.Guard, subject string) {
	ask := func(r guard.Request) *guard.Decision {
		r.Subjects = []string{subject}
		d, err := g.Decide(ctx, r)
		if err != nil && ctx.Err() == nil {
			t.Errorf("decide %s: %v", r.Endpoint, err)
		}
		return d
	}
	ask(guard.Request{Endpoint: "chat", Receipt: "a"})
	ask(guard.Request{Endpoint: "chat", Receipt: "a"})
	ask(guard.Request{Endpoint: "chat", Receipt: "b"})
	ask(guard.Request{Endpoint: "chat", Receipt: "c"}) // cached refusal
	if d := ask(guard.Request{Endpoint: "pay"}); d != nil {
		_ = d.Charge.Settle(ctx, 50_000)
	}
	ask(guard.Request{Endpoint: "sum"})
	changed := livePolicy()
	changed.Timeout = g.Policy().Timeout - time.Microsecond
	_ = g.SetPolicy(changed)
}

func newGuard(t *testing.T, rdb redis.UniversalClient, p *policy.Policy, o guard.Options) *guard.Guard {
	t.Helper()
	g, err := guard.New(manySlots{rdb}, p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// manySlots is a client of several servers to guard: guard makes one call for each subject, and refunds.
type manySlots struct{ redis.UniversalClient }
