package steps_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type (
	checkLimit  = ratelimit.Limit
	checkResult = ratelimit.CheckResult
	checkRow    = ratelimit.LimitResult
)

// checkParams are a call of check, with rows that are not packed yet.
type checkParams = suites.CheckParams

func check(limits ...checkLimit) func(context.Context, *ratelimit.Client) (any, error) {
	return checks(checkParams{Limits: limits})
}

func checkReceipt(receipt string, dedup time.Duration, limits ...checkLimit) func(context.Context, *ratelimit.Client) (any, error) {
	return checks(checkParams{Limits: limits, Receipt: receipt, Dedup: dedup})
}

// checks is a call of u1.
func checks(p checkParams) func(context.Context, *ratelimit.Client) (any, error) {
	p.Subject = "u1"
	return func(ctx context.Context, c *ratelimit.Client) (any, error) {
		packed, err := p.Pack()
		if err != nil {
			return nil, err
		}
		return c.Check(ctx, packed)
	}
}

func logLimit(name string, limit int64, window time.Duration) checkLimit {
	return checkLimit{Name: name, Kind: ratelimit.LimitKindSlidingLog, Limit: limit, Window: window}
}

// The minute's limit charged before the hour's refuses: known mistake 11.
func TestCheck_noLimitIsChargedForWhatAnotherRefuses(t *testing.T) {
	take := check(logLimit("minute", 3, time.Minute), logLimit("hour", 4, time.Hour))
	minute, hour := key("u1", "sliding_log:minute"), key("u1", "sliding_log:hour")
	limiters.Run(
		t,
		step{Name: "first use", Call: take, Writes: true, TTLs: ttls{minute: time.Minute, hour: time.Hour}, Want: checkResult{Allowed: true, Limits: []checkRow{
			{Allowed: true, Remaining: 2, ResetAfter: time.Minute}, {Allowed: true, Remaining: 3, ResetAfter: time.Hour},
		}}},
		step{Call: take, Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{
			{Allowed: true, Remaining: 1, ResetAfter: time.Minute}, {Allowed: true, Remaining: 2, ResetAfter: time.Hour},
		}}},
		step{Name: "exactly the minute's limit", Advance: time.Second, Call: take, Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{
			{Allowed: true, ResetAfter: time.Minute}, {Allowed: true, Remaining: 1, ResetAfter: time.Hour},
		}}},
		step{Name: "the minute refuses, the hour is not charged", Call: take, Want: checkResult{Refused: 1, RetryAfter: 59 * time.Second, Limits: []checkRow{
			{RetryAfter: 59 * time.Second, ResetAfter: time.Minute}, {Allowed: true, Remaining: 1, ResetAfter: time.Hour},
		}}},
		step{Name: "one tick sooner", Advance: 59*time.Second - time.Microsecond, Call: take, Want: checkResult{Refused: 1, RetryAfter: time.Microsecond, Limits: []checkRow{
			{RetryAfter: time.Microsecond, ResetAfter: time.Second + time.Microsecond}, {Allowed: true, Remaining: 1, ResetAfter: time.Hour - 59*time.Second + time.Microsecond},
		}}},
		step{Name: "at retry_after", Advance: time.Microsecond, Call: take, Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{
			{Allowed: true, Remaining: 1, ResetAfter: time.Minute}, {Allowed: true, ResetAfter: time.Hour},
		}}},
		step{Name: "the hour refuses, the minute is not charged", Call: take, Want: checkResult{Refused: 1, RetryAfter: 59 * time.Minute, Limits: []checkRow{
			{Allowed: true, Remaining: 1, ResetAfter: time.Minute}, {RetryAfter: 59 * time.Minute, ResetAfter: time.Hour},
		}}},
		step{Name: "as often as it is asked", Call: take, Want: checkResult{Refused: 1, RetryAfter: 59 * time.Minute, Limits: []checkRow{
			{Allowed: true, Remaining: 1, ResetAfter: time.Minute}, {RetryAfter: 59 * time.Minute, ResetAfter: time.Hour},
		}}},
	)
}

