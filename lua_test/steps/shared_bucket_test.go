package steps_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// A taker is one caller of a bucket: whether a request of it is admitted now.
type taker func(limit int64, window time.Duration) bool

// sharedBuckets runs a test for each function that decides by a log or a fixed window, always on one bucket.
func sharedBuckets(t *testing.T, test func(t *testing.T, s *luatest.Server, take taker)) {
	t.Helper()
	for name, call := range map[string]func(*testing.T, *ratelimit.Client) taker{
		"sliding_log": func(t *testing.T, c *ratelimit.Client) taker {
			return func(limit int64, window time.Duration) bool {
				r, err := c.SlidingLog(t.Context(), logParams{Subject: "u1", Limit: limit, Window: window})
				return passed(t, r.Allowed, err)
			}
		},
		"fixed_window": func(t *testing.T, c *ratelimit.Client) taker {
			return func(limit int64, window time.Duration) bool {
				r, err := c.FixedWindow(t.Context(), windowParams{Subject: "u1", Limit: limit, Window: window})
				return passed(t, r.Allowed, err)
			}
		},
		"check of sliding_log":  checkTaker(ratelimit.LimitKindSlidingLog),
		"check of fixed_window": checkTaker(ratelimit.LimitKindFixedWindow),
	} {
		t.Run(name, func(t *testing.T) {
			limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) { test(t, s, call(t, c)) })
		})
	}
	for _, kind := range []guard.LimitKind{guard.LimitKindSlidingLog, guard.LimitKindFixedWindow} {
		t.Run("admit of "+string(kind), func(t *testing.T) {
			suites.Guards.Each(t, func(t *testing.T, s *luatest.Server, c guarded) {
				test(t, s, func(limit int64, window time.Duration) bool {
					r, err := c.Guard.Admit(t.Context(), admitParams{Subject: "u1", Limits: []admitLimit{{Name: "a", Kind: kind, Limit: limit, Window: window}}}.Packed())
					return passed(t, r.Allowed, err)
				})
			})
		})
	}
}

func checkTaker(kind ratelimit.LimitKind) func(*testing.T, *ratelimit.Client) taker {
	return func(t *testing.T, c *ratelimit.Client) taker {
		return func(limit int64, window time.Duration) bool {
			r, err := c.Check(t.Context(), checkParams{Subject: "u1", Limits: []checkLimit{{Name: "a", Kind: kind, Limit: limit, Window: window}}}.Packed())
			return passed(t, r.Allowed, err)
		}
	}
}

// Two generations of a service during a rollout: the caller with 10 an hour counts what the one with 10 a second took.
func TestSharedBucket_eachCallerIsHeldToItsOwnLimit(t *testing.T) {
	sharedBuckets(t, func(t *testing.T, s *luatest.Server, take taker) {
		strict, all := 0, 0
		for range 40 {
			if take(10, time.Hour) {
				strict++
				all++
				if all > 10 {
					t.Fatalf("admission %d of the caller with 10 an hour is the %dth of all", strict, all)
				}
			}
			if take(10, time.Second) {
				all++
			}
			s.Advance(t, 333*time.Millisecond)
		}
		if strict != 5 || all < 25 {
			t.Errorf("the caller with 10 an hour had %d of %d admissions, want 5, and the other its own limit alone", strict, all)
		}
	})
}

// After a long idle time no call has to clean up all of it.
func TestSharedBucket_cleanUpIsBounded(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		old := s.Now().Add(-2 * time.Hour).UnixMicro()
		push := []any{"RPUSH", key("u1", "log"), "3600000000 1000000"}
		add := []any{"ZADD", key("u1", "receipts"), int64(-3600_000_000), ""}
		for n := range 25_000 {
			push = append(push, old+int64(n))
		}
		for n := range 250 {
			add = append(add, old+int64(n), fmt.Sprint(n))
		}
		s.Do(t, push...)
		s.Do(t, add...)
		for i, want := range [][2]int64{{15_001, 150}, {5_002, 50}, {3, 0}, {4, 0}} {
			r, err := c.SlidingLog(t.Context(), logParams{Subject: "u1", Limit: 1_000_000, Window: time.Hour, Receipt: fmt.Sprint("r", i)})
			if err != nil || r.Count != int64(i+1) {
				t.Fatalf("call %d: %+v, %v", i+1, r, err)
			}
			entries, receipts := s.Redis.LLen(t.Context(), key("u1", "log")).Val()-1, s.Redis.ZCard(t.Context(), key("u1", "receipts")).Val()-1
			if entries != want[0] || receipts != want[1]+int64(i+1) {
				t.Errorf("after call %d there are %d entries and %d receipts, want %d and %d", i+1, entries, receipts, want[0], want[1]+int64(i+1))
			}
		}
	})
}

// Eight lengths are kept; the ninth replaces the one whose caller was admitted longest ago, and is held to its limit.
func TestFixedWindow_eightLengthsAreKnown(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		take := func(limit int64, minutes int) bool {
			r, err := c.FixedWindow(t.Context(), windowParams{Subject: fcall.Subject("u1"), Limit: limit, Window: time.Duration(minutes) * time.Minute})
			return passed(t, r.Allowed, err)
		}
		for n := range 9 {
			if !take(100, 10+n) {
				t.Fatalf("length %d is refused", n+1)
			}
		}
		for n := range 9 {
			if take(9, 10+n) {
				t.Errorf("length %d counts fewer than 9", n+1)
			}
		}
		// An hour later all are over. The first length to call begins with nothing, and what it takes counts in all again.
		s.Advance(t, time.Hour)
		if !take(1, 18) || take(1, 11) {
			t.Error("windows that are over do not begin again together")
		}
	})
}
