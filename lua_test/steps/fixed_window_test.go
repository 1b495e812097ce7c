package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

type (
	windowParams = ratelimit.FixedWindowParams
	windowResult = ratelimit.FixedWindowResult
)

func fixedWindow(p windowParams) func(context.Context, *ratelimit.Client) (any, error) {
	return func(ctx context.Context, c *ratelimit.Client) (any, error) {
		r, err := c.FixedWindow(ctx, p)
		err = took(err, p.Cost, p.AtMost, r.Allowed, &r.Taken, &r.At)
		return r, err
	}
}

func window(d time.Duration) ttls { return ttls{key("u1", "fixed_window:10000000"): d} }

func TestFixedWindow_admitsTheLimitUntilTheWindowEnds(t *testing.T) {
	take := fixedWindow(windowParams{Subject: "u1", Limit: 3, Window: 10 * time.Second})
	limiters.Run(
		t,
		step{Name: "first use", Call: take, Writes: true, TTLs: window(10 * time.Second), Want: windowResult{Allowed: true, Remaining: 2, ResetAfter: 10 * time.Second}},
		step{Advance: 4 * time.Second, Call: take, Writes: true, TTLs: window(6 * time.Second), Want: windowResult{Allowed: true, Remaining: 1, ResetAfter: 6 * time.Second}},
		step{Name: "exactly the limit", Call: take, Writes: true, TTLs: window(6 * time.Second), Want: windowResult{Allowed: true, ResetAfter: 6 * time.Second}},
		step{Name: "one more", Call: take, TTLs: window(6 * time.Second), Want: windowResult{RetryAfter: 6 * time.Second, ResetAfter: 6 * time.Second}},
		step{Name: "one tick sooner", Advance: 6*time.Second - time.Millisecond, Call: take, Want: windowResult{RetryAfter: time.Millisecond, ResetAfter: time.Millisecond}},
		step{Name: "at retry_after another window begins", Advance: time.Millisecond, Call: take, Writes: true, TTLs: window(10 * time.Second), Want: windowResult{Allowed: true, Remaining: 2, ResetAfter: 10 * time.Second}},
		step{Name: "long idle", Advance: 1000 * day, Call: take, Writes: true, TTLs: window(10 * time.Second), Want: windowResult{Allowed: true, Remaining: 2, ResetAfter: 10 * time.Second}},
	)
}

// The header warns that a fixed window does not slide.
func TestFixedWindow_twiceTheLimitPassesAroundTheEnd(t *testing.T) {
	take := fixedWindow(windowParams{Subject: "u1", Limit: 5, Window: 10 * time.Second, Cost: cost(5)})
	one := fixedWindow(windowParams{Subject: "u1", Limit: 5, Window: 10 * time.Second, Cost: cost(1)})
	limiters.Run(
		t,
		step{Call: one, Writes: true, Want: windowResult{Allowed: true, Remaining: 4, ResetAfter: 10 * time.Second}},
		step{Advance: 10*time.Second - time.Millisecond, Call: one, Writes: true, Want: windowResult{Allowed: true, Remaining: 3, ResetAfter: time.Millisecond}},
		step{Advance: time.Millisecond, Call: take, Writes: true, Want: windowResult{Allowed: true, ResetAfter: 10 * time.Second}},
	)
}

func TestFixedWindow_cost(t *testing.T) {
	take := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return fixedWindow(windowParams{Subject: "u1", Limit: 10, Window: 10 * time.Second, Cost: cost(n)})
	}
	limiters.Run(
		t,
		step{Name: "cost 0 on nothing", Call: take(0), Want: windowResult{Allowed: true, Remaining: 10}},
		step{Call: take(7), Writes: true, Want: windowResult{Allowed: true, Remaining: 3, ResetAfter: 10 * time.Second}},
		step{Name: "cost 0 only looks", Advance: time.Second, Call: take(0), Want: windowResult{Allowed: true, Remaining: 3, ResetAfter: 9 * time.Second}},
		step{Name: "more than is left", Call: take(4), Want: windowResult{Remaining: 3, RetryAfter: 9 * time.Second, ResetAfter: 9 * time.Second}},
		step{Name: "a refused call has taken nothing", Call: take(3), Writes: true, Want: windowResult{Allowed: true, ResetAfter: 9 * time.Second}},
		step{Name: "cost 0 passes a full window", Call: take(0), Want: windowResult{Allowed: true, ResetAfter: 9 * time.Second}},
		step{Name: "cost above the limit", Call: take(11), WantErr: fcall.ErrArgument},
		step{Name: "all at once", Advance: 9 * time.Second, Call: take(10), Writes: true, Want: windowResult{Allowed: true, ResetAfter: 10 * time.Second}},
	)
}

