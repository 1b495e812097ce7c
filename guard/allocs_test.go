package guard_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// A decision by Redis takes at most 24 allocations, those of go-redis included.
func TestDecide_allocations(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rdb := redis.NewClient(&redis.Options{Addr: engines.OnPath(t).Start(t).Addr})
	defer rdb.Close()
	g := newGuard(t, rdb, chat(policy.Limit{Name: "minute", Kind: policy.GCRA, Limit: 100_000, Window: 100 * time.Second}), guard.Options{})
	got := testing.AllocsPerRun(200, func() {
		if d, err := g.Decide(ctx, guard.Request{Endpoint: "chat", Subjects: []string{"ip=192.0.2.1"}}); err != nil || d.Fallback != guard.FallbackNone {
			t.Fatal(d, err)
		}
	})
	if t.Logf("%.0f", got); got > 24 {
		t.Errorf("%.0f allocations", got)
	}
}