func TestCheck_limitsOfEveryKind(t *testing.T) {
	take := check(suites.CheckLimits(2)...)
	limiters.Run(
		t,
		step{Call: take, Writes: true, TTLs: ttls{
			key("u1", "sliding_log:a"): 10 * time.Second, key("u1", "sliding_counter:a"): 20 * time.Second,
			key("u1", "fixed_window:a"): 10 * time.Second, key("u1", "gcra:a"): 5 * time.Second,
		}, Want: checkResult{Allowed: true, Limits: []checkRow{
			{Allowed: true, Remaining: 1, ResetAfter: 10 * time.Second},
			{Allowed: true, Remaining: 1, ResetAfter: 20 * time.Second},
			{Allowed: true, Remaining: 1, ResetAfter: 10 * time.Second},
			{Allowed: true, Remaining: 1, ResetAfter: 5 * time.Second},
		}}},
		step{Name: "exactly the limits", Advance: time.Second, Call: take, Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{
			{Allowed: true, ResetAfter: 10 * time.Second},
			{Allowed: true, ResetAfter: 19 * time.Second},
			{Allowed: true, ResetAfter: 9 * time.Second},
			{Allowed: true, ResetAfter: 9 * time.Second},
		}}},
		step{Name: "one more", Call: take, Want: checkResult{Refused: 4, RetryAfter: 14 * time.Second, Limits: []checkRow{
			{RetryAfter: 9 * time.Second, ResetAfter: 10 * time.Second},
			{RetryAfter: 14 * time.Second, ResetAfter: 19 * time.Second},
			{RetryAfter: 9 * time.Second, ResetAfter: 9 * time.Second},
			{RetryAfter: 4 * time.Second, ResetAfter: 9 * time.Second},
		}}},
		step{Name: "one tick sooner", Advance: 14*time.Second - time.Millisecond, Call: take, Want: checkResult{Refused: 1, RetryAfter: time.Millisecond, Limits: []checkRow{
			{Allowed: true, Remaining: 2},
			{RetryAfter: time.Millisecond, ResetAfter: 5*time.Second + time.Millisecond},
			{Allowed: true, Remaining: 2},
			{Allowed: true, Remaining: 2},
		}}},
		step{Name: "at retry_after", Advance: time.Millisecond, Call: take, Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{
			{Allowed: true, Remaining: 1, ResetAfter: 10 * time.Second},
			{Allowed: true, ResetAfter: 15 * time.Second},
			{Allowed: true, Remaining: 1, ResetAfter: 10 * time.Second},
			{Allowed: true, Remaining: 1, ResetAfter: 5 * time.Second},
		}}},
	)
}

