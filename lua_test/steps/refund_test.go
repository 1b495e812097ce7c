package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/calendar"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// after is a time of the server's clock.
func after(d time.Duration) time.Time { return luatest.Start.Add(d).Local() }

func TestAtMost_takesWhatIsThere(t *testing.T) {
	tokens := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return gcra(gcraParams{Subject: "u1", Limit: 10, Period: 10 * time.Second, Cost: cost(n), AtMost: true})
	}
	window := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return fixedWindow(windowParams{Subject: "u1", Limit: 10, Window: 10 * time.Second, Cost: cost(n), AtMost: true})
	}
	pair := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return slidingCounter(counterParams{Subject: "u1", Limit: 10, Window: 10 * time.Second, Cost: cost(n), AtMost: true})
	}
	hour := quotaOf(calendar.Hour, "UTC", 10, 0)
	end := untilEnd(hour)
	period := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		p := hour
		p.Cost, p.AtMost = cost(n), true
		return quota(p)
	}
	limiters.Run(
		t,
		step{Name: "all that it asks for", Call: tokens(3), Writes: true, TTLs: bucket(3 * time.Second), Want: gcraResult{Allowed: true, Taken: 3, Remaining: 7, ResetAfter: 3 * time.Second, At: after(0)}},
		step{Name: "what is left", Call: tokens(20), Writes: true, TTLs: bucket(10 * time.Second), Want: gcraResult{Allowed: true, Taken: 7, ResetAfter: 10 * time.Second, At: after(0)}},
		step{Name: "nothing", Call: tokens(20), Want: gcraResult{RetryAfter: time.Second, ResetAfter: 10 * time.Second, At: after(0)}},
		step{Name: "the same bucket", Call: gcra(gcraParams{Subject: "u1", Limit: 10, Period: 10 * time.Second}), Want: gcraResult{RetryAfter: time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "what has been gained", Advance: 2 * time.Second, Call: tokens(1_000_000), Writes: true, Want: gcraResult{Allowed: true, Taken: 2, ResetAfter: 10 * time.Second, At: after(2 * time.Second)}},
		step{Call: window(4), Writes: true, Want: windowResult{Allowed: true, Taken: 4, Remaining: 6, ResetAfter: 10 * time.Second, At: after(2 * time.Second)}},
		step{Advance: time.Second, Call: window(50), Writes: true, Want: windowResult{Allowed: true, Taken: 6, ResetAfter: 9 * time.Second, At: after(3 * time.Second)}},
		step{Call: window(1), Want: windowResult{RetryAfter: 9 * time.Second, ResetAfter: 9 * time.Second, At: after(3 * time.Second)}},
		step{Call: pair(8), Writes: true, Want: counterResult{Allowed: true, Taken: 8, Remaining: 2, ResetAfter: 20 * time.Second, At: after(3 * time.Second)}},
		step{Call: pair(8), Writes: true, Want: counterResult{Allowed: true, Taken: 2, ResetAfter: 20 * time.Second, At: after(3 * time.Second)}},
		step{Call: period(7), Writes: true, Want: quotaResult{Allowed: true, Taken: 7, Remaining: 3, ResetAfter: end - 3*time.Second, At: after(3 * time.Second)}},
		step{Call: period(7), Writes: true, Want: quotaResult{Allowed: true, Taken: 3, ResetAfter: end - 3*time.Second, At: after(3 * time.Second)}},
		step{Call: period(0), Want: quotaResult{Allowed: true, ResetAfter: end - 3*time.Second, At: after(3 * time.Second)}},
	)
}

// giveBack refunds one limit of u1; taken is when the call was decided, after the start, and its reset_after.
func giveBack(limit checkLimit, weight int64, taken ...time.Duration) func(context.Context, *ratelimit.Client) (any, error) {
	p := ratelimit.RefundParams{Subject: "u1", Limits: ratelimit.PackLimit(limit), Weight: weight}
	if len(taken) > 0 {
		p.At, p.Taken = luatest.Start.Add(taken[0]), ratelimit.PackRefundTaken(ratelimit.RefundTaken{Left: taken[1]})
	}
	return luatest.Call((*ratelimit.Client).Refund, p)
}

