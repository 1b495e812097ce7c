package steps_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// How many pass at once, when the limits of a bucket in use are changed in the order given: docs/changing-limits.md has it.
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

// Two callers with different limits take turns at one bucket: a rollout, or two endpoints that name their buckets alike.
func TestChangedLimits_callersThatTakeTurnsAreBothHeld(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		bucket := func(limit int64, period time.Duration, burst int64) func(fcall.Subject) bool {
			return func(subject fcall.Subject) bool {
				r, err := c.GCRA(t.Context(), ratelimit.GCRAParams{Subject: subject, Limit: limit, Period: period, Burst: burst})
				return passed(t, r.Allowed, err)
			}
		}
		counter := func(limit int64, window time.Duration) func(fcall.Subject) bool {
			return func(subject fcall.Subject) bool {
				r, err := c.SlidingCounter(t.Context(), ratelimit.SlidingCounterParams{Subject: subject, Limit: limit, Window: window})
				return passed(t, r.Allowed, err)
			}
		}
		checked := func(kind ratelimit.LimitKind, limit int64, window time.Duration) func(fcall.Subject) bool {
			return func(subject fcall.Subject) bool {
				r, err := c.Check(t.Context(), checkParams{Subject: subject, Limits: []checkLimit{{Name: "a", Kind: kind, Limit: limit, Window: window}}}.Packed())
				return passed(t, r.Allowed, err)
			}
		}
		for _, tt := range []struct {
			name        string
			short, long func(fcall.Subject) bool
			want        [2]int // what each is admitted at once
			later       [2]int // and a second later
		}{
			{"gcra, burst lowered", bucket(10, time.Minute, 10), bucket(10, time.Minute, 20), [2]int{5, 15}, [2]int{}},
			{"gcra, by value", bucket(7, time.Minute, 10), bucket(7, time.Minute, 20), [2]int{5, 15}, [2]int{}},
			{"gcra, by expiry and by value", bucket(10, time.Minute, 10), bucket(7, time.Minute, 20), [2]int{4, 17}, [2]int{}},
			{"gcra, another rate", bucket(100, time.Second, 10), bucket(10, time.Minute, 10), [2]int{1, 9}, [2]int{0, 1}},
			{"sliding_counter", counter(10, time.Second), counter(10, time.Hour), [2]int{5, 5}, [2]int{}},
			{"sliding_counter, limits apart", counter(10, time.Second), counter(15, time.Hour), [2]int{5, 10}, [2]int{}},
			{"check of gcra", checked(ratelimit.LimitKindGCRA, 100, time.Second), checked(ratelimit.LimitKindGCRA, 10, time.Minute), [2]int{1, 9}, [2]int{0, 1}},
			{"check of sliding_counter", checked(ratelimit.LimitKindSlidingCounter, 10, time.Second), checked(ratelimit.LimitKindSlidingCounter, 10, time.Hour), [2]int{5, 5}, [2]int{}},
		} {
			for i, want := range [][2]int{tt.want, tt.later} {
				var got [2]int
				for range 100 {
					for who, take := range []func(fcall.Subject) bool{tt.short, tt.long} {
						if take(fcall.Subject(tt.name)) {
							got[who]++
						}
					}
				}
				if got != want {
					t.Errorf("%s, turn %d: %d were admitted of 100 each, want %d", tt.name, i+1, got, want)
				}
				s.Advance(t, time.Second)
			}
		}
	})
}

func passed(t *testing.T, allowed bool, err error) bool {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return allowed
}
