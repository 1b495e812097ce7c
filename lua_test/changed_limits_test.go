package luatest_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// How many pass at once, when the limits of a bucket in use are changed in the order given: docs/limiters.md tells it.
func TestChangedLimits(t *testing.T) {
	type change struct {
		limit  int64
		window time.Duration
		pass   int
	}
	for _, tt := range []struct {
		name    string
		take    func(t *testing.T, c *ratelimit.Client, limit int64, window time.Duration) bool
		changes []change
	}{
		{"sliding_log", func(t *testing.T, c *ratelimit.Client, limit int64, window time.Duration) bool {
			r, err := c.SlidingLog(t.Context(), ratelimit.SlidingLogParams{Bucket: "u1", Limit: limit, Window: window})
			return passed(t, r.Allowed, err)
		}, []change{{10, time.Minute, 10}, {15, time.Minute, 5}, {5, time.Minute, 0}, {15, time.Hour, 0}, {20, time.Second, 5}}},

		// The window that is going on ends when it was to end, unless that is more than two new ones away.
		{"fixed_window", func(t *testing.T, c *ratelimit.Client, limit int64, window time.Duration) bool {
			r, err := c.FixedWindow(t.Context(), ratelimit.FixedWindowParams{Bucket: "u1", Limit: limit, Window: window})
			return passed(t, r.Allowed, err)
		}, []change{{10, time.Minute, 10}, {15, time.Minute, 5}, {5, time.Minute, 0}, {15, time.Hour, 0}, {15, 30 * time.Second, 0}, {15, 30*time.Second - time.Millisecond, 15}}},

		// The key expires two minutes after its window began.
		{"sliding_counter", func(t *testing.T, c *ratelimit.Client, limit int64, window time.Duration) bool {
			r, err := c.SlidingCounter(t.Context(), ratelimit.SlidingCounterParams{Bucket: "u1", Limit: limit, Window: window})
			return passed(t, r.Allowed, err)
		}, []change{{10, time.Minute, 10}, {15, time.Minute, 5}, {5, time.Minute, 0}, {15, 40 * time.Second, 0}, {15, 40*time.Second - time.Millisecond, 15}}},

		// What is kept is the time until the bucket is full: at a lower rate it is fewer tokens.
		{"gcra", func(t *testing.T, c *ratelimit.Client, limit int64, window time.Duration) bool {
			r, err := c.GCRA(t.Context(), ratelimit.GCRAParams{Bucket: "u1", Limit: limit, Period: window, Burst: 30})
			return passed(t, r.Allowed, err)
		}, []change{{30, time.Minute, 30}, {15, time.Minute, 15}, {10, time.Minute, 10}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			limiters.Each(t, func(t *testing.T, _ *luatest.Server, c *ratelimit.Client) {
				for _, change := range tt.changes {
					pass := 0
					for pass <= change.pass && tt.take(t, c, change.limit, change.window) {
						pass++
					}
					if pass != change.pass {
						t.Errorf("%d in %s: %d passed, want %d", change.limit, change.window, pass, change.pass)
					}
				}
			})
		})
	}
}

func passed(t *testing.T, allowed bool, err error) bool {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return allowed
}
