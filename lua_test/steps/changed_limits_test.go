package steps_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// How many pass at once, when the limits of a bucket in use are changed in the order given: docs/limiters.md#changing-limits has it.
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
			r, err := c.SlidingLog(t.Context(), ratelimit.SlidingLogParams{Subject: "u1", Limit: limit, Window: window})
			return passed(t, r.Allowed, err)
		}, []change{{10, time.Minute, 10}, {15, time.Minute, 5}, {5, time.Minute, 0}, {15, time.Hour, 0}, {20, time.Second, 5}, {20, time.Hour, 0}}},

		// A window of a new length counts what one that is going on and inside of it has taken.
		{"fixed_window", func(t *testing.T, c *ratelimit.Client, limit int64, window time.Duration) bool {
			r, err := c.FixedWindow(t.Context(), ratelimit.FixedWindowParams{Subject: "u1", Limit: limit, Window: window})
			return passed(t, r.Allowed, err)
		}, []change{{10, time.Minute, 10}, {15, time.Minute, 5}, {5, time.Minute, 0}, {15, time.Hour, 0}, {15, time.Second, 0}, {20, time.Minute, 5}, {25, time.Hour, 5}}},

		// Charges of a longer window count in full, those of a shorter one in proportion to the time that its key has left.
		{"sliding_counter", func(t *testing.T, c *ratelimit.Client, limit int64, window time.Duration) bool {
			r, err := c.SlidingCounter(t.Context(), ratelimit.SlidingCounterParams{Subject: "u1", Limit: limit, Window: window})
			return passed(t, r.Allowed, err)
		}, []change{{10, time.Minute, 10}, {15, time.Minute, 5}, {5, time.Minute, 0}, {15, 40 * time.Second, 0}, {15, time.Second, 0}, {20, time.Hour, 19}, {20, time.Second, 0}}},

		// The key stores the time until the bucket is full: at a lower rate that is fewer tokens.
		{"gcra", func(t *testing.T, c *ratelimit.Client, limit int64, window time.Duration) bool {
			r, err := c.GCRA(t.Context(), ratelimit.GCRAParams{Subject: "u1", Limit: limit, Period: window, Burst: 30})
			return passed(t, r.Allowed, err)
		}, []change{{30, time.Minute, 30}, {60, time.Minute, 0}, {15, time.Minute, 15}, {10, time.Minute, 10}, {30, time.Minute, 0}}},
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