var (
	refunded = ratelimit.RefundResult{Refunded: true}
	nothing  = ratelimit.RefundResult{}
)

func TestRefund_fixedWindow(t *testing.T) {
	limit := checkLimit{Kind: ratelimit.LimitKindFixedWindow, Limit: 10, Window: 10 * time.Second}
	take := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return fixedWindow(windowParams{Subject: "u1", Limit: 10, Window: 10 * time.Second, Cost: cost(n)})
	}
	limiters.Run(
		t,
		step{Name: "nothing there", Call: giveBack(limit, 3), Want: nothing},
		step{Call: take(10), Writes: true, Want: windowResult{Allowed: true, ResetAfter: 10 * time.Second}},
		step{Advance: time.Second, Call: giveBack(limit, 3), Writes: true, TTLs: window(9 * time.Second), Want: refunded},
		step{Name: "which can be taken again", Call: take(3), Writes: true, TTLs: window(9 * time.Second), Want: windowResult{Allowed: true, ResetAfter: 9 * time.Second}},
		step{Name: "all that was taken: no window is left", Call: giveBack(limit, 10), Writes: true, TTLs: ttls{}, Want: refunded},
		step{Call: take(1), Writes: true, Want: windowResult{Allowed: true, Remaining: 9, ResetAfter: 10 * time.Second}},
		step{Name: "never more than was taken", Call: giveBack(limit, 2), Writes: true, TTLs: ttls{}, Want: refunded},
		step{Call: take(1), Writes: true, Want: windowResult{Allowed: true, Remaining: 9, ResetAfter: 10 * time.Second}},
		step{Name: "the window has ended", Advance: 10 * time.Second, Call: giveBack(limit, 1), Want: nothing},
	)
}

func TestRefund_slidingCounterGivesBackToItsWindow(t *testing.T) {
	limit := checkLimit{Kind: ratelimit.LimitKindSlidingCounter, Limit: 10, Window: 10 * time.Second}
	limiters.Run(
		t,
		step{Name: "nothing there", Call: giveBack(limit, 3), Want: nothing},
		step{Call: count(8), Writes: true, Want: counterResult{Allowed: true, Remaining: 2, ResetAfter: 20 * time.Second}},
		step{Call: giveBack(limit, 2), Writes: true, TTLs: counter(20 * time.Second), Want: refunded},
		step{Name: "in the next window", Advance: 15 * time.Second, Call: giveBack(limit, 1, 0, 20*time.Second), Writes: true, TTLs: counter(15 * time.Second), Want: refunded},
		step{Call: count(4), Writes: true, TTLs: counter(15 * time.Second), Want: counterResult{Allowed: true, Remaining: 3, ResetAfter: 15 * time.Second}},
		step{Name: "of the window before, though this one has more", Call: giveBack(limit, 1, 0, 20*time.Second), Writes: true, TTLs: counter(15 * time.Second), Want: refunded},
		step{Name: "5 - 1 of 4 weigh 2", Call: count(0), Want: counterResult{Allowed: true, Remaining: 4, ResetAfter: 15 * time.Second}},
		step{Name: "4 of this window and 2 of the one before", Call: giveBack(limit, 6), Writes: true, TTLs: counter(15 * time.Second), Want: refunded},
		step{Name: "never more than was taken", Call: giveBack(limit, 10), Writes: true, TTLs: ttls{}, Want: refunded},
		step{Call: count(1), Writes: true, Want: counterResult{Allowed: true, Remaining: 9, ResetAfter: 20 * time.Second}},
		step{Name: "all is forgotten", Advance: 20 * time.Second, Call: giveBack(limit, 1), Want: nothing},
	)
}