func TestCheck_cost(t *testing.T) {
	with := func(n, window int64) func(context.Context, *ratelimit.Client) (any, error) {
		limits := suites.CheckLimits(10)[1:]
		limits[0].Cost, limits[1].Cost, limits[2].Cost = cost(n), cost(window), cost(n)
		return check(limits...)
	}
	none := logLimit("a", 1, time.Second)
	none.Cost = cost(0)
	two := logLimit("a", 1, time.Second)
	two.Cost = cost(2)
	counter, fixed, bucket := key("u1", "sliding_counter:a"), key("u1", "fixed_window:a"), key("u1", "gcra:a")
	limiters.Run(
		t,
		step{Name: "cost 0 only looks", Call: with(0, 0), Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, Remaining: 10}, {Allowed: true, Remaining: 10}, {Allowed: true, Remaining: 10}}}},
		step{Name: "also beside one that is charged", Call: with(0, 7), Writes: true, TTLs: ttls{fixed: 10 * time.Second}, Want: checkResult{Allowed: true, Limits: []checkRow{
			{Allowed: true, Remaining: 10}, {Allowed: true, Remaining: 3, ResetAfter: 10 * time.Second}, {Allowed: true, Remaining: 10},
		}}},
		step{Name: "what one refuses none takes", Call: with(2, 4), Want: checkResult{Refused: 1, RetryAfter: 10 * time.Second, Limits: []checkRow{
			{Allowed: true, Remaining: 10}, {Remaining: 3, RetryAfter: 10 * time.Second, ResetAfter: 10 * time.Second}, {Allowed: true, Remaining: 10},
		}}},
		step{Name: "what all allow all take", Call: with(10, 3), Writes: true, TTLs: ttls{counter: 20 * time.Second, fixed: 10 * time.Second, bucket: 10 * time.Second}, Want: checkResult{Allowed: true, Limits: []checkRow{
			{Allowed: true, ResetAfter: 20 * time.Second}, {Allowed: true, ResetAfter: 10 * time.Second}, {Allowed: true, ResetAfter: 10 * time.Second},
		}}},
		step{Name: "above a limit", Call: with(11, 1), WantErr: fcall.ErrArgument},
		step{Name: "a log counts requests", Call: check(two), WantErr: fcall.ErrArgument},
		step{Name: "or only looks", Call: check(none), Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, Remaining: 1}}}},
		step{Call: check(logLimit("a", 1, time.Second)), Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, ResetAfter: time.Second}}}},
		step{Name: "also at a full one", Call: check(none), Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, ResetAfter: time.Second}}}},
	)
}

func TestCheck_costZeroOfALogWaitsForTheLimit(t *testing.T) {
	look := logLimit("a", 1, 10*time.Second)
	look.Cost = cost(0)
	take := check(logLimit("a", 3, 10*time.Second))
	limiters.Run(
		t,
		step{Call: take, Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, Remaining: 2, ResetAfter: 10 * time.Second}}}},
		step{Advance: time.Second, Call: take, Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, Remaining: 1, ResetAfter: 10 * time.Second}}}},
		step{Advance: time.Second, Call: take, Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, ResetAfter: 10 * time.Second}}}},
		step{Name: "a limit that was lowered: two have to leave", Call: check(look), Want: checkResult{Refused: 1, RetryAfter: 9 * time.Second, Limits: []checkRow{{RetryAfter: 9 * time.Second, ResetAfter: 10 * time.Second}}}},
		step{Advance: 9*time.Second - time.Microsecond, Call: check(look), Want: checkResult{Refused: 1, RetryAfter: time.Microsecond, Limits: []checkRow{{RetryAfter: time.Microsecond, ResetAfter: time.Second + time.Microsecond}}}},
		step{Advance: time.Microsecond, Call: check(look), Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, ResetAfter: time.Second}}}},
	)
}

