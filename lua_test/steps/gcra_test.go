package steps_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

type (
	gcraParams = ratelimit.GCRAParams
	gcraResult = ratelimit.GCRAResult
)

func gcra(p gcraParams) func(context.Context, *ratelimit.Client) (any, error) {
	return func(ctx context.Context, c *ratelimit.Client) (any, error) {
		r, err := c.GCRA(ctx, p)
		err = took(err, p.Cost, p.AtMost, r.Allowed, &r.Taken, &r.At)
		return r, err
	}
}

func cost(n int64) *int64 { return &n }

// bucket is the expiry of the bucket of u1, 10 s long.
func bucket(d time.Duration) ttls { return bucketOf(10*time.Second, d) }

func bucketOf(period, d time.Duration) ttls {
	return ttls{key("u1", fmt.Sprint("gcra:", period.Microseconds())): d}
}

// took checks what a call without at_most took, and clears that and when it was decided: those tables need neither.
func took(err error, cost *int64, atMost, allowed bool, taken *int64, at *time.Time) error {
	want := int64(0)
	if allowed {
		want = 1
		if cost != nil {
			want = *cost
		}
	}
	if err == nil && !atMost && *taken != want {
		return fmt.Errorf("took %d, want %d", *taken, want)
	}
	if !atMost {
		*taken, *at = 0, time.Time{}
	}
	return err
}

func TestGCRA_admitsTheBurstThenOneAnInterval(t *testing.T) {
	take := gcra(gcraParams{Subject: "u1", Limit: 3, Period: 6 * time.Second})
	limiters.Run(
		t,
		step{Name: "first use", Call: take, Writes: true, TTLs: bucketOf(6*time.Second, 2*time.Second), Want: gcraResult{Allowed: true, Remaining: 2, ResetAfter: 2 * time.Second}},
		step{Call: take, Writes: true, TTLs: bucketOf(6*time.Second, 4*time.Second), Want: gcraResult{Allowed: true, Remaining: 1, ResetAfter: 4 * time.Second}},
		step{Name: "exactly the limit", Call: take, Writes: true, TTLs: bucketOf(6*time.Second, 6*time.Second), Want: gcraResult{Allowed: true, ResetAfter: 6 * time.Second}},
		step{Name: "one more", Call: take, Want: gcraResult{RetryAfter: 2 * time.Second, ResetAfter: 6 * time.Second}},
		step{Name: "one tick sooner", Advance: 2*time.Second - time.Millisecond, Call: take, Want: gcraResult{RetryAfter: time.Millisecond, ResetAfter: 4*time.Second + time.Millisecond}},
		step{Name: "at retry_after", Advance: time.Millisecond, Call: take, Writes: true, TTLs: bucketOf(6*time.Second, 6*time.Second), Want: gcraResult{Allowed: true, ResetAfter: 6 * time.Second}},
		step{Name: "half a bucket later", Advance: 3 * time.Second, Call: take, Writes: true, TTLs: bucketOf(6*time.Second, 5*time.Second), Want: gcraResult{Allowed: true, ResetAfter: 5 * time.Second}},
		step{Name: "long idle", Advance: 1000 * day, Call: take, Writes: true, TTLs: bucketOf(6*time.Second, 2*time.Second), Want: gcraResult{Allowed: true, Remaining: 2, ResetAfter: 2 * time.Second}},
	)
}

func TestGCRA_costsAreTakenWholeOrNotAtAll(t *testing.T) {
	take := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return gcra(gcraParams{Subject: "u1", Limit: 10, Period: 10 * time.Second, Cost: cost(n)})
	}
	limiters.Run(
		t,
		step{Name: "cost 0 only looks", Call: take(0), Want: gcraResult{Allowed: true, Remaining: 10}},
		step{Call: take(7), Writes: true, TTLs: bucket(7 * time.Second), Want: gcraResult{Allowed: true, Remaining: 3, ResetAfter: 7 * time.Second}},
		step{Name: "cost 0", Call: take(0), Want: gcraResult{Allowed: true, Remaining: 3, ResetAfter: 7 * time.Second}},
		step{Name: "more than is left", Call: take(4), Want: gcraResult{Remaining: 3, RetryAfter: time.Second, ResetAfter: 7 * time.Second}},
		step{Name: "a refused call has taken nothing", Call: take(3), Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 10 * time.Second}},
		step{Name: "cost 0 passes an empty bucket", Call: take(0), Want: gcraResult{Allowed: true, ResetAfter: 10 * time.Second}},
		step{Name: "all at once", Call: take(10), Want: gcraResult{RetryAfter: 10 * time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "cost above the burst", Call: take(11), WantErr: fcall.ErrArgument},
		step{Name: "half a token is none", Advance: 1500 * time.Millisecond, Call: take(2), Want: gcraResult{Remaining: 1, RetryAfter: 500 * time.Millisecond, ResetAfter: 8500 * time.Millisecond}},
		step{Name: "full again", Advance: 8500 * time.Millisecond, Call: take(10), Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 10 * time.Second}},
	)
}