func TestRefund_neverFillsABucketAboveFull(t *testing.T) {
	for name, token := range map[string]time.Duration{"milliseconds": time.Second, "microseconds": time.Second + 2*time.Microsecond} {
		t.Run(name, func(t *testing.T) {
			ms := func(n time.Duration) time.Duration { return (n + time.Millisecond - 1).Truncate(time.Millisecond) }
			limit := checkLimit{Kind: ratelimit.LimitKindGCRA, Limit: 10, Window: 10 * token}
			take := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
				return gcra(gcraParams{Subject: "u1", Limit: 10, Period: 10 * token, Cost: cost(n)})
			}
			limiters.Run(
				t,
				step{Name: "nothing there", Call: giveBack(limit, 3), Want: nothing},
				step{Call: take(10), Writes: true, Want: gcraResult{Allowed: true, ResetAfter: ms(10 * token)}},
				step{Call: giveBack(limit, 3), Writes: true, TTLs: bucketOf(10*token, ms(7*token)), Want: refunded},
				step{Name: "which can be taken again", Call: take(3), Writes: true, Want: gcraResult{Allowed: true, ResetAfter: ms(10 * token)}},
				step{Name: "some were gained since", Advance: 6500 * time.Millisecond, Call: giveBack(limit, 3), Writes: true, TTLs: bucketOf(10*token, ms(7*token-6500*time.Millisecond)), Want: refunded},
				step{Name: "room for half a token", Call: giveBack(limit, 1), Writes: true, TTLs: ttls{}, Want: refunded},
				step{Name: "full", Call: giveBack(limit, 1), Want: nothing},
				step{Call: take(2), Writes: true, Want: gcraResult{Allowed: true, Remaining: 8, ResetAfter: ms(2 * token)}},
				step{Name: "exactly what was taken", Call: giveBack(limit, 2), Writes: true, TTLs: ttls{}, Want: refunded},
				step{Call: take(2), Writes: true, Want: gcraResult{Allowed: true, Remaining: 8, ResetAfter: ms(2 * token)}},
				step{Name: "more than there is room for", Call: giveBack(limit, 9), Writes: true, TTLs: ttls{}, Want: refunded},
			)
		})
	}
}

