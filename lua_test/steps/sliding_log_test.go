package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

type (
	logParams = ratelimit.SlidingLogParams
	logResult = ratelimit.SlidingLogResult
	ttls      = map[string]time.Duration
)

const day = 24 * time.Hour

func slidingLog(p logParams) func(context.Context, *ratelimit.Client) (any, error) {
	return func(ctx context.Context, c *ratelimit.Client) (any, error) {
		r, err := c.SlidingLog(ctx, p)
		r.At = time.Time{}
		return r, err
	}
}

func TestSlidingLog_admitsTheLimitThenOneAsEachLeaves(t *testing.T) {
	take := slidingLog(logParams{Subject: "u1", Limit: 3, Window: 10 * time.Second})
	log := func(d time.Duration) ttls { return ttls{key("u1", "sliding_log:10000000"): d} }
	limiters.Run(
		t,
		step{Name: "first use", Call: take, Writes: true, TTLs: log(10 * time.Second), Want: logResult{Allowed: true, Count: 1, Remaining: 2, ResetAfter: 10 * time.Second}},
		step{Advance: time.Second, Call: take, Writes: true, TTLs: log(10 * time.Second), Want: logResult{Allowed: true, Count: 2, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Name: "exactly the limit", Advance: time.Second, Call: take, Writes: true, TTLs: log(10 * time.Second), Want: logResult{Allowed: true, Count: 3, ResetAfter: 10 * time.Second}},
		step{Name: "one more", Call: take, TTLs: log(10 * time.Second), Want: logResult{Count: 3, RetryAfter: 8 * time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "one tick sooner", Advance: 8*time.Second - time.Microsecond, Call: take, Want: logResult{Count: 3, RetryAfter: time.Microsecond, ResetAfter: 2*time.Second + time.Microsecond}},
		step{Name: "at retry_after the first has left: the window is half open", Advance: time.Microsecond, Call: take, Writes: true, Want: logResult{Allowed: true, Count: 3, ResetAfter: 10 * time.Second}},
		step{Name: "refused until the second leaves", Call: take, Want: logResult{Count: 3, RetryAfter: time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "long idle", Advance: 1000 * day, Call: take, Writes: true, TTLs: log(10 * time.Second), Want: logResult{Allowed: true, Count: 1, Remaining: 2, ResetAfter: 10 * time.Second}},
	)
}

func TestSlidingLog_smallestAndLargestArguments(t *testing.T) {
	smallest := slidingLog(logParams{Subject: "small", Limit: 1, Window: time.Millisecond})
	largest := slidingLog(logParams{Subject: "large", Limit: 1_000_000, Window: 3650 * day})
	one := slidingLog(logParams{Subject: "large", Limit: 1, Window: 3650 * day})
	limiters.Run(
		t,
		step{Call: smallest, Writes: true, TTLs: ttls{key("small", "sliding_log:1000"): time.Millisecond}, Want: logResult{Allowed: true, Count: 1, ResetAfter: time.Millisecond}},
		step{Call: smallest, Want: logResult{Count: 1, RetryAfter: time.Millisecond, ResetAfter: time.Millisecond}},
		step{Advance: time.Millisecond, Call: smallest, Writes: true, Want: logResult{Allowed: true, Count: 1, ResetAfter: time.Millisecond}},
		step{Advance: time.Second, Call: largest, Writes: true, TTLs: ttls{key("large", "sliding_log:315360000000000"): 3650 * day}, Want: logResult{Allowed: true, Count: 1, Remaining: 999_999, ResetAfter: 3650 * day}},
		step{Call: one, Want: logResult{Count: 1, RetryAfter: 3650 * day, ResetAfter: 3650 * day}},
		step{Advance: 3650*day - time.Microsecond, Call: one, Want: logResult{Count: 1, RetryAfter: time.Microsecond, ResetAfter: time.Microsecond}},
		step{Advance: time.Microsecond, Call: one, Writes: true, Want: logResult{Allowed: true, Count: 1, ResetAfter: 3650 * day}},
	)
}

func TestSlidingLog_clockBackwardsStandsStillForTheKey(t *testing.T) {
	take := slidingLog(logParams{Subject: "u1", Limit: 2, Window: 10 * time.Second})
	limiters.Run(
		t,
		step{Call: take, Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Name: "set back by 4 s: counted as of the newest entry", Advance: -4 * time.Second, Call: take, Writes: true, TTLs: ttls{key("u1", "sliding_log:10000000"): 14 * time.Second}, Want: logResult{Allowed: true, Count: 2, ResetAfter: 14 * time.Second}},
		step{Name: "one more", Call: take, Want: logResult{Count: 2, RetryAfter: 14 * time.Second, ResetAfter: 14 * time.Second}},
		step{Advance: 14*time.Second - time.Microsecond, Call: take, Want: logResult{Count: 2, RetryAfter: time.Microsecond, ResetAfter: time.Microsecond}},
		step{Advance: time.Microsecond, Call: take, Writes: true, TTLs: ttls{key("u1", "sliding_log:10000000"): 10 * time.Second}, Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: 10 * time.Second}},
	)
}

func TestSlidingLog_clockFarAheadIsForgotten(t *testing.T) {
	take := slidingLog(logParams{Subject: "u1", Limit: 1, Window: 10 * time.Second})
	limiters.Run(
		t,
		step{Name: "written a year ahead", Advance: 365 * day, Call: take, Writes: true, Want: logResult{Allowed: true, Count: 1, ResetAfter: 10 * time.Second}},
		step{Name: "as far ahead as the window still counts", Advance: -10 * time.Second, Call: take, Want: logResult{Count: 1, RetryAfter: 20 * time.Second, ResetAfter: 20 * time.Second}},
		step{Name: "further ahead resets it", Advance: -time.Microsecond, Call: take, Writes: true, TTLs: ttls{key("u1", "sliding_log:10000000"): 10 * time.Second}, Want: logResult{Allowed: true, Count: 1, ResetAfter: 10 * time.Second}},
		step{Name: "and holds", Call: take, Want: logResult{Count: 1, RetryAfter: 10 * time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "back where it belongs", Advance: -365 * day, Call: take, Writes: true, TTLs: ttls{key("u1", "sliding_log:10000000"): 10 * time.Second}, Want: logResult{Allowed: true, Count: 1, ResetAfter: 10 * time.Second}},
	)
}

// receipt is a call of limit per 10 s.
func receipt(limit int64, name string) logParams {
	return logParams{Subject: "u1", Limit: limit, Window: 10 * time.Second, Receipt: name}
}

// known are the expiries of the log of u1 and of its receipts.
func known(log time.Duration, receipts ttls) ttls {
	all := ttls{key("u1", "sliding_log:10000000"): log}
	for name, left := range receipts {
		all[key("u1", "receipt:10000000:"+name)] = left
	}
	return all
}

func TestSlidingLog_duplicateIsAllowedAndNotCounted(t *testing.T) {
	limiters.Run(
		t,
		step{Call: slidingLog(receipt(2, "r1")), Writes: true, TTLs: known(10*time.Second, ttls{"r1": 10 * time.Second}), Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Name: "a double click", Call: slidingLog(receipt(2, "r1")), Want: logResult{Allowed: true, Duplicate: true, Count: 1, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Name: "another receipt", Advance: 3 * time.Second, Call: slidingLog(receipt(2, "r2")), Writes: true, TTLs: known(10*time.Second, ttls{"r1": 7 * time.Second, "r2": 10 * time.Second}), Want: logResult{Allowed: true, Count: 2, ResetAfter: 10 * time.Second}},
		step{Name: "a third is refused", Call: slidingLog(receipt(2, "r3")), Want: logResult{Count: 2, RetryAfter: 7 * time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "a refused receipt is not known", Call: slidingLog(receipt(2, "r3")), Want: logResult{Count: 2, RetryAfter: 7 * time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "a duplicate passes in a full window", Call: slidingLog(receipt(2, "r1")), Want: logResult{Allowed: true, Duplicate: true, Count: 2, ResetAfter: 10 * time.Second}},
		step{Name: "and with a lower limit", Call: slidingLog(receipt(1, "r1")), Want: logResult{Allowed: true, Duplicate: true, Count: 2, ResetAfter: 10 * time.Second}},
		step{Name: "no receipt, no duplicate", Call: slidingLog(receipt(2, "")), Want: logResult{Count: 2, RetryAfter: 7 * time.Second, ResetAfter: 10 * time.Second}},
	)
}

func TestSlidingLog_duplicateDoesNotRenew(t *testing.T) {
	limiters.Run(
		t,
		step{Call: slidingLog(receipt(2, "r1")), Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Advance: 6 * time.Second, Call: slidingLog(receipt(2, "r1")), Want: logResult{Allowed: true, Duplicate: true, Count: 1, Remaining: 1, ResetAfter: 4 * time.Second}},
		step{Name: "known until the window ends", Advance: 4*time.Second - time.Microsecond, Call: slidingLog(receipt(2, "r1")), Want: logResult{Allowed: true, Duplicate: true, Count: 1, Remaining: 1, ResetAfter: time.Microsecond}},
		step{Name: "then it counts again", Advance: time.Microsecond, Call: slidingLog(receipt(2, "r1")), Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: 10 * time.Second}},
	)
}

// wrongType puts a set where the library keeps something else.
func wrongType(name string) func(testing.TB, *luatest.Server) {
	return func(t testing.TB, s *luatest.Server) {
		s.Do(t, "DEL", name)
		s.Do(t, "SADD", name, "member")
		s.Expire(t, name, time.Hour)
	}
}

func TestSlidingLog_aCostOf0Looks(t *testing.T) {
	peek := func(limit int64) func(context.Context, *ratelimit.Client) (any, error) {
		return slidingLog(logParams{Subject: "u1", Limit: limit, Window: 10 * time.Second, Cost: cost(0)})
	}
	limiters.Run(
		t,
		step{Name: "first use", Call: peek(2), Want: logResult{Allowed: true, Remaining: 2}},
		step{Call: slidingLog(receipt(2, "")), Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Advance: time.Second, Call: peek(2), Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: 9 * time.Second}},
		step{Call: slidingLog(receipt(2, "")), Writes: true, Want: logResult{Allowed: true, Count: 2, ResetAfter: 10 * time.Second}},
		step{Name: "full", Call: peek(2), Want: logResult{Allowed: true, Count: 2, ResetAfter: 10 * time.Second}},
		step{Name: "a lower limit", Call: peek(1), Want: logResult{Count: 2, RetryAfter: 9 * time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "a higher limit", Call: peek(1_000_000), Want: logResult{Allowed: true, Count: 2, Remaining: 999_998, ResetAfter: 10 * time.Second}},
		step{Name: "one tick sooner", Advance: 9*time.Second - time.Microsecond, Call: peek(2), Want: logResult{Allowed: true, Count: 2, ResetAfter: time.Second + time.Microsecond}},
		step{Name: "at retry_after", Advance: time.Microsecond, Call: peek(2), Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: time.Second}},
		step{Name: "clock backwards", Advance: -5 * time.Second, Call: peek(2), Want: logResult{Allowed: true, Count: 2, ResetAfter: 6 * time.Second}},
		step{Name: "clock set back to before the entries: as of the newest", Advance: -9 * time.Second, Call: peek(2), Want: logResult{Allowed: true, Count: 2, ResetAfter: 15 * time.Second}},
		step{Name: "clock further back than the window: nothing is left as it was written", Advance: -10 * time.Second, Call: peek(2), Want: logResult{Allowed: true, Remaining: 2}},
	)
}

// After a long idle time no call has to clean up all of it.
func TestSlidingLog_cleanUpIsBounded(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		name := key("u1", "sliding_log:3600000000")
		push := func(n int, from time.Duration) {
			all := []any{"RPUSH", name}
			for i := range n {
				all = append(all, s.Now().Add(from).UnixMicro()+int64(i))
			}
			s.Do(t, all...)
		}
		left := func(want int64, count int64) {
			t.Helper()
			r, err := c.SlidingLog(t.Context(), logParams{Subject: "u1", Limit: 1_000_000, Window: time.Hour})
			if n := s.Redis.LLen(t.Context(), name).Val(); err != nil || r.Count != count || n != want {
				t.Errorf("%+v, %v, %d entries: want a count of %d and %d entries", r, err, n, count, want)
			}
		}
		push(250, -2*time.Hour)
		push(3, -time.Minute)
		left(154, 4) // a hundred a call
		left(55, 5)
		left(6, 6)
		left(7, 7)
		s.Do(t, "DEL", name)
		push(25_000, -2*time.Hour)
		left(1, 1)
	})
}
