package outbound_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/outbound"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// A call that need not wait costs one round trip and at most 52 allocations more than without the guard, of which a decision takes 28.
func TestTransport_allocations(t *testing.T) {
	if onpath.Raced() {
		t.Skip("measured without the race detector only")
	}
	rdb := redis.NewClient(&redis.Options{Addr: engines.OnPath(t).Start(t).Addr, ContextTimeoutEnabled: true})
	defer rdb.Close()
	g, err := guard.New(rdb, &policy.Policy{Timeout: 10 * time.Second, Upstreams: []policy.Upstream{
		example(policy.Limit{Name: "minute", Kind: policy.GCRA, Limit: 100_000, Window: 100 * time.Second}),
	}}, guard.Options{NoOverrides: true})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	response := respond(http.StatusOK)
	response.Body = http.NoBody
	bare := roundTripper(func(*http.Request) (*http.Response, error) { return response, nil })
	transport, err := outbound.New(g, outbound.Options{Base: bare})
	if err != nil {
		t.Fatal(err)
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://api.example.com/v1/chat", nil)
	measure := func(rt http.RoundTripper) float64 {
		return testing.AllocsPerRun(200, func() {
			if _, err := rt.RoundTrip(r); err != nil { //nolint:bodyclose // it has none
				t.Fatal(err)
			}
		})
	}
	measure(transport)
	calls := callsOf(t, rdb)
	with, without := measure(transport), measure(bare)
	if calls = callsOf(t, rdb) - calls; calls != 201 { // and a first one to warm up
		t.Errorf("%d calls of Redis for 201 requests", calls)
	}
	if t.Logf("%.0f, without %.0f", with, without); with-without > 52 {
		t.Errorf("%.0f allocations more", with-without)
	}
}

// callsOf returns how many functions a server has run.
func callsOf(t *testing.T, rdb *redis.Client) (n int) {
	t.Helper()
	stats, err := rdb.Info(context.Background(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(stats, "cmdstat_fcall:calls=")
	_, _ = fmt.Sscanf(line, "%d,", &n)
	return n
}
