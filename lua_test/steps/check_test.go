package steps_test

import (
	"context"
	"testing"
	"time"

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