func TestRefund_slidingLogTakesThatAdmissionOut(t *testing.T) {
	limit := checkLimit{Kind: ratelimit.LimitKindSlidingLog, Limit: 3, Window: 10 * time.Second}
	log := slidingLog(logParams{Subject: "u1", Limit: 3, Window: 10 * time.Second})
	limiters.Run(
		t,
		step{Name: "nothing there", Call: giveBack(limit, 1), Want: nothing},
		step{Call: log, Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 2, ResetAfter: 10 * time.Second}},
		step{Advance: time.Second, Call: log, Writes: true, Want: logResult{Allowed: true, Count: 2, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Advance: time.Second, Call: log, Writes: true, Want: logResult{Allowed: true, Count: 3, ResetAfter: 10 * time.Second}},
		step{Name: "the one in the middle", Call: giveBack(limit, 1, time.Second, 10*time.Second), Writes: true, TTLs: known(10*time.Second, nil), Want: refunded},
		step{Name: "once", Call: giveBack(limit, 1, time.Second, 10*time.Second), Want: nothing},
		step{Name: "one fits, and the first still leaves first", Call: log, Writes: true, Want: logResult{Allowed: true, Count: 3, ResetAfter: 10 * time.Second}},
		step{Call: log, Want: logResult{Count: 3, RetryAfter: 8 * time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "the newest, if none is named", Call: giveBack(limit, 1), Writes: true, Want: refunded},
		step{Call: giveBack(limit, 1, 0, 10*time.Second), Writes: true, Want: refunded},
		step{Name: "the third is the first to leave", Call: slidingLog(logParams{Subject: "u1", Limit: 1, Window: 10 * time.Second}), Want: logResult{Count: 1, RetryAfter: 10 * time.Second, ResetAfter: 10 * time.Second}},
	)
}

func TestRefund_quota(t *testing.T) {
	p := quotaOf(calendar.Day, "UTC", 10, 0)
	end := untilEnd(p)
	limit := checkLimit{Kind: ratelimit.LimitKindQuota, Limit: 10, Previous: p.Previous, Start: p.Start, Next: p.Next, After: p.After}
	p.Cost = cost(7)
	limiters.Run(
		t,
		step{Name: "nothing there", Call: giveBack(limit, 1), Want: nothing},
		step{Call: quota(p), Writes: true, Want: quotaResult{Allowed: true, Remaining: 3, ResetAfter: end}},
		step{Name: "in time", Call: giveBack(limit, 6, 0, end), Writes: true, Want: refunded},
		step{Name: "the rest", Call: giveBack(limit, 6), Writes: true, Want: refunded},
		step{Name: "nothing is left", Call: giveBack(limit, 6), Want: nothing},
		step{Name: "of today", Call: quota(p), Writes: true, Want: quotaResult{Allowed: true, Remaining: 3, ResetAfter: end}},
		step{Name: "tomorrow takes more", Advance: end, Call: quota(p), Writes: true, Want: quotaResult{Allowed: true, Remaining: 3, ResetAfter: day}},
		step{Name: "which today's late refund leaves", Call: giveBack(limit, 6, 0, end), Want: nothing},
	)
}

// A receipt of check is refunded once, with all that it paid.
func TestRefund_byReceipt(t *testing.T) {
	limits := suites.CheckLimits(2)
	p := ratelimit.RefundParams{Subject: "u1", Limits: ratelimit.PackLimit(limits...), Receipt: "r1", At: luatest.Start}
	var taken []ratelimit.RefundTaken
	for _, row := range suites.TakenAtStart() {
		taken = append(taken, ratelimit.RefundTaken{Left: row.ResetAfter})
	}
	p.Taken = ratelimit.PackRefundTaken(taken...)
	back := luatest.Call((*ratelimit.Client).Refund, p)
	var first []checkRow
	for _, row := range suites.TakenAtStart() {
		first = append(first, checkRow(row))
	}
	take := checkReceipt("r1", 0, limits...)
	limiters.Run(
		t,
		step{Name: "unknown", Call: back, Want: nothing},
		step{Call: take, Writes: true, Want: checkResult{Allowed: true, Limits: first}},
		step{Call: back, Writes: true, TTLs: ttls{}, Want: refunded},
		step{Name: "once", Call: back, Want: nothing},
		step{Name: "it counts again", Call: take, Writes: true, Want: checkResult{Allowed: true, Limits: first}},
	)
}

func TestReset_ofEveryKind(t *testing.T) {
	hour := quotaOf(calendar.Hour, "UTC", 1, 0)
	limits := append(suites.CheckLimits(1), checkLimit{Kind: ratelimit.LimitKindQuota, Limit: 1, Previous: hour.Previous, Start: hour.Start, Next: hour.Next, After: hour.After})
	for _, limit := range limits {
		t.Run(string(limit.Kind), func(t *testing.T) {
			limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
				other := limit
				other.Name = "other"
				pack, others := ratelimit.PackLimit(limit), ratelimit.PackLimit(other)
				reset := func(want bool) {
					t.Helper()
					if r, err := c.Reset(t.Context(), ratelimit.ResetParams{Subject: "u1", Limits: pack}); err != nil || r.Existed != want {
						t.Errorf("%+v, %v: want %v", r, err, want)
					}
				}
				take := func(limits fcall.Rows[ratelimit.Limit], want bool) {
					t.Helper()
					if r, err := c.Check(t.Context(), ratelimit.CheckParams{Subject: "u1", Limits: limits}); err != nil || r.Allowed != want {
						t.Errorf("%+v, %v: want %v", r, err, want)
					}
				}
				reset(false)
				take(pack, true)
				take(others, true)
				take(pack, false)
				reset(true)
				reset(false)
				take(others, false)
				take(pack, true)
			})
		})
	}
}
