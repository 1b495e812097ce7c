package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// receipt is a call of limit per 10 s.
func receipt(limit int64, name string) logParams {
	return logParams{Subject: "u1", Limit: limit, Window: 10 * time.Second, Receipt: name}
}

func both(log, receipts time.Duration) ttls {
	return ttls{key("u1", "log"): log, key("u1", "receipts"): receipts}
}

func TestSlidingLog_duplicateIsAllowedAndNotCounted(t *testing.T) {
	limiters.Run(
		t,
		step{Call: slidingLog(receipt(2, "r1")), Writes: true, TTLs: both(10*time.Second, 10*time.Second), Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Name: "a double click", Call: slidingLog(receipt(2, "r1")), Want: logResult{Allowed: true, Duplicate: true, Count: 1, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Name: "another receipt", Advance: 3 * time.Second, Call: slidingLog(receipt(2, "r2")), Writes: true, TTLs: both(10*time.Second, 10*time.Second), Want: logResult{Allowed: true, Count: 2, ResetAfter: 10 * time.Second}},
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

func TestSlidingLog_refreshRenewsTheReceiptAndNotTheAdmission(t *testing.T) {
	refresh := receipt(2, "r1")
	refresh.Refresh = true
	limiters.Run(
		t,
		step{Call: slidingLog(refresh), Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Advance: 6 * time.Second, Call: slidingLog(refresh), Writes: true, TTLs: both(4*time.Second, 10*time.Second), Want: logResult{Allowed: true, Duplicate: true, Count: 1, Remaining: 1, ResetAfter: 4 * time.Second}},
		step{Name: "the admission has left, the receipt is known", Advance: 6 * time.Second, Call: slidingLog(receipt(2, "r1")), TTLs: ttls{key("u1", "receipts"): 4 * time.Second}, Want: logResult{Allowed: true, Duplicate: true, Remaining: 2}},
		step{Name: "renewed for as long as it goes on", Advance: 4*time.Second - time.Microsecond, Call: slidingLog(refresh), Writes: true, Want: logResult{Allowed: true, Duplicate: true, Remaining: 2}},
		step{Name: "until it stops", Advance: 10 * time.Second, Call: slidingLog(refresh), Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: 10 * time.Second}},
	)
}

func TestSlidingLogReset_forgetsAdmissionsAndReceipts(t *testing.T) {
	reset := luatest.Call((*ratelimit.Client).SlidingLogReset, ratelimit.SlidingLogResetParams{Subject: "u1"})
	first := logResult{Allowed: true, Count: 1, ResetAfter: 10 * time.Second}
	limiters.Run(
		t,
		step{Name: "nothing there", Call: reset, Want: ratelimit.SlidingLogResetResult{}},
		step{Call: slidingLog(receipt(1, "r1")), Writes: true, Want: first},
		step{Call: slidingLog(logParams{Subject: "u2", Limit: 1, Window: time.Minute}), Writes: true, Want: logResult{Allowed: true, Count: 1, ResetAfter: time.Minute}},
		step{Call: reset, Writes: true, Want: ratelimit.SlidingLogResetResult{Existed: true}, TTLs: ttls{key("u2", "log"): time.Minute}},
		step{Call: reset, Want: ratelimit.SlidingLogResetResult{}},
		step{Name: "the receipt counts again", Call: slidingLog(receipt(1, "r1")), Writes: true, Want: first},
		step{Name: "a key of another type goes too", Call: reset, Given: wrongType(key("u1", "log")), Writes: true, Want: ratelimit.SlidingLogResetResult{Existed: true}},
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

func TestSlidingLogPeek_returnsWhatACallWould(t *testing.T) {
	type result = ratelimit.SlidingLogPeekResult
	peek := func(limit int64) func(context.Context, *ratelimit.Client) (any, error) {
		return luatest.Call((*ratelimit.Client).SlidingLogPeek, ratelimit.SlidingLogPeekParams{Subject: "u1", Limit: limit, Window: 10 * time.Second})
	}
	limiters.Run(
		t,
		step{Name: "first use", Call: peek(2), Want: result{Allowed: true, Remaining: 2}},
		step{Call: slidingLog(receipt(2, "")), Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Advance: time.Second, Call: peek(2), Want: result{Allowed: true, Count: 1, Remaining: 1, ResetAfter: 9 * time.Second}},
		step{Call: slidingLog(receipt(2, "")), Writes: true, Want: logResult{Allowed: true, Count: 2, ResetAfter: 10 * time.Second}},
		step{Name: "full", Call: peek(2), Want: result{Count: 2, RetryAfter: 9 * time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "a lower limit", Call: peek(1), Want: result{Count: 2, RetryAfter: 10 * time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "a higher limit", Call: peek(1_000_000), Want: result{Allowed: true, Count: 2, Remaining: 999_998, ResetAfter: 10 * time.Second}},
		step{Name: "one tick sooner", Advance: 9*time.Second - time.Microsecond, Call: peek(2), Want: result{Count: 2, RetryAfter: time.Microsecond, ResetAfter: time.Second + time.Microsecond}},
		step{Name: "at retry_after", Advance: time.Microsecond, Call: peek(2), Want: result{Allowed: true, Count: 1, Remaining: 1, ResetAfter: time.Second}},
		step{Name: "clock backwards", Advance: -5 * time.Second, Call: peek(2), Want: result{Count: 2, RetryAfter: 5 * time.Second, ResetAfter: 6 * time.Second}},
		step{Name: "clock set back to before the entries: as of the newest", Advance: -9 * time.Second, Call: peek(2), Want: result{Count: 2, RetryAfter: 14 * time.Second, ResetAfter: 15 * time.Second}},
		step{Name: "clock further back than the window: nothing is left as it was written", Advance: -10 * time.Second, Call: peek(2), Want: result{Allowed: true, Remaining: 2}},
	)
}
