package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type takeResult = guard.TakeResult

func takeOf(most int64, l ...admitLimit) func(context.Context, guarded) (any, error) {
	return func(ctx context.Context, g guarded) (any, error) {
		limits, err := guard.PackLimit(l...)
		if err != nil {
			return nil, err
		}
		return g.Guard.Take(ctx, guard.TakeParams{Subject: "u1", Limits: limits, Most: most})
	}
}

// A batch counts with the calls of admit, and its refund expires.
func TestTake_sharesTheLimitOfAdmit(t *testing.T) {
	ten := admitLimit{Name: "all", Kind: guard.LimitKindFixedWindow, Limit: 10, Window: 10 * time.Second}
	one := admit(admitParams{Limits: []admitLimit{ten}})
	back := func(n int64, expires time.Duration) func(context.Context, guarded) (any, error) {
		return refund(suites.RefundParams{Limits: []admitLimit{ten}, Left: []time.Duration{time.Microsecond}, Weight: n, Expires: wholeMS(expires)})
	}
	key := ttls{guardKey("fixed_window:all"): 10 * time.Second}
	suites.Guards.Run(
		t,
		guardStep{Name: "all that it asks for", Call: takeOf(4, ten), Writes: true, TTLs: key, Want: takeResult{Allowed: true, Taken: 4, Remaining: 6, ResetAfter: 10 * time.Second, Expires: wholeMS(10 * time.Second)}},
		guardStep{Call: one, Writes: true, Want: passesUntimed(admitRow{Allowed: true, Remaining: 5, ResetAfter: 10 * time.Second})},
		guardStep{Name: "what is left", Advance: time.Second, Call: takeOf(1_000_000, ten), Writes: true, Want: takeResult{Allowed: true, Taken: 5, ResetAfter: 9 * time.Second, Expires: wholeMS(10 * time.Second)}},
		guardStep{Name: "nothing", Call: takeOf(1, ten), Want: takeResult{RetryAfter: 9 * time.Second, ResetAfter: 9 * time.Second}},
		guardStep{Name: "a refund", Call: back(3, 10*time.Second), Writes: true, Want: given},
		guardStep{Name: "is there again", Call: takeOf(5, ten), Writes: true, Want: takeResult{Allowed: true, Taken: 3, ResetAfter: 9 * time.Second, Expires: wholeMS(10 * time.Second)}},
		guardStep{Name: "one more", Call: one, Want: stops(9*time.Second, admitRow{ResetAfter: 9 * time.Second, RetryAfter: 9 * time.Second})},
		guardStep{Name: "the next window", Advance: 9 * time.Second, Call: takeOf(8, ten), Writes: true, TTLs: key, Want: takeResult{Allowed: true, Taken: 8, Remaining: 2, ResetAfter: 10 * time.Second, Expires: wholeMS(20 * time.Second)}},
		guardStep{Name: "a refund of the window before", Call: back(3, 10*time.Second), Want: notGiven},
		guardStep{Name: "left as it was", Call: takeOf(8, ten), Writes: true, Want: takeResult{Allowed: true, Taken: 2, ResetAfter: 10 * time.Second, Expires: wholeMS(20 * time.Second)}},
	)
}

func TestTake_rejectsLimits(t *testing.T) {
	log, two := perLog("all", 5, time.Second), admitLimit{Name: "all", Kind: guard.LimitKindGCRA, Limit: 5, Window: time.Second, Cost: cost(2)}
	suites.Guards.Run(
		t,
		guardStep{Name: "a log", Call: takeOf(3, log), WantErr: fcall.ErrArgument},
		guardStep{Name: "a cost", Call: takeOf(3, two), WantErr: fcall.ErrArgument},
	)
}