func TestGCRA_clockBackwardsRefusesForAsMuchLonger(t *testing.T) {
	take := gcra(gcraParams{Subject: "u1", Limit: 10, Period: 10 * time.Second, Cost: cost(7)})
	// A token is 999 us, and the tick a millisecond.
	odd := gcra(gcraParams{Subject: "u2", Limit: 10, Period: 9990 * time.Microsecond, Cost: cost(7)})
	limiters.Run(
		t,
		step{Call: take, Writes: true, Want: gcraResult{Allowed: true, Remaining: 3, ResetAfter: 7 * time.Second}},
		step{Advance: -2 * time.Second, Call: take, Want: gcraResult{Remaining: 1, RetryAfter: 6 * time.Second, ResetAfter: 9 * time.Second}},
		step{Advance: 6 * time.Second, Call: take, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 10 * time.Second}},
		step{Call: odd, Writes: true, Want: gcraResult{Allowed: true, Remaining: 3, ResetAfter: 7 * time.Millisecond}},
		step{Advance: -2 * time.Millisecond, Call: odd, Want: gcraResult{Remaining: 0, RetryAfter: 6 * time.Millisecond, ResetAfter: 9 * time.Millisecond}},
		step{Advance: 6 * time.Millisecond, Call: odd, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 10 * time.Millisecond}},
	)
}

func TestGCRA_clockFarAheadIsForgotten(t *testing.T) {
	for name, period := range map[string]time.Duration{"milliseconds": 10 * time.Second, "microseconds": 10*time.Second + 10*time.Microsecond} {
		t.Run(name, func(t *testing.T) {
			take := gcra(gcraParams{Subject: "u1", Limit: 10, Period: period, Cost: cost(10)})
			up := (period + 999*time.Microsecond).Truncate(time.Millisecond)
			full := gcraResult{Allowed: true, ResetAfter: up}
			limiters.Run(
				t,
				step{Name: "emptied a year ahead", Advance: 365 * day, Call: take, Writes: true, Want: full},
				step{Name: "no bucket takes that long to fill", Advance: -365 * day, Call: take, Writes: true, TTLs: bucketOf(period, up), Want: full},
				step{Name: "and it holds", Call: take, Want: gcraResult{RetryAfter: up, ResetAfter: up}},
			)
		})
	}
}

func TestGCRA_smallestAndLargestArguments(t *testing.T) {
	smallest := gcra(gcraParams{Subject: "a", Limit: 1, Period: time.Millisecond})
	fastest := gcra(gcraParams{Subject: "b", Limit: 1_000_000, Period: time.Millisecond, Cost: cost(1_000_000)})
	half := gcra(gcraParams{Subject: "b", Limit: 1_000_000, Period: time.Millisecond, Cost: cost(1)})
	century := gcraParams{Subject: "u1", Limit: 1, Period: 3650 * day, Burst: 10, Cost: cost(10)}
	tooLong := century
	tooLong.Burst = 11
	most := gcra(gcraParams{Subject: "c", Limit: 1_000_000, Period: 3650 * day, Burst: 1_000_000, Cost: cost(1_000_000)})
	limiters.Run(
		t,
		step{Call: smallest, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: time.Millisecond}, TTLs: ttls{key("a", "gcra:1000"): time.Millisecond}},
		step{Call: smallest, Want: gcraResult{RetryAfter: time.Millisecond, ResetAfter: time.Millisecond}},
		step{Advance: time.Millisecond, Call: smallest, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: time.Millisecond}},
		step{Advance: time.Second, Call: fastest, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: time.Millisecond}, TTLs: ttls{key("b", "gcra:1000"): time.Millisecond}},
		step{Name: "a nanosecond", Call: half, Want: gcraResult{RetryAfter: time.Millisecond, ResetAfter: time.Millisecond}},
		step{Advance: time.Millisecond, Call: half, Writes: true, Want: gcraResult{Allowed: true, Remaining: 999_999, ResetAfter: time.Millisecond}},
		step{Advance: time.Second, Call: gcra(century), Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 36_500 * day}, TTLs: bucketOf(3650*day, 36_500*day)},
		step{Call: gcra(century), Want: gcraResult{RetryAfter: 36_500 * day, ResetAfter: 36_500 * day}},
		step{Name: "longer than 100 years to fill", Call: gcra(tooLong), WantErr: fcall.ErrArgument},
		step{Call: most, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 3650 * day}},
		step{Call: most, Want: gcraResult{RetryAfter: 3650 * day, ResetAfter: 3650 * day}},
	)
}

// A number where a duration is meant is nanoseconds in Go: it must not become a limit that limits nothing.
func TestLimits_durationsBelowAMillisecondAreErrors(t *testing.T) {
	limiters.Each(t, func(t *testing.T, _ *luatest.Server, c *ratelimit.Client) {
		for what, call := range map[string]func() error{
			"gcra": func() error {
				_, err := c.GCRA(t.Context(), gcraParams{Subject: "u", Limit: 9, Period: 60})
				return err
			},
			"fixed_window": func() error {
				_, err := c.FixedWindow(t.Context(), windowParams{Subject: "u", Limit: 9, Window: 60})
				return err
			},
			"sliding_counter": func() error {
				_, err := c.SlidingCounter(t.Context(), counterParams{Subject: "u", Limit: 9, Window: 60})
				return err
			},
			"sliding_log": func() error {
				_, err := c.SlidingLog(t.Context(), logParams{Subject: "u", Limit: 9, Window: 60})
				return err
			},
		} {
			if err := call(); !errors.Is(err, fcall.ErrArgument) || !strings.Contains(err.Error(), "1ms") {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}
