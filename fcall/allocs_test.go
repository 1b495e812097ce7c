package fcall_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// A call takes at most 5 allocations more than the same words sent by go-redis, however it ends.
func TestCall_allocations(t *testing.T) {
	if onpath.Raced() {
		t.Skip("measured without the race detector only: it makes pools forget")
	}
	plain, clustered := servers(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for name, rdb := range map[string]redis.UniversalClient{
		"client":  redis.NewClient(&redis.Options{Addr: plain, ContextTimeoutEnabled: true}),
		"cluster": redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{clustered}, ContextTimeoutEnabled: true}),
	} {
		defer rdb.Close()
		c, fn := newClient(t, rdb, fcall.Options{}), countFunction("hit")
		bare := testing.AllocsPerRun(200, func() {
			err := rdb.Process(ctx, redis.NewCmd(ctx, "FCALL", "fcalltest_v1_hit", 2, "fcalltest:{user-12345}:log", "fcalltest:{user-12345}:receipts",
				int64(1000), int64(60_000_000), "", "", "0"))
			if err != nil {
				t.Fatal(err)
			}
		})
		for end, ctx := range map[string]context.Context{"no end": context.Background(), "a cancel": ctx} {
			t.Run(name+"/"+end, func(t *testing.T) {
				got := testing.AllocsPerRun(200, func() {
					r, err := slidingLogArgs(c, fn, 1000).Call(ctx)
					if err != nil {
						t.Fatal(err)
					}
					_ = r.Int("n")
				})
				t.Logf("%.0f, bare %.0f", got, bare)
				if got > bare+5 {
					t.Errorf("%.0f allocations, and go-redis takes %.0f", got, bare)
				}
			})
		}
	}
}

func slidingLogArgs(c *fcall.Client, fn *fcall.Function, limit int64) *fcall.Args {
	a := c.Args(fn, 2, 5)
	a.Key("user-12345", "log")
	a.Key("user-12345", "receipts")
	a.Int(limit)
	a.Duration(time.Minute)
	a.OptText("")
	a.OptDuration(0)
	a.Bool(false)
	return a
}
