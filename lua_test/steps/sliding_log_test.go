package steps_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
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

func TestSlidingLog_anotherLimitOrWindow(t *testing.T) {
	take := func(limit int64, window time.Duration) func(context.Context, *ratelimit.Client) (any, error) {
		return slidingLog(logParams{Subject: "u1", Limit: limit, Window: window})
	}
	limiters.Run(
		t,
		step{Call: take(3, 10*time.Second), Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 2, ResetAfter: 10 * time.Second}},
		step{Advance: time.Second, Call: take(3, 10*time.Second), Writes: true, Want: logResult{Allowed: true, Count: 2, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Advance: time.Second, Call: take(3, 10*time.Second), Writes: true, Want: logResult{Allowed: true, Count: 3, ResetAfter: 10 * time.Second}},
		step{Name: "a lower limit waits until fewer than it are left", Call: take(1, 10*time.Second), Want: logResult{Count: 3, RetryAfter: 10 * time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "a limit of 2 waits for the second", Call: take(2, 10*time.Second), Want: logResult{Count: 3, RetryAfter: 9 * time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "a higher limit has room", Call: take(5, 10*time.Second), Writes: true, Want: logResult{Allowed: true, Count: 4, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Name: "a shorter window sees what is in it", Call: take(3, time.Second), Writes: true, TTLs: ttls{key("u1", "log"): 10 * time.Second}, Want: logResult{Allowed: true, Count: 3, ResetAfter: time.Second}},
		step{Name: "and a longer one all that was taken", Advance: 2 * time.Second, Call: take(6, 10*time.Second), Writes: true, Want: logResult{Allowed: true, Count: 6, ResetAfter: 10 * time.Second}},
		step{Name: "one more is kept than the highest limit", Advance: time.Second, Call: take(1, time.Second), Writes: true, TTLs: ttls{key("u1", "log"): 10 * time.Second}, Want: logResult{Allowed: true, Count: 1, ResetAfter: time.Second}},
		step{Call: take(10, 10*time.Second), Writes: true, Want: logResult{Allowed: true, Count: 8, Remaining: 2, ResetAfter: 10 * time.Second}},
	)
}

// Each place that a window can begin at is found, from the oldest entry for the longest window, from the newest for a shorter one.
func TestSlidingLog_searchFindsTheFirstOfManyInTheWindow(t *testing.T) {
	const many = 40
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		counts := func(window time.Duration, want int64) {
			t.Helper()
			r, err := c.SlidingLogPeek(t.Context(), ratelimit.SlidingLogPeekParams{Subject: "u1", Limit: 100, Window: window})
			if err != nil || r.Count != want {
				t.Errorf("%s: %+v %v, want %d", window, r, err, want)
			}
		}
		for range many {
			s.Advance(t, time.Millisecond)
			if _, err := c.SlidingLog(t.Context(), logParams{Subject: "u1", Limit: 100, Window: time.Second}); err != nil {
				t.Fatal(err)
			}
		}
		for n := range int64(many) {
			counts(time.Duration(n)*time.Millisecond+time.Microsecond, n+1)
		}
		s.Advance(t, time.Second-many*time.Millisecond)
		for n := range int64(many + 1) {
			counts(time.Second, many-n)
			s.Advance(t, time.Millisecond)
		}
	})
}

func TestSlidingLog_subjectsNeverShare(t *testing.T) {
	var steps []step
	for _, subject := range []fcall.Subject{
		"2001:db8::1:7334", "2002:db9::2:7334", "7334", "a", "a}", "{a}", "{a", "a:log", "a\r\n", "a\x00", "\xff", "\xfe",
		fcall.Subject(strings.Repeat("x", 64)), fcall.Subject(strings.Repeat("x", 65)), fcall.Subject(strings.Repeat("x", 66)),
	} {
		steps = append(steps, step{
			Name: string(subject), Call: slidingLog(logParams{Subject: subject, Limit: 1, Window: time.Minute, Receipt: "r"}), Writes: true,
			Want: logResult{Allowed: true, Count: 1, ResetAfter: time.Minute},
		})
	}
	limiters.Run(t, steps...)
}
