package steps_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/concurrency"
	budget "github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

type ctxOf = context.Context

// sameKeys holds that no key, byte or expiry has changed.
func sameKeys(t *testing.T, s *luatest.Server, before map[string]luatest.Key) {
	t.Helper()
	after, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("keys (-before +after):\n%s", diff)
	}
}

var everyLibrary = []*fcall.Library{ratelimit.Library, budget.Library, abuse.Library, challenge.Library, concurrency.Library, override.Library, guard.Library}

// Mistake 2: a member that is the clock, so attempts of one tick overwrite each other.
func TestMistake02_attemptsOfOneTick(t *testing.T) {
	try := attempts(attemptTier{Threshold: 4, Window: time.Second, Block: time.Minute})
	abusers.Run(
		t,
		abuseStep{Call: try, Writes: true, Want: may(0, row(1, 2))},
		abuseStep{Call: try, Writes: true, Want: may(0, row(2, 1))},
		abuseStep{Call: try, Writes: true, Want: may(0, row(3, 0))},
		abuseStep{Call: try, Writes: true, Want: starts(1, time.Minute, 1, row(4, 0))},
	)
}

// Mistake 3: refused attempts are recorded, so a client that keeps trying is never admitted again.
func TestMistake03_attemptsWhileBlocked(t *testing.T) {
	try := attempts(attemptTier{Threshold: 2, Window: time.Minute, Block: 10 * time.Second})
	steps := []abuseStep{
		{Call: try, Writes: true, Want: may(0, row(1, 0))},
		{Call: try, Writes: true, Want: starts(1, 10*time.Second, 1, row(2, 0))},
	}
	for i := range 9 {
		steps = append(steps, abuseStep{Advance: time.Second, Call: try, Want: held(1, time.Duration(9-i)*time.Second, 1, row(2, 0))})
	}
	abusers.Run(t, append(steps, abuseStep{Advance: time.Second, Call: try, Writes: true, Want: may(1, row(1, 0))})...)
}

// Mistake 7: a block that is only seen through the counts: when the window empties, the blocked are let in.
func TestMistake07_blockOutlivesTheWindow(t *testing.T) {
	try := attempts(attemptTier{Threshold: 1, Window: time.Second, Block: time.Hour})
	abusers.Run(
		t,
		abuseStep{Call: try, Writes: true, Want: starts(1, time.Hour, 1, row(1, 0))},
		abuseStep{Name: "the window is empty", Advance: 2 * time.Second, Call: try, TTLs: ttls{abuseKey("block"): time.Hour - 2*time.Second, abuseKey("attempts"): 30*day - 2*time.Second}, Want: held(1, time.Hour-2*time.Second, 1, row(0, 0))},
		abuseStep{Advance: time.Hour - 2*time.Second - time.Millisecond, Call: try, Want: held(1, time.Millisecond, 1, row(0, 0))},
		abuseStep{Name: "its end lets in, not a moment sooner", Advance: time.Millisecond, Call: status(attemptTier{Threshold: 1, Window: time.Second}), Want: abuse.StatusResult{Strikes: 1, Tiers: suites.AttemptCounts(0)}},
	)
}

// Mistake 8: attempts that live as long as the block and not as the longest window; keys that never expire.
func TestMistake08_attemptsLiveAsLongAsTheLongestWindow(t *testing.T) {
	short := []attemptTier{{Threshold: 9, Window: time.Minute, Block: time.Second}, {Threshold: 9, Window: 2 * time.Hour, Block: time.Second}, {Threshold: 9, Window: time.Hour, Block: time.Second}}
	long := []attemptTier{{Threshold: 9, Window: time.Minute, Block: 100 * day}}
	abusers.Run(
		t,
		abuseStep{Call: attempts(short...), Writes: true, TTLs: ttls{abuseKey("attempts"): 2 * time.Hour}, Want: may(0, row(1, 7), row(1, 7), row(1, 7))},
		abuseStep{Name: "a call with a shorter one does not shorten it", Advance: time.Minute, Call: attempts(long...), Writes: true, TTLs: ttls{abuseKey("attempts"): 2 * time.Hour}, Want: may(0, row(1, 7))},
		abuseStep{Name: "which is reset when they are gone", Advance: 3 * time.Hour, Call: attempts(long...), Writes: true, TTLs: ttls{abuseKey("attempts"): time.Minute}, Want: may(0, row(1, 7))},
		abuseStep{Name: "a window below a millisecond", Advance: day, Call: attempts(attemptTier{Threshold: 9, Window: time.Microsecond, Block: day}), Writes: true, TTLs: ttls{abuseKey("attempts"): time.Millisecond}, Want: may(0, row(1, 7))},
	)
}

// Mistake 9: retry_after asked for after the decision. Here the refusal and the block's expiry are one call.
func TestMistake09_retryAfterIsTheBlocksExpiry(t *testing.T) {
	abusers.EachOnRealTime(t, func(t *testing.T, s *luatest.Server, c *abuse.Client) {
		p := attemptParams{Subject: "u1", Tiers: []attemptTier{{Threshold: 1, Window: time.Minute, Block: time.Hour}}}
		for range 5 {
			r, err := c.Attempt(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			left := s.Redis.PTTL(t.Context(), abuseKey("block")).Val()
			if r.Allowed || left > r.RetryAfter || r.RetryAfter > time.Hour || r.RetryAfter-left > 10*time.Second {
				t.Errorf("%+v, and the block has %s left", r, left)
			}
		}
	})
}

// Mistake 13: a clock taken from the client. No argument of any function is a time of day, but that by which refund finds an entry
// that a server's clock has made.
func TestMistake13_noTimeFromTheCaller(t *testing.T) {
	// A quota's boundaries are not a clock: the server's decides which period it is.
	boundary := regexp.MustCompile(`^--- @arg +(previous|start|next|after) +time\b`)
	for _, lib := range everyLibrary {
		for _, arg := range regexp.MustCompile(`(?m)^--- @arg +\S+ +time\b.*$`).FindAllString(lib.Code, -1) {
			if !strings.HasSuffix(arg, " when the call was decided, from its result") && !strings.Contains(arg, "from the call's result") && !boundary.MatchString(arg) {
				t.Errorf("%s takes a time: %s", lib.Name, arg)
			}
		}
	}
}

// Mistake 15: a random number for uniqueness. Tokens come from the system's source, and no Lua makes any.
func TestMistake15_noRandomNumbersInLua(t *testing.T) {
	for _, lib := range everyLibrary {
		if strings.Contains(lib.Code, "math.random") {
			t.Errorf("%s uses math.random", lib.Name)
		}
	}
}