func TestCheck_receiptCostsOnce(t *testing.T) {
	minute, hour := logLimit("minute", 2, time.Minute), logLimit("hour", 2, time.Hour)
	take := func(receipt string) func(context.Context, *ratelimit.Client) (any, error) {
		return checkReceipt(receipt, 0, minute, hour)
	}
	keys := func(m, h, r time.Duration) ttls {
		return ttls{key("u1", "sliding_log:minute"): m, key("u1", "sliding_log:hour"): h, key("u1", "checked"): r}
	}
	limiters.Run(
		t,
		step{Call: take("r1"), Writes: true, TTLs: keys(time.Minute, time.Hour, time.Hour), Want: checkResult{Allowed: true, Limits: []checkRow{
			{Allowed: true, Remaining: 1, ResetAfter: time.Minute}, {Allowed: true, Remaining: 1, ResetAfter: time.Hour},
		}}},
		step{Name: "a double click", Advance: time.Second, Call: take("r1"), Want: checkResult{Allowed: true, Duplicate: true, Limits: []checkRow{
			{Allowed: true, Remaining: 1, ResetAfter: 59 * time.Second}, {Allowed: true, Remaining: 1, ResetAfter: time.Hour - time.Second},
		}}},
		step{Call: take("r2"), Writes: true, TTLs: keys(time.Minute, time.Hour, time.Hour), Want: checkResult{Allowed: true, Limits: []checkRow{
			{Allowed: true, ResetAfter: time.Minute}, {Allowed: true, ResetAfter: time.Hour},
		}}},
		step{Name: "a third is refused", Call: take("r3"), Want: checkResult{Refused: 2, RetryAfter: time.Hour - time.Second, Limits: []checkRow{
			{RetryAfter: 59 * time.Second, ResetAfter: time.Minute}, {RetryAfter: time.Hour - time.Second, ResetAfter: time.Hour},
		}}},
		step{Name: "and not known for it", Call: take("r3"), Want: checkResult{Refused: 2, RetryAfter: time.Hour - time.Second, Limits: []checkRow{
			{RetryAfter: 59 * time.Second, ResetAfter: time.Minute}, {RetryAfter: time.Hour - time.Second, ResetAfter: time.Hour},
		}}},
		step{Name: "a duplicate passes full limits", Call: take("r1"), Want: checkResult{Allowed: true, Duplicate: true, Limits: []checkRow{
			{Allowed: true, ResetAfter: time.Minute}, {Allowed: true, ResetAfter: time.Hour},
		}}},
		step{Name: "known for the longest window, and not renewed", Advance: time.Hour - time.Second - time.Microsecond, Call: take("r1"), Want: checkResult{Allowed: true, Duplicate: true, Limits: []checkRow{
			{Allowed: true, Remaining: 2}, {Allowed: true, ResetAfter: time.Second + time.Microsecond},
		}}},
		step{Name: "then it counts again", Advance: time.Microsecond, Call: take("r1"), Writes: true, TTLs: keys(time.Minute, time.Hour, time.Hour), Want: checkResult{Allowed: true, Limits: []checkRow{
			{Allowed: true, Remaining: 1, ResetAfter: time.Minute}, {Allowed: true, ResetAfter: time.Hour},
		}}},
	)
}

func TestCheck_dedup(t *testing.T) {
	limit := logLimit("a", 5, time.Second)
	look := limit
	look.Cost = cost(0)
	one := checkReceipt("r1", 10*time.Second, limit)
	limiters.Run(
		t,
		step{Name: "a call that charges nothing does not admit one that does", Call: checkReceipt("r1", 10*time.Second, look), Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, Remaining: 5}}}},
		step{Call: one, Writes: true, TTLs: ttls{key("u1", "sliding_log:a"): time.Second, key("u1", "checked"): 10 * time.Second}, Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, Remaining: 4, ResetAfter: time.Second}}}},
		step{Name: "longer than the window", Advance: 10*time.Second - time.Microsecond, Call: one, Want: checkResult{Allowed: true, Duplicate: true, Limits: []checkRow{{Allowed: true, Remaining: 5}}}},
		step{Advance: time.Microsecond, Call: one, Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, Remaining: 4, ResetAfter: time.Second}}}},
		step{Name: "shorter", Advance: time.Millisecond, Call: checkReceipt("r1", time.Millisecond, limit), Writes: true, TTLs: ttls{key("u1", "sliding_log:a"): time.Second, key("u1", "checked"): 10 * time.Second}, Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, Remaining: 3, ResetAfter: time.Second}}}},
		step{Name: "which leaves what others know", Advance: time.Second, Call: one, Want: checkResult{Allowed: true, Duplicate: true, Limits: []checkRow{{Allowed: true, Remaining: 5}}}},
		step{Name: "a clock far ahead", Advance: day, Call: one, Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, Remaining: 4, ResetAfter: time.Second}}}},
		step{Name: "a little back: known", Advance: -10 * time.Second, Call: one, Want: checkResult{Allowed: true, Duplicate: true, Limits: []checkRow{{Allowed: true, Remaining: 5}}}},
		step{Name: "far back: not known", Advance: -day, Call: one, Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, Remaining: 4, ResetAfter: time.Second}}}},
	)
}

