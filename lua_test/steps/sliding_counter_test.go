package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

type (
	counterParams = ratelimit.SlidingCounterParams
	counterResult = ratelimit.SlidingCounterResult
)

func slidingCounter(p counterParams) func(context.Context, *ratelimit.Client) (any, error) {
	return func(ctx context.Context, c *ratelimit.Client) (any, error) {
		r, err := c.SlidingCounter(ctx, p)
		err = took(err, p.Cost, p.AtMost, r.Allowed, &r.Taken, &r.At)
		return r, err
	}
}

// count takes n of 10 in 10 s.
func count(n int64) func(context.Context, *ratelimit.Client) (any, error) {
	return slidingCounter(counterParams{Subject: "u1", Limit: 10, Window: 10 * time.Second, Cost: cost(n)})
}

func counter(d time.Duration) ttls { return ttls{key("u1", "sliding_counter:10000000"): d} }

func TestSlidingCounter_theWindowBeforeWeighsWhatStillLiesInTheLast(t *testing.T) {
	limiters.Run(
		t,
		step{Name: "first use", Call: count(1), Writes: true, TTLs: counter(20 * time.Second), Want: counterResult{Allowed: true, Remaining: 9, ResetAfter: 20 * time.Second}},
		step{Name: "exactly the limit", Advance: 4 * time.Second, Call: count(9), Writes: true, TTLs: counter(16 * time.Second), Want: counterResult{Allowed: true, ResetAfter: 16 * time.Second}},
		step{Name: "one more waits for the next window, and for a tenth of this one to leave", Call: count(1), TTLs: counter(16 * time.Second), Want: counterResult{RetryAfter: 7 * time.Second, ResetAfter: 16 * time.Second}},
		step{Name: "the next window begins full", Advance: 6 * time.Second, Call: count(1), TTLs: counter(10 * time.Second), Want: counterResult{RetryAfter: time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "one tick sooner", Advance: time.Second - time.Millisecond, Call: count(1), Want: counterResult{RetryAfter: time.Millisecond, ResetAfter: 9*time.Second + time.Millisecond}},
		step{Name: "at retry_after", Advance: time.Millisecond, Call: count(1), Writes: true, TTLs: counter(19 * time.Second), Want: counterResult{Allowed: true, ResetAfter: 19 * time.Second}},
		step{Name: "half of the window before has left", Advance: 4 * time.Second, Call: count(5), Want: counterResult{Remaining: 4, RetryAfter: time.Second, ResetAfter: 15 * time.Second}},
		step{Name: "what fits", Call: count(4), Writes: true, TTLs: counter(15 * time.Second), Want: counterResult{Allowed: true, ResetAfter: 15 * time.Second}},
		step{Name: "all of it has left, and half of this one", Advance: 10 * time.Second, Call: count(7), Writes: true, TTLs: counter(15 * time.Second), Want: counterResult{Allowed: true, ResetAfter: 15 * time.Second}},
		step{Name: "long idle", Advance: 1000 * day, Call: count(1), Writes: true, TTLs: counter(20 * time.Second), Want: counterResult{Allowed: true, Remaining: 9, ResetAfter: 20 * time.Second}},
	)
}

func TestSlidingCounter_cost(t *testing.T) {
	limiters.Run(
		t,
		step{Name: "cost 0 on nothing", Call: count(0), Want: counterResult{Allowed: true, Remaining: 10}},
		step{Call: count(7), Writes: true, Want: counterResult{Allowed: true, Remaining: 3, ResetAfter: 20 * time.Second}},
		step{Name: "cost 0 only looks", Advance: time.Second, Call: count(0), Want: counterResult{Allowed: true, Remaining: 3, ResetAfter: 19 * time.Second}},
		step{Name: "more than is left: 7 must weigh 6", Call: count(4), Want: counterResult{Remaining: 3, RetryAfter: 9*time.Second + 1429*time.Millisecond, ResetAfter: 19 * time.Second}},
		step{Name: "a refused call has taken nothing", Call: count(3), Writes: true, Want: counterResult{Allowed: true, ResetAfter: 19 * time.Second}},
		step{Name: "cost 0 passes when it is full", Call: count(0), Want: counterResult{Allowed: true, ResetAfter: 19 * time.Second}},
		step{Name: "all at once waits until all has left", Call: count(10), Want: counterResult{RetryAfter: 19 * time.Second, ResetAfter: 19 * time.Second}},
		step{Name: "cost above the limit", Call: count(11), WantErr: fcall.ErrArgument},
		step{Name: "cost 0 in the next window only looks", Advance: 10 * time.Second, Call: count(0), TTLs: counter(9 * time.Second), Want: counterResult{Allowed: true, Remaining: 1, ResetAfter: 9 * time.Second}},
		step{Advance: 9*time.Second - time.Millisecond, Call: count(10), Want: counterResult{Remaining: 9, RetryAfter: time.Millisecond, ResetAfter: time.Millisecond}},
		step{Advance: time.Millisecond, Call: count(10), Writes: true, TTLs: counter(20 * time.Second), Want: counterResult{Allowed: true, ResetAfter: 20 * time.Second}},
	)
}

func TestSlidingCounter_clockBackwardsStandsStillForTheKey(t *testing.T) {
	limiters.Run(
		t,
		step{Call: count(8), Writes: true, Want: counterResult{Allowed: true, Remaining: 2, ResetAfter: 20 * time.Second}},
		step{Name: "set back by 4 s", Advance: -4 * time.Second, Call: count(2), Writes: true, TTLs: counter(24 * time.Second), Want: counterResult{Allowed: true, ResetAfter: 24 * time.Second}},
		step{Name: "one more", Call: count(1), Want: counterResult{RetryAfter: 15 * time.Second, ResetAfter: 24 * time.Second}},
		step{Advance: 15*time.Second - time.Millisecond, Call: count(1), Want: counterResult{RetryAfter: time.Millisecond, ResetAfter: 9*time.Second + time.Millisecond}},
		step{Advance: time.Millisecond, Call: count(1), Writes: true, TTLs: counter(19 * time.Second), Want: counterResult{Allowed: true, ResetAfter: 19 * time.Second}},
		step{Name: "set back into the window before: 10 weigh in full", Advance: -4 * time.Second, Call: count(1), Want: counterResult{RetryAfter: 5 * time.Second, ResetAfter: 23 * time.Second}},
		step{Name: "as far as a window ahead", Advance: -7 * time.Second, Call: count(1), Want: counterResult{RetryAfter: 12 * time.Second, ResetAfter: 30 * time.Second}},
		step{Name: "further", Advance: -time.Millisecond, Call: count(10), Writes: true, TTLs: counter(20 * time.Second), Want: counterResult{Allowed: true, ResetAfter: 20 * time.Second}},
	)
}

func TestSlidingCounter_clockFarAheadIsForgotten(t *testing.T) {
	full := counterResult{Allowed: true, ResetAfter: 20 * time.Second}
	limiters.Run(
		t,
		step{Name: "written a year ahead", Advance: 365 * day, Call: count(10), Writes: true, Want: full},
		step{Name: "as far ahead as a window still counts", Advance: -10 * time.Second, Call: count(1), Want: counterResult{RetryAfter: 21 * time.Second, ResetAfter: 30 * time.Second}},
		step{Name: "back where it belongs", Advance: -365 * day, Call: count(10), Writes: true, TTLs: counter(20 * time.Second), Want: full},
		step{Name: "and it holds", Call: count(1), Want: counterResult{RetryAfter: 11 * time.Second, ResetAfter: 20 * time.Second}},
	)
}

func TestSlidingCounter_smallestAndLargestArguments(t *testing.T) {
	smallest := slidingCounter(counterParams{Subject: "small", Limit: 1, Window: time.Millisecond})
	large := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return slidingCounter(counterParams{Subject: "u1", Limit: 1_000_000, Window: 90 * day, Cost: cost(n)})
	}
	// 999,999 of 1,000,000 in 7,776,000,000 ms must weigh 999,998: 7777 ms have to leave, to the millisecond.
	limiters.Run(
		t,
		step{Call: smallest, Writes: true, TTLs: ttls{key("small", "sliding_counter:1000"): 2 * time.Millisecond}, Want: counterResult{Allowed: true, ResetAfter: 2 * time.Millisecond}},
		step{Call: smallest, Want: counterResult{RetryAfter: 2 * time.Millisecond, ResetAfter: 2 * time.Millisecond}},
		step{Advance: time.Millisecond, Call: smallest, Want: counterResult{RetryAfter: time.Millisecond, ResetAfter: time.Millisecond}},
		step{Advance: time.Millisecond, Call: smallest, Writes: true, Want: counterResult{Allowed: true, ResetAfter: 2 * time.Millisecond}},
		step{Advance: time.Second, Call: large(999_999), Writes: true, TTLs: ttls{key("u1", "sliding_counter:7776000000000"): 180 * day}, Want: counterResult{Allowed: true, Remaining: 1, ResetAfter: 180 * day}},
		step{Call: large(2), Want: counterResult{Remaining: 1, RetryAfter: 90*day + 7777*time.Millisecond, ResetAfter: 180 * day}},
		step{Advance: 90*day + 7776*time.Millisecond, Call: large(2), Want: counterResult{Remaining: 1, RetryAfter: time.Millisecond, ResetAfter: 90*day - 7776*time.Millisecond}},
		step{Advance: time.Millisecond, Call: large(2), Writes: true, Want: counterResult{Allowed: true, ResetAfter: 180*day - 7777*time.Millisecond}},
	)
}

