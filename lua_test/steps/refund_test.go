package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

func TestFixedWindowRefund_givesBackToTheWindowThatIsGoingOn(t *testing.T) {
	type result = ratelimit.FixedWindowRefundResult
	take := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return fixedWindow(windowParams{Subject: "u1", Limit: 10, Window: 10 * time.Second, Cost: cost(n)})
	}
	refund := func(limit, n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return luatest.Call((*ratelimit.Client).FixedWindowRefund, ratelimit.FixedWindowRefundParams{Subject: "u1", Limit: limit, Window: 10 * time.Second, Cost: n})
	}
	limiters.Run(
		t,
		step{Name: "nothing there", Call: refund(10, 3), Want: result{Remaining: 10}},
		step{Call: take(10), Writes: true, Want: windowResult{Allowed: true, ResetAfter: 10 * time.Second}},
		step{Advance: time.Second, Call: refund(10, 3), Writes: true, TTLs: window(9 * time.Second), Want: result{Refunded: 3, Remaining: 3, ResetAfter: 9 * time.Second}},
		step{Name: "a limit that was lowered", Call: refund(5, 1), Writes: true, TTLs: window(9 * time.Second), Want: result{Refunded: 1, ResetAfter: 9 * time.Second}},
		step{Name: "which can be taken again", Call: take(4), Writes: true, TTLs: window(9 * time.Second), Want: windowResult{Allowed: true, ResetAfter: 9 * time.Second}},
		step{Name: "never more than was taken: no window is left", Call: refund(10, 1_000_000), Writes: true, TTLs: ttls{}, Want: result{Refunded: 10, Remaining: 10}},
		step{Call: take(10), Writes: true, TTLs: window(10 * time.Second), Want: windowResult{Allowed: true, ResetAfter: 10 * time.Second}},
		step{Name: "exactly what was taken", Call: refund(10, 10), Writes: true, TTLs: ttls{}, Want: result{Refunded: 10, Remaining: 10}},
		step{Call: take(1), Writes: true, Want: windowResult{Allowed: true, Remaining: 9, ResetAfter: 10 * time.Second}},
		step{Name: "the window has ended", Advance: 10 * time.Second, Call: refund(10, 1), Want: result{Remaining: 10}},
	)
}

func TestSlidingCounterRefund_givesBackToThisWindowFirst(t *testing.T) {
	type result = ratelimit.SlidingCounterRefundResult
	refund := func(limit, n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return luatest.Call((*ratelimit.Client).SlidingCounterRefund, ratelimit.SlidingCounterRefundParams{Subject: "u1", Limit: limit, Window: 10 * time.Second, Cost: n})
	}
	limiters.Run(
		t,
		step{Name: "nothing there", Call: refund(10, 3), Want: result{Remaining: 10}},
		step{Call: count(8), Writes: true, Want: counterResult{Allowed: true, Remaining: 2, ResetAfter: 20 * time.Second}},
		step{Call: refund(10, 2), Writes: true, TTLs: counter(20 * time.Second), Want: result{Refunded: 2, Remaining: 4, ResetAfter: 20 * time.Second}},
		step{Name: "in the next window: 5 of 6 weigh 2.5", Advance: 15 * time.Second, Call: refund(10, 1), Writes: true, TTLs: counter(15 * time.Second), Want: result{Refunded: 1, Remaining: 7, ResetAfter: 5 * time.Second}},
		step{Call: count(4), Writes: true, TTLs: counter(15 * time.Second), Want: counterResult{Allowed: true, Remaining: 3, ResetAfter: 15 * time.Second}},
		step{Name: "4 of this window and 2 of the one before", Call: refund(10, 6), Writes: true, TTLs: counter(15 * time.Second), Want: result{Refunded: 6, Remaining: 8, ResetAfter: 5 * time.Second}},
		step{Name: "a limit that was lowered", Call: refund(1, 1), Writes: true, TTLs: counter(15 * time.Second), Want: result{Refunded: 1, ResetAfter: 5 * time.Second}},
		step{Name: "never more than was taken", Call: refund(10, 1_000_000), Writes: true, TTLs: ttls{}, Want: result{Refunded: 2, Remaining: 10}},
		step{Call: count(10), Writes: true, Want: counterResult{Allowed: true, ResetAfter: 20 * time.Second}},
		step{Name: "all of the window before", Advance: 10 * time.Second, Call: refund(10, 10), Writes: true, TTLs: ttls{}, Want: result{Refunded: 10, Remaining: 10}},
		step{Call: count(1), Writes: true, Want: counterResult{Allowed: true, Remaining: 9, ResetAfter: 20 * time.Second}},
		step{Name: "all is forgotten", Advance: 20 * time.Second, Call: refund(10, 1), Want: result{Remaining: 10}},
	)
}