func TestCheck_sixteenLimits(t *testing.T) {
	var limits []checkLimit
	var rows []checkRow
	for i := range 16 {
		l := suites.CheckLimits(5)[i%4]
		l.Name = fmt.Sprint(i)
		limits = append(limits, l)
		rows = append(rows, checkRow{Allowed: true, Remaining: 4, ResetAfter: []time.Duration{10 * time.Second, 20 * time.Second, 10 * time.Second, 2 * time.Second}[i%4]})
	}
	limiters.Run(
		t,
		step{Call: check(limits...), Writes: true, Want: checkResult{Allowed: true, Limits: rows}},
		step{Name: "17", Call: check(append(limits, logLimit("more", 1, time.Second))...), WantErr: fcall.ErrArgument},
		step{Name: "0", Call: check(), WantErr: fcall.ErrArgument},
	)
}

func TestCheckPeek_returnsWhatACallWould(t *testing.T) {
	type (
		result = ratelimit.CheckPeekResult
		row    = checkRow
	)
	limits := []checkLimit{logLimit("a", 2, 10*time.Second), {Name: "a", Kind: ratelimit.LimitKindGCRA, Limit: 2, Window: 10 * time.Second}}
	peek := func(receipt string) func(context.Context, *ratelimit.Client) (any, error) {
		return luatest.Call((*ratelimit.Client).CheckPeek, checkParams{Subject: "u1", Limits: limits, Receipt: receipt}.Peek())
	}
	limiters.Run(
		t,
		step{Name: "first use", Call: peek(""), Want: result{Allowed: true, Limits: []row{{Allowed: true, Remaining: 2}, {Allowed: true, Remaining: 2}}}},
		step{Call: checkReceipt("r1", 0, limits...), Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, Remaining: 1, ResetAfter: 10 * time.Second}, {Allowed: true, Remaining: 1, ResetAfter: 5 * time.Second}}}},
		step{Call: check(limits...), Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, ResetAfter: 10 * time.Second}, {Allowed: true, ResetAfter: 10 * time.Second}}}},
		step{Name: "full", Call: peek("r2"), Want: result{Refused: 2, RetryAfter: 10 * time.Second, Limits: []row{{RetryAfter: 10 * time.Second, ResetAfter: 10 * time.Second}, {RetryAfter: 5 * time.Second, ResetAfter: 10 * time.Second}}}},
		step{Name: "a known receipt", Call: peek("r1"), Want: result{Allowed: true, Duplicate: true, Limits: []row{{Allowed: true, ResetAfter: 10 * time.Second}, {Allowed: true, ResetAfter: 10 * time.Second}}}},
	)
}

func TestCheckReset_forgetsTheLimitsThatItNames(t *testing.T) {
	type result = ratelimit.CheckResetResult
	limits := []checkLimit{logLimit("a", 1, 10*time.Second), logLimit("b", 1, 10*time.Second)}
	reset := luatest.Call((*ratelimit.Client).CheckReset, checkParams{Subject: "u1", Limits: limits[:1]}.Reset())
	limiters.Run(
		t,
		step{Name: "nothing there", Call: reset, Want: result{}},
		step{Call: checkReceipt("r1", 0, limits...), Writes: true, Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, ResetAfter: 10 * time.Second}, {Allowed: true, ResetAfter: 10 * time.Second}}}},
		step{Call: reset, Writes: true, TTLs: ttls{key("u1", "sliding_log:b"): 10 * time.Second}, Want: result{Existed: true}},
		step{Name: "the receipt is no longer known", Call: checkReceipt("r1", 0, limits...), Want: checkResult{Refused: 1, RetryAfter: 10 * time.Second, Limits: []checkRow{{Allowed: true, Remaining: 1}, {RetryAfter: 10 * time.Second, ResetAfter: 10 * time.Second}}}},
		step{Call: reset, Want: result{}},
	)
}