func TestFixedWindow_clockBackwardsStandsStillForTheKey(t *testing.T) {
	take := fixedWindow(windowParams{Subject: "u1", Limit: 2, Window: 10 * time.Second})
	limiters.Run(
		t,
		step{Call: take, Writes: true, Want: windowResult{Allowed: true, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Name: "set back by 4 s", Advance: -4 * time.Second, Call: take, Writes: true, TTLs: window(14 * time.Second), Want: windowResult{Allowed: true, ResetAfter: 14 * time.Second}},
		step{Name: "one more", Call: take, Want: windowResult{RetryAfter: 14 * time.Second, ResetAfter: 14 * time.Second}},
		step{Name: "as far back as the window still counts", Advance: -6 * time.Second, Call: take, Want: windowResult{RetryAfter: 20 * time.Second, ResetAfter: 20 * time.Second}},
		step{Advance: 20*time.Second - time.Millisecond, Call: take, Want: windowResult{RetryAfter: time.Millisecond, ResetAfter: time.Millisecond}},
		step{Advance: time.Millisecond, Call: take, Writes: true, Want: windowResult{Allowed: true, Remaining: 1, ResetAfter: 10 * time.Second}},
	)
}

func TestFixedWindow_clockFarAheadIsForgotten(t *testing.T) {
	take := fixedWindow(windowParams{Subject: "u1", Limit: 1, Window: 10 * time.Second})
	first := windowResult{Allowed: true, ResetAfter: 10 * time.Second}
	limiters.Run(
		t,
		step{Name: "begun a year ahead", Advance: 365 * day, Call: take, Writes: true, Want: first},
		step{Name: "further back than the window is long", Advance: -10*time.Second - time.Millisecond, Call: take, Writes: true, TTLs: window(10 * time.Second), Want: first},
		step{Name: "back where it belongs", Advance: -364 * day, Call: take, Writes: true, TTLs: window(10 * time.Second), Want: first},
		step{Name: "and it holds", Call: take, Want: windowResult{RetryAfter: 10 * time.Second, ResetAfter: 10 * time.Second}},
	)
}

func TestFixedWindow_smallestAndLargestArguments(t *testing.T) {
	smallest := fixedWindow(windowParams{Subject: "small", Limit: 1, Window: time.Millisecond})
	largest := fixedWindow(windowParams{Subject: "large", Limit: 1_000_000, Window: 3650 * day, Cost: cost(999_999)})
	one := fixedWindow(windowParams{Subject: "large", Limit: 1_000_000, Window: 3650 * day})
	limiters.Run(
		t,
		step{Call: smallest, Writes: true, TTLs: ttls{key("small", "fixed_window:1000"): time.Millisecond}, Want: windowResult{Allowed: true, ResetAfter: time.Millisecond}},
		step{Call: smallest, Want: windowResult{RetryAfter: time.Millisecond, ResetAfter: time.Millisecond}},
		step{Advance: time.Millisecond, Call: smallest, Writes: true, Want: windowResult{Allowed: true, ResetAfter: time.Millisecond}},
		step{Advance: time.Second, Call: largest, Writes: true, TTLs: ttls{key("large", "fixed_window:315360000000000"): 3650 * day}, Want: windowResult{Allowed: true, Remaining: 1, ResetAfter: 3650 * day}},
		step{Call: one, Writes: true, TTLs: ttls{key("large", "fixed_window:315360000000000"): 3650 * day}, Want: windowResult{Allowed: true, ResetAfter: 3650 * day}},
		step{Call: one, Want: windowResult{RetryAfter: 3650 * day, ResetAfter: 3650 * day}},
		step{Advance: 3650*day - time.Millisecond, Call: one, Want: windowResult{RetryAfter: time.Millisecond, ResetAfter: time.Millisecond}},
		step{Advance: time.Millisecond, Call: one, Writes: true, Want: windowResult{Allowed: true, Remaining: 999_999, ResetAfter: 3650 * day}},
	)
}