func TestGCRARefund_neverFillsAboveFull(t *testing.T) {
	type result = ratelimit.GCRARefundResult
	for name, tokens := range map[string]time.Duration{"expiry": time.Second, "value": time.Second + 2*time.Microsecond} {
		t.Run(name, func(t *testing.T) {
			ms := func(n time.Duration) time.Duration { return (n + time.Millisecond - 1).Truncate(time.Millisecond) }
			take := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
				return gcra(gcraParams{Subject: "u1", Limit: 10, Period: 10 * tokens, Cost: cost(n)})
			}
			refund := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
				return luatest.Call((*ratelimit.Client).GCRARefund, ratelimit.GCRARefundParams{Subject: "u1", Limit: 10, Period: 10 * tokens, Cost: n})
			}
			limiters.Run(
				t,
				step{Name: "nothing there", Call: refund(3), Want: result{Remaining: 10}},
				step{Call: take(10), Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 10 * tokens}},
				step{Call: refund(3), Writes: true, TTLs: bucket(ms(7 * tokens)), Want: result{Refunded: true, Remaining: 3, ResetAfter: 7 * tokens}},
				step{Name: "which can be taken again", Call: take(3), Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 10 * tokens}},
				step{Name: "some were gained since", Advance: tokens / 2 * 13, Call: refund(3), Writes: true, TTLs: bucket(ms(tokens - tokens/2)), Want: result{Refunded: true, Remaining: 9, ResetAfter: 10*tokens - tokens/2*13 - 3*tokens}},
				step{Name: "room for half a token", Call: refund(1), Writes: true, TTLs: ttls{}, Want: result{Refunded: true, Remaining: 10}},
				step{Name: "full", Call: refund(1), Want: result{Remaining: 10}},
				step{Call: take(2), Writes: true, Want: gcraResult{Allowed: true, Remaining: 8, ResetAfter: 2 * tokens}},
				step{Name: "exactly what was taken", Call: refund(2), Writes: true, TTLs: ttls{}, Want: result{Refunded: true, Remaining: 10}},
				step{Call: take(2), Writes: true, Want: gcraResult{Allowed: true, Remaining: 8, ResetAfter: 2 * tokens}},
				step{Name: "more than there is room for", Call: refund(1_000_000), Writes: true, TTLs: ttls{}, Want: result{Refunded: true, Remaining: 10}},
			)
		})
	}
}

func TestSlidingLogRefund_takesThatAdmissionOut(t *testing.T) {
	type result = ratelimit.SlidingLogRefundResult
	refund := func(name string) func(context.Context, *ratelimit.Client) (any, error) {
		return luatest.Call((*ratelimit.Client).SlidingLogRefund, ratelimit.SlidingLogRefundParams{Subject: "u1", Receipt: name})
	}
	limiters.Run(
		t,
		step{Name: "nothing there", Call: refund("r1"), Want: result{}},
		step{Call: slidingLog(receipt(3, "r1")), Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 2, ResetAfter: 10 * time.Second}},
		step{Advance: time.Second, Call: slidingLog(receipt(3, "r2")), Writes: true, Want: logResult{Allowed: true, Count: 2, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Advance: time.Second, Call: slidingLog(receipt(3, "r3")), Writes: true, Want: logResult{Allowed: true, Count: 3, ResetAfter: 10 * time.Second}},
		step{Name: "an unknown one", Call: refund("r4"), Want: result{}},
		step{Name: "the one in the middle", Call: refund("r2"), Writes: true, TTLs: both(10*time.Second, 10*time.Second), Want: result{Refunded: true}},
		step{Name: "once", Call: refund("r2"), Want: result{}},
		step{Name: "it counts again", Advance: time.Second, Call: slidingLog(receipt(3, "r2")), Writes: true, Want: logResult{Allowed: true, Count: 3, ResetAfter: 10 * time.Second}},
		step{Name: "the first still leaves first", Call: slidingLog(receipt(3, "r5")), Want: logResult{Count: 3, RetryAfter: 7 * time.Second, ResetAfter: 10 * time.Second}},
		step{Call: refund("r1"), Writes: true, Want: result{Refunded: true}},
		step{Name: "and the third after it", Call: slidingLog(receipt(2, "r5")), Want: logResult{Count: 2, RetryAfter: 9 * time.Second, ResetAfter: 10 * time.Second}},
		step{Call: refund("r2"), Writes: true, Want: result{Refunded: true}},
		step{Name: "what callers need stays until the keys expire", Call: refund("r3"), Writes: true, TTLs: both(10*time.Second, 10*time.Second), Want: result{Refunded: true}},
	)
}
