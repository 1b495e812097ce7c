package guard_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// A decision by Redis takes at most 28 allocations. 16 of them are of go-redis, 12 of these to read a reply of arrays.
func TestDecide_allocations(t *testing.T) {
	if onpath.Raced() {
		t.Skip("measured without the race detector only")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rdb := redis.NewClient(&redis.Options{Addr: engines.OnPath(t).Start(t).Addr, ContextTimeoutEnabled: true})
	defer rdb.Close()
	g := newGuard(t, rdb, chat(policy.Limit{Name: "minute", Kind: policy.GCRA, Limit: 100_000, Window: 100 * time.Second}), guard.Options{})
	got := testing.AllocsPerRun(200, func() {
		if d, err := g.Decide(ctx, guard.Request{Endpoint: "chat", Subjects: []string{"ip=192.0.2.1"}}); err != nil || d.Fallback != guard.FallbackNone {
			t.Fatal(d, err)
		}
	})
	if t.Logf("%.0f", got); got > 28 {
		t.Errorf("%.0f allocations", got)
	}
}
