package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// wholeMS is the clock's millisecond at a time after the start.
func wholeMS(after time.Duration) time.Time {
	return time.UnixMilli(luatest.Start.UnixMilli()).Add(after)
}

func TestGCRAAtMost_takesWhatIsThere(t *testing.T) {
	type result = ratelimit.GCRAAtMostResult
	most := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return luatest.Call((*ratelimit.Client).GCRAAtMost, ratelimit.GCRAAtMostParams{Subject: "u1", Limit: 10, Period: 10 * time.Second, Most: n})
	}
	bucket := func(d time.Duration) ttls { return ttls{key("u1", "gcra"): d} }
	limiters.Run(
		t,
		step{Name: "all that it asks for", Call: most(3), Writes: true, TTLs: bucket(3 * time.Second), Want: result{Allowed: true, Taken: 3, Remaining: 7, ResetAfter: 3 * time.Second, Expires: wholeMS(3 * time.Second)}},
		step{Name: "what is left", Call: most(20), Writes: true, TTLs: bucket(10 * time.Second), Want: result{Allowed: true, Taken: 7, ResetAfter: 10 * time.Second, Expires: wholeMS(10 * time.Second)}},
		step{Name: "nothing", Call: most(20), Want: result{RetryAfter: time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "the same bucket as gcra", Call: gcra(gcraParams{Subject: "u1", Limit: 10, Period: 10 * time.Second}), Want: gcraResult{RetryAfter: time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "what has been gained", Advance: 2 * time.Second, Call: most(1_000_000), Writes: true, Want: result{Allowed: true, Taken: 2, ResetAfter: 10 * time.Second, Expires: wholeMS(12 * time.Second)}},
		step{Name: "one by one", Advance: time.Second, Call: most(1), Writes: true, Want: result{Allowed: true, Taken: 1, ResetAfter: 10 * time.Second, Expires: wholeMS(13 * time.Second)}},
	)
}

func TestFixedWindowAtMost_chargesWhatIsLeft(t *testing.T) {
	type result = ratelimit.FixedWindowAtMostResult
	most := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return luatest.Call((*ratelimit.Client).FixedWindowAtMost, ratelimit.FixedWindowAtMostParams{Subject: "u1", Limit: 10, Window: 10 * time.Second, Most: n})
	}
	limiters.Run(
		t,
		step{Call: most(4), Writes: true, TTLs: ttls{key("u1", "window"): 10 * time.Second}, Want: result{Allowed: true, Taken: 4, Remaining: 6, ResetAfter: 10 * time.Second, Expires: wholeMS(10 * time.Second)}},
		step{Name: "what is left", Advance: time.Second, Call: most(50), Writes: true, Want: result{Allowed: true, Taken: 6, ResetAfter: 9 * time.Second, Expires: wholeMS(10 * time.Second)}},
		step{Name: "nothing", Call: most(1), Want: result{RetryAfter: 9 * time.Second, ResetAfter: 9 * time.Second}},
		step{Name: "the next window", Advance: 9 * time.Second, Call: most(50), Writes: true, Want: result{Allowed: true, Taken: 10, ResetAfter: 10 * time.Second, Expires: wholeMS(20 * time.Second)}},
	)
}

// A refund returns tokens until they have been gained again. From then on others may have taken them.
func TestRefund_ofABatchExpires(t *testing.T) {
	take := luatest.Call((*ratelimit.Client).GCRAAtMost, ratelimit.GCRAAtMostParams{Subject: "u1", Limit: 10, Period: 10 * time.Second, Most: 4})
	back := luatest.Call((*ratelimit.Client).GCRARefund, ratelimit.GCRARefundParams{Subject: "u1", Limit: 10, Period: 10 * time.Second, Cost: 3, Expires: wholeMS(4 * time.Second)})
	charge := luatest.Call((*ratelimit.Client).FixedWindowAtMost, ratelimit.FixedWindowAtMostParams{Subject: "u2", Limit: 10, Window: 4 * time.Second, Most: 4})
	uncharge := luatest.Call((*ratelimit.Client).FixedWindowRefund, ratelimit.FixedWindowRefundParams{Subject: "u2", Limit: 10, Window: 4 * time.Second, Cost: 3, Expires: wholeMS(4 * time.Second)})
	limiters.Run(
		t,
		step{Call: take, Writes: true, Want: ratelimit.GCRAAtMostResult{Allowed: true, Taken: 4, Remaining: 6, ResetAfter: 4 * time.Second, Expires: wholeMS(4 * time.Second)}},
		step{Call: charge, Writes: true, Want: ratelimit.FixedWindowAtMostResult{Allowed: true, Taken: 4, Remaining: 6, ResetAfter: 4 * time.Second, Expires: wholeMS(4 * time.Second)}},
		step{Advance: time.Second, Call: back, Writes: true, Want: ratelimit.GCRARefundResult{Refunded: true, Remaining: 10}},
		step{Call: uncharge, Writes: true, Want: ratelimit.FixedWindowRefundResult{Refunded: 3, Remaining: 9, ResetAfter: 3 * time.Second}},
		step{Name: "gained, and taken by another", Advance: 3 * time.Second, Call: take, Writes: true, Want: ratelimit.GCRAAtMostResult{Allowed: true, Taken: 4, Remaining: 6, ResetAfter: 4 * time.Second, Expires: wholeMS(8 * time.Second)}},
		step{Call: back, Want: ratelimit.GCRARefundResult{Remaining: 6, ResetAfter: 4 * time.Second}},
		step{Call: charge, Writes: true, Want: ratelimit.FixedWindowAtMostResult{Allowed: true, Taken: 4, Remaining: 6, ResetAfter: 4 * time.Second, Expires: wholeMS(8 * time.Second)}},
		step{Call: uncharge, Want: ratelimit.FixedWindowRefundResult{Remaining: 6, ResetAfter: 4 * time.Second}},
	)
}
