package httpguard_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// A writer discards the response.
type writer http.Header

func (w writer) Header() http.Header         { return http.Header(w) }
func (w writer) Write(b []byte) (int, error) { return len(b), nil }
func (w writer) WriteHeader(int)             {}

// A request takes at most 24 allocations from the middleware to the handler, those of go-redis and of the header fields included.
func TestHandler_allocations(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: engines.OnPath(t).Start(t).Addr})
	defer rdb.Close()
	p := &policy.Policy{Timeout: 10 * time.Second, Endpoints: []policy.Endpoint{{
		Name: "chat", Match: []string{"POST /v1/chat"},
		Limits: []policy.Limit{{Name: "minute", Kind: policy.GCRA, Limit: 100_000, Window: 100 * time.Second}},
	}}}
	g, err := guard.New(rdb, p, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	m, err := httpguard.New(g, httpguard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat", nil)
	w := writer{}
	got := testing.AllocsPerRun(200, func() {
		h.ServeHTTP(w, r)
		if w["Ratelimit"] == nil {
			t.Fatal("the request was not decided")
		}
		clear(w)
	})
	if t.Logf("%.0f", got); got > mostAllocations {
		t.Errorf("%.0f allocations", got)
	}
}

// A call that need not wait costs one round trip and at most 24 allocations more than without the guard, those of go-redis included.
func TestTransport_allocations(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: engines.OnPath(t).Start(t).Addr})
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
	transport, err := httpguard.NewTransport(g, httpguard.TransportOptions{Base: bare})
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
	if t.Logf("%.0f, without %.0f", with, without); with-without > mostAllocations {
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
