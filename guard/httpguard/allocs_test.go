package httpguard_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

const mostAllocations = 26

// A writer discards the response.
type writer http.Header

func (w writer) Header() http.Header         { return http.Header(w) }
func (w writer) Write(b []byte) (int, error) { return len(b), nil }
func (w writer) WriteHeader(int)             {}

// A request takes at most 26 allocations from the middleware to the handler. They include those of the header fields and of go-redis, which reads
// the reply with 7.
func TestHandler_allocations(t *testing.T) {
	if onpath.Raced() {
		t.Skip("measured without the race detector only")
	}
	rdb := redis.NewClient(&redis.Options{Addr: engines.OnPath(t).Start(t).Addr, ContextTimeoutEnabled: true})
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
