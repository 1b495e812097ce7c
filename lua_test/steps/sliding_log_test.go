package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

type (
	logParams = ratelimit.SlidingLogParams
	logResult = ratelimit.SlidingLogResult
	ttls      = map[string]time.Duration
)

const day = 24 * time.Hour

func slidingLog(p logParams) func(context.Context, *ratelimit.Client) (any, error) {
	return luatest.Call((*ratelimit.Client).SlidingLog, p)
}

func TestSlidingLog_admitsTheLimitThenOneAsEachLeaves(t *testing.T) {
	take := slidingLog(logParams{Subject: "u1", Limit: 3, Window: 10 * time.Second})
	log := func(d time.Duration) ttls { return ttls{key("u1", "log"): d} }
	limiters.Run(
		t,
		step{Name: "first use", Call: take, Writes: true, TTLs: log(10 * time.Second), Want: logResult{Allowed: true, Count: 1, Remaining: 2, ResetAfter: 10 * time.Second}},
		step{Advance: time.Second, Call: take, Writes: true, TTLs: log(10 * time.Second), Want: logResult{Allowed: true, Count: 2, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Name: "exactly the limit", Advance: time.Second, Call: take, Writes: true, TTLs: log(10 * time.Second), Want: logResult{Allowed: true, Count: 3, ResetAfter: 10 * time.Second}},
		step{Name: "one more", Call: take, TTLs: log(10 * time.Second), Want: logResult{Count: 3, RetryAfter: 8 * time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "one tick sooner", Advance: 8*time.Second - time.Microsecond, Call: take, Want: logResult{Count: 3, RetryAfter: time.Microsecond, ResetAfter: 2*time.Second + time.Microsecond}},
		step{Name: "at retry_after the first has left: the window is half open", Advance: time.Microsecond, Call: take, Writes: true, Want: logResult{Allowed: true, Count: 3, ResetAfter: 10 * time.Second}},
		step{Name: "refused until the second leaves", Call: take, Want: logResult{Count: 3, RetryAfter: time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "long idle", Advance: 1000 * day, Call: take, Writes: true, TTLs: log(10 * time.Second), Want: logResult{Allowed: true, Count: 1, Remaining: 2, ResetAfter: 10 * time.Second}},
	)
}

func TestSlidingLog_smallestAndLargestArguments(t *testing.T) {
	smallest := slidingLog(logParams{Subject: "small", Limit: 1, Window: time.Microsecond})
	largest := slidingLog(logParams{Subject: "large", Limit: 1_000_000, Window: 3650 * day})
	one := slidingLog(logParams{Subject: "large", Limit: 1, Window: 3650 * day})
	limiters.Run(
		t,
		step{Call: smallest, Writes: true, TTLs: ttls{key("small", "log"): time.Millisecond}, Want: logResult{Allowed: true, Count: 1, ResetAfter: time.Microsecond}},
		step{Call: smallest, Want: logResult{Count: 1, RetryAfter: time.Microsecond, ResetAfter: time.Microsecond}},
		step{Advance: time.Microsecond, Call: smallest, Writes: true, Want: logResult{Allowed: true, Count: 1, ResetAfter: time.Microsecond}},
		step{Name: "a nanosecond is rounded up", Advance: time.Microsecond, Call: slidingLog(logParams{Subject: "small", Limit: 1, Window: 1}), Writes: true, Want: logResult{Allowed: true, Count: 1, ResetAfter: time.Microsecond}},
		step{Advance: time.Second, Call: largest, Writes: true, TTLs: ttls{key("large", "log"): 3650 * day}, Want: logResult{Allowed: true, Count: 1, Remaining: 999_999, ResetAfter: 3650 * day}},
		step{Call: one, Want: logResult{Count: 1, RetryAfter: 3650 * day, ResetAfter: 3650 * day}},
		step{Advance: 3650*day - time.Microsecond, Call: one, Want: logResult{Count: 1, RetryAfter: time.Microsecond, ResetAfter: time.Microsecond}},
		step{Advance: time.Microsecond, Call: one, Writes: true, Want: logResult{Allowed: true, Count: 1, ResetAfter: 3650 * day}},
	)
}

func TestSlidingLog_clockBackwardsStandsStillForTheKey(t *testing.T) {
	take := slidingLog(logParams{Subject: "u1", Limit: 2, Window: 10 * time.Second})
	limiters.Run(
		t,
		step{Call: take, Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Name: "set back by 4 s: counted as of the newest entry", Advance: -4 * time.Second, Call: take, Writes: true, TTLs: ttls{key("u1", "log"): 14 * time.Second}, Want: logResult{Allowed: true, Count: 2, ResetAfter: 14 * time.Second}},
		step{Name: "one more", Call: take, Want: logResult{Count: 2, RetryAfter: 14 * time.Second, ResetAfter: 14 * time.Second}},
		step{Advance: 14*time.Second - time.Microsecond, Call: take, Want: logResult{Count: 2, RetryAfter: time.Microsecond, ResetAfter: time.Microsecond}},
		step{Advance: time.Microsecond, Call: take, Writes: true, TTLs: ttls{key("u1", "log"): 10 * time.Second}, Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: 10 * time.Second}},
	)
}

func TestSlidingLog_clockFarAheadIsForgotten(t *testing.T) {
	take := slidingLog(logParams{Subject: "u1", Limit: 1, Window: 10 * time.Second})
	limiters.Run(
		t,
		step{Name: "written a year ahead", Advance: 365 * day, Call: take, Writes: true, Want: logResult{Allowed: true, Count: 1, ResetAfter: 10 * time.Second}},
		step{Name: "as far ahead as the window still counts", Advance: -10 * time.Second, Call: take, Want: logResult{Count: 1, RetryAfter: 20 * time.Second, ResetAfter: 20 * time.Second}},
		step{Name: "further ahead resets it", Advance: -time.Microsecond, Call: take, Writes: true, TTLs: ttls{key("u1", "log"): 10 * time.Second}, Want: logResult{Allowed: true, Count: 1, ResetAfter: 10 * time.Second}},
		step{Name: "and holds", Call: take, Want: logResult{Count: 1, RetryAfter: 10 * time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "back where it belongs", Advance: -365 * day, Call: take, Writes: true, TTLs: ttls{key("u1", "log"): 10 * time.Second}, Want: logResult{Allowed: true, Count: 1, ResetAfter: 10 * time.Second}},
	)
}