// 128 W - 1 of the previous window, W ms long, weigh 128 W - 129 + 1/W a millisecond into this one: a product rounded to 53 bits loses 1/W.
func TestSlidingCounter_largeCountsAreWeighedExactly(t *testing.T) {
	large := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return slidingCounter(counterParams{Subject: "u1", Limit: 1_000_000_000_000, Window: 90 * day, Cost: cost(n)})
	}
	const taken = 128*90*24*3600*1000 - 1
	limiters.Run(
		t,
		step{Call: large(taken), Writes: true, Want: counterResult{Allowed: true, Remaining: 1_000_000_000_000 - taken, ResetAfter: 180 * day}},
		step{Advance: 90*day + time.Millisecond, Call: large(0), Want: counterResult{Allowed: true, Remaining: 1_000_000_000_000 - (taken - 127), ResetAfter: 90*day - time.Millisecond}},
		step{Name: "one tick sooner", Call: large(1_000_000_000_000 - taken + 128), Want: counterResult{Remaining: 1_000_000_000_000 - (taken - 127), RetryAfter: time.Millisecond, ResetAfter: 90*day - time.Millisecond}},
		step{Advance: time.Millisecond, Call: large(1_000_000_000_000 - taken + 128), Writes: true, Want: counterResult{Allowed: true, Remaining: 127, ResetAfter: 180*day - 2*time.Millisecond}},
	)
}
