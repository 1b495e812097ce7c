package steps_test

import (
	"fmt"
	"strings"
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

// A refused call writes nothing, so the state that a caller needs must outlive its last admission: it is still refused.
func TestSharedBucket_aRefusedCallersNeedLivesAsLongAsTheKey(t *testing.T) {
	sharedBuckets(t, func(t *testing.T, s *luatest.Server, take taker) {
		strict, other := 0, 0
		for range 150 {
			if take(1, time.Second) {
				other++
			}
			if take(10, time.Minute) {
				strict++
			}
			s.Advance(t, 1050*time.Millisecond)
		}
		// Of each window of a minute that begins, 5 and 5; a sliding one has room once.
		want := 5
		if strings.Contains(t.Name(), "fixed") {
			want = 15
		}
		if strict != want || other != 150 {
			t.Errorf("10 a minute beside one a second: %d and %d were admitted, want %d and 150", strict, other, want)
		}
	})
}

// One call is all that the caller with the longer window does; then only the other one calls.
func TestSharedBucket_needOutlastsTheCallersOwnAdmission(t *testing.T) {
	sharedBuckets(t, func(t *testing.T, s *luatest.Server, take taker) {
		if !take(10, time.Minute) {
			t.Fatal("the first call is refused")
		}
		ticks := 100 // the admission has left the window
		if strings.Contains(t.Name(), "fixed") {
			ticks = 50 // that window is going on
		}
		for range ticks {
			s.Advance(t, 1050*time.Millisecond)
			if !take(1, time.Second) {
				t.Fatal("one a second is refused after more than a second")
			}
		}
		for range 10 {
			if take(10, time.Minute) {
				t.Error("10 a minute is admitted where more than 40 were in this minute")
			}
		}
	})
}

// The key keeps one admission more than the highest limit for the longer window, whatever the busy caller takes: that one stands for the dropped ones.
func TestSharedBucket_logKeepsOneMoreThanTheHighestLimit(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		take := func(limit int64, window time.Duration) logResult {
			r, err := c.SlidingLog(t.Context(), logParams{Subject: "u1", Limit: limit, Window: window})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		take(5, time.Hour)
		for range 200 {
			if !take(20, time.Second).Allowed {
				t.Fatal("20 a second is refused")
			}
			s.Advance(t, 60*time.Millisecond)
		}
		if n := s.Redis.LLen(t.Context(), key("u1", "log")).Val() - 1; n != 21 {
			t.Errorf("%d admissions are kept, want 21", n)
		}
		want := logResult{Count: 21, RetryAfter: time.Hour - 5*60*time.Millisecond, ResetAfter: time.Hour - 60*time.Millisecond}
		if got := take(5, time.Hour); got != want {
			t.Errorf("5 an hour: %+v, want %+v", got, want)
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

func TestSharedBucket_aShorterDedupForgetsNoReceipt(t *testing.T) {
	for name, call := range map[string]func(*testing.T, guarded, *ratelimit.Client, string, time.Duration) (duplicate bool, err error){
		"sliding_log": func(t *testing.T, _ guarded, c *ratelimit.Client, receipt string, dedup time.Duration) (bool, error) {
			r, err := c.SlidingLog(t.Context(), logParams{Subject: "u1", Limit: 100, Window: time.Second, Receipt: receipt, Dedup: dedup})
			return r.Duplicate, err
		},
		"check": func(t *testing.T, _ guarded, c *ratelimit.Client, receipt string, dedup time.Duration) (bool, error) {
			r, err := c.Check(t.Context(), checkParams{Subject: "u1", Receipt: receipt, Dedup: dedup, Limits: []checkLimit{{Name: "a", Kind: ratelimit.LimitKindGCRA, Limit: 100, Window: time.Second}}}.Packed())
			return r.Duplicate, err
		},
		"admit": func(t *testing.T, g guarded, _ *ratelimit.Client, receipt string, dedup time.Duration) (bool, error) {
			r, err := g.Guard.Admit(t.Context(), admitParams{Subject: "u1", Receipt: receipt, Dedup: dedup, Limits: []admitLimit{{Name: "a", Kind: guard.LimitKindGCRA, Limit: 100, Window: time.Second}}}.Packed())
			return r.Duplicate, err
		},
	} {
		play := func(t *testing.T, s *luatest.Server, g guarded, c *ratelimit.Client) {
			for i, tell := range []struct {
				after   time.Duration
				receipt string
				dedup   time.Duration
				want    bool
			}{
				{0, "long", time.Minute, false},
				{40 * time.Second, "other", 10 * time.Second, false},
				{11 * time.Second, "third", 10 * time.Second, false},
				{9*time.Second - time.Microsecond, "long", time.Minute, true},
				{time.Microsecond, "other", time.Minute, true},
				{0, "other", 10 * time.Second, false},
				{0, "long", time.Minute, false},
			} {
				s.Advance(t, tell.after)
				if got, err := call(t, g, c, tell.receipt, tell.dedup); err != nil || got != tell.want {
					t.Errorf("call %d, receipt %s of %s: duplicate %v, %v; want %v", i+1, tell.receipt, tell.dedup, got, err, tell.want)
				}
			}
		}
		t.Run(name, func(t *testing.T) {
			if name == "admit" {
				suites.Guards.Each(t, func(t *testing.T, s *luatest.Server, g guarded) { play(t, s, g, nil) })
				return
			}
			limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) { play(t, s, guarded{}, c) })
		})
	}
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

// A refund returns cost to every window in which the admission certainly counted.
func TestFixedWindowRefund_ofSeveralLengths(t *testing.T) {
	take := func(limit int64, window time.Duration, n int64) windowParams {
		return windowParams{Subject: "u1", Limit: limit, Window: window, Cost: cost(n)}
	}
	refund := func(w time.Duration, n int64) ratelimit.FixedWindowRefundParams {
		return ratelimit.FixedWindowRefundParams{Subject: "u1", Limit: 10, Window: w, Cost: n}
	}
	type result = ratelimit.FixedWindowRefundResult
	back := func(w time.Duration, n int64, want result, left ttls) step {
		return step{Call: luatest.Call((*ratelimit.Client).FixedWindowRefund, refund(w, n)), Writes: want.Refunded > 0, TTLs: left, Want: want}
	}
	limiters.Run(
		t,
		step{Call: fixedWindow(take(10, time.Minute, 3)), Writes: true, TTLs: window(time.Minute), Want: windowResult{Allowed: true, Remaining: 7, ResetAfter: time.Minute}},
		back(time.Hour, 1, result{Remaining: 7, ResetAfter: time.Hour}, window(time.Minute)),
		step{Call: fixedWindow(take(10, time.Hour, 2)), Writes: true, TTLs: window(time.Hour), Want: windowResult{Allowed: true, Remaining: 5, ResetAfter: time.Hour}},
		step{Name: "a second window of a minute", Advance: time.Minute, Call: fixedWindow(take(10, time.Minute, 4)), Writes: true, Want: windowResult{Allowed: true, Remaining: 6, ResetAfter: time.Minute}},
		back(time.Minute, 1, result{Refunded: 1, Remaining: 7, ResetAfter: time.Minute}, window(59*time.Minute)),
		step{Name: "which the hour's got back, too", Call: fixedWindow(take(10, time.Hour, 0)), Want: windowResult{Allowed: true, Remaining: 2, ResetAfter: 59 * time.Minute}},
		back(time.Hour, 5, result{Refunded: 5, Remaining: 7, ResetAfter: 59 * time.Minute}, window(59*time.Minute)),
		step{Name: "when it began later it may not have counted", Call: fixedWindow(take(10, time.Minute, 0)), Want: windowResult{Allowed: true, Remaining: 7, ResetAfter: time.Minute}},
		back(time.Minute, 9, result{Refunded: 3, Remaining: 10}, ttls{}),
	)
}

// A refund returns what it took, and nothing that a log no longer holds: of 5 in an hour and 2 in a second, the calls of the second
// push those of the hour out of the log.
func TestSharedBucket_aRefundDoesNotFreeWhatWasDropped(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		take := func(subject fcall.Subject, limit int64, window time.Duration, receipt string) bool {
			r, err := c.SlidingLog(t.Context(), logParams{Subject: subject, Limit: limit, Window: window, Receipt: receipt})
			return passed(t, r.Allowed, err)
		}
		refund := func(subject fcall.Subject, receipts ...string) {
			for _, receipt := range receipts {
				if _, err := c.SlidingLogRefund(t.Context(), ratelimit.SlidingLogRefundParams{Subject: subject, Receipt: receipt}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := range 5 {
			s.Advance(t, time.Second)
			if name := fmt.Sprint("h", i); !take("u1", 5, time.Hour, name) || !take("u2", 5, time.Hour, name) {
				t.Fatal("5 in an hour are refused")
			}
		}
		for i := range 20 {
			one, two := fmt.Sprint("a", i), fmt.Sprint("b", i)
			s.Advance(t, time.Second)
			if !take("u1", 2, time.Second, one) || !take("u1", 2, time.Second, two) {
				t.Fatal("2 in a second are refused")
			}
			refund("u1", one, two)
			if take("u1", 5, time.Hour, "") {
				t.Fatalf("after %d refunds the sixth in an hour is admitted", 2*i+2)
			}
		}
		// The oldest that is left stands for the one that was dropped.
		if !take("u2", 2, time.Second, "a") || !take("u2", 2, time.Second, "b") {
			t.Fatal("2 in a second are refused")
		}
		refund("u2", "h1", "h2")
		if take("u2", 5, time.Hour, "") {
			t.Error("of 7 in an hour 2 are refunded, and the sixth is admitted")
		}
	})
}
