package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

type (
	gcraParams = ratelimit.GCRAParams
	gcraResult = ratelimit.GCRAResult
)

func gcra(p gcraParams) func(context.Context, *ratelimit.Client) (any, error) {
	return luatest.Call((*ratelimit.Client).GCRA, p)
}

func cost(n int64) *int64 { return &n }

func bucket(d time.Duration) ttls { return ttls{key("u1", "gcra"): d} }

func TestGCRA_admitsTheBurstThenOneAnInterval(t *testing.T) {
	take := gcra(gcraParams{Subject: "u1", Limit: 3, Period: 6 * time.Second})
	limiters.Run(
		t,
		step{Name: "first use", Call: take, Writes: true, TTLs: bucket(2 * time.Second), Want: gcraResult{Allowed: true, Remaining: 2, ResetAfter: 2 * time.Second}},
		step{Call: take, Writes: true, TTLs: bucket(4 * time.Second), Want: gcraResult{Allowed: true, Remaining: 1, ResetAfter: 4 * time.Second}},
		step{Name: "exactly the limit", Call: take, Writes: true, TTLs: bucket(6 * time.Second), Want: gcraResult{Allowed: true, ResetAfter: 6 * time.Second}},
		step{Name: "one more", Call: take, Want: gcraResult{RetryAfter: 2 * time.Second, ResetAfter: 6 * time.Second}},
		step{Name: "one tick sooner", Advance: 2*time.Second - time.Millisecond, Call: take, Want: gcraResult{RetryAfter: time.Millisecond, ResetAfter: 4*time.Second + time.Millisecond}},
		step{Name: "at retry_after", Advance: time.Millisecond, Call: take, Writes: true, TTLs: bucket(6 * time.Second), Want: gcraResult{Allowed: true, ResetAfter: 6 * time.Second}},
		step{Name: "half a bucket later", Advance: 3 * time.Second, Call: take, Writes: true, TTLs: bucket(5 * time.Second), Want: gcraResult{Allowed: true, ResetAfter: 5 * time.Second}},
		step{Name: "long idle", Advance: 1000 * day, Call: take, Writes: true, TTLs: bucket(2 * time.Second), Want: gcraResult{Allowed: true, Remaining: 2, ResetAfter: 2 * time.Second}},
	)
}

func TestGCRA_costsAreTakenWholeOrNotAtAll(t *testing.T) {
	take := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return gcra(gcraParams{Subject: "u1", Limit: 10, Period: 10 * time.Second, Cost: cost(n)})
	}
	limiters.Run(
		t,
		step{Name: "cost 0 only looks", Call: take(0), Want: gcraResult{Allowed: true, Remaining: 10}},
		step{Call: take(7), Writes: true, TTLs: bucket(7 * time.Second), Want: gcraResult{Allowed: true, Remaining: 3, ResetAfter: 7 * time.Second}},
		step{Name: "cost 0", Call: take(0), Want: gcraResult{Allowed: true, Remaining: 3, ResetAfter: 7 * time.Second}},
		step{Name: "more than is left", Call: take(4), Want: gcraResult{Remaining: 3, RetryAfter: time.Second, ResetAfter: 7 * time.Second}},
		step{Name: "a refused call has taken nothing", Call: take(3), Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 10 * time.Second}},
		step{Name: "cost 0 passes an empty bucket", Call: take(0), Want: gcraResult{Allowed: true, ResetAfter: 10 * time.Second}},
		step{Name: "all at once", Call: take(10), Want: gcraResult{RetryAfter: 10 * time.Second, ResetAfter: 10 * time.Second}},
		step{Name: "cost above the burst", Call: take(11), WantErr: fcall.ErrArgument},
		step{Name: "cost above its bounds", Call: take(1_000_000_000_001), WantErr: fcall.ErrArgument},
		step{Name: "cost below them", Call: take(-1), WantErr: fcall.ErrArgument},
		step{Name: "half a token is none", Advance: 1500 * time.Millisecond, Call: take(2), Want: gcraResult{Remaining: 1, RetryAfter: 500 * time.Millisecond, ResetAfter: 8500 * time.Millisecond}},
		step{Name: "full again", Advance: 8500 * time.Millisecond, Call: take(10), Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 10 * time.Second}},
	)
}

func TestGCRA_clockBackwardsRefusesForAsMuchLonger(t *testing.T) {
	take := gcra(gcraParams{Subject: "u1", Limit: 10, Period: 10 * time.Second, Cost: cost(7)})
	// 999 is odd: microseconds.
	odd := gcra(gcraParams{Subject: "u2", Limit: 10, Period: 9990 * time.Microsecond, Cost: cost(7)})
	limiters.Run(
		t,
		step{Call: take, Writes: true, Want: gcraResult{Allowed: true, Remaining: 3, ResetAfter: 7 * time.Second}},
		step{Advance: -2 * time.Second, Call: take, Want: gcraResult{Remaining: 1, RetryAfter: 6 * time.Second, ResetAfter: 9 * time.Second}},
		step{Advance: 6 * time.Second, Call: take, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 10 * time.Second}},
		step{Call: odd, Writes: true, Want: gcraResult{Allowed: true, Remaining: 3, ResetAfter: 6993 * time.Microsecond}},
		step{Advance: -2 * time.Millisecond, Call: odd, Want: gcraResult{Remaining: 0, RetryAfter: 5996 * time.Microsecond, ResetAfter: 8993 * time.Microsecond}},
		step{Advance: 5996 * time.Microsecond, Call: odd, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 9990 * time.Microsecond}},
	)
}

func TestGCRA_clockFarAheadIsForgotten(t *testing.T) {
	for name, period := range map[string]time.Duration{"milliseconds": 10 * time.Second, "microseconds": 10*time.Second + 10*time.Microsecond} {
		t.Run(name, func(t *testing.T) {
			take := gcra(gcraParams{Subject: "u1", Limit: 10, Period: period, Cost: cost(10)})
			full := gcraResult{Allowed: true, ResetAfter: period}
			limiters.Run(
				t,
				step{Name: "emptied a year ahead", Advance: 365 * day, Call: take, Writes: true, Want: full},
				step{Name: "no bucket takes that long to fill", Advance: -365 * day, Call: take, Writes: true, TTLs: bucket((period + 999*time.Microsecond).Truncate(time.Millisecond)), Want: full},
				step{Name: "and it holds", Call: take, Want: gcraResult{RetryAfter: period, ResetAfter: period}},
			)
		})
	}
}

func TestGCRA_smallestAndLargestArguments(t *testing.T) {
	smallest := gcra(gcraParams{Subject: "a", Limit: 1, Period: time.Microsecond})
	fastest := gcra(gcraParams{Subject: "b", Limit: 1_000_000, Period: time.Microsecond, Cost: cost(1_000_000)})
	half := gcra(gcraParams{Subject: "b", Limit: 1_000_000, Period: time.Microsecond, Cost: cost(1)})
	century := gcraParams{Subject: "u1", Limit: 1, Period: 3650 * day, Burst: 10, Cost: cost(10)}
	tooLong := century
	tooLong.Burst = 11
	most := gcra(gcraParams{Subject: "c", Limit: 1_000_000, Period: 3650 * day, Burst: 1_000_000, Cost: cost(1_000_000)})
	limiters.Run(
		t,
		step{Call: smallest, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: time.Microsecond}, TTLs: ttls{key("a", "gcra"): time.Millisecond}},
		step{Call: smallest, Want: gcraResult{RetryAfter: time.Microsecond, ResetAfter: time.Microsecond}},
		step{Advance: time.Microsecond, Call: smallest, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: time.Microsecond}},
		step{Advance: time.Second, Call: fastest, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: time.Microsecond}, TTLs: ttls{key("b", "gcra"): time.Millisecond}},
		step{Name: "a millionth of a microsecond", Call: half, Want: gcraResult{RetryAfter: time.Microsecond, ResetAfter: time.Microsecond}},
		step{Advance: time.Microsecond, Call: half, Writes: true, Want: gcraResult{Allowed: true, Remaining: 999_999, ResetAfter: time.Microsecond}},
		step{Advance: time.Second, Call: gcra(century), Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 36_500 * day}, TTLs: bucket(36_500 * day)},
		step{Call: gcra(century), Want: gcraResult{RetryAfter: 36_500 * day, ResetAfter: 36_500 * day}},
		step{Name: "longer than 100 years to fill", Call: gcra(tooLong), WantErr: fcall.ErrArgument},
		step{Call: most, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 3650 * day}},
		step{Call: most, Want: gcraResult{RetryAfter: 3650 * day, ResetAfter: 3650 * day}},
	)
}

func TestGCRAReset_fillsTheBucket(t *testing.T) {
	take := gcra(gcraParams{Subject: "u1", Limit: 1, Period: time.Minute})
	reset := luatest.Call((*ratelimit.Client).GCRAReset, ratelimit.GCRAResetParams{Subject: "u1"})
	limiters.Run(
		t,
		step{Name: "nothing there", Call: reset, Want: ratelimit.GCRAResetResult{}},
		step{Call: take, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: time.Minute}},
		step{Call: take, Want: gcraResult{RetryAfter: time.Minute, ResetAfter: time.Minute}},
		step{Call: gcra(gcraParams{Subject: "u2", Limit: 1, Period: time.Minute}), Writes: true, Want: gcraResult{Allowed: true, ResetAfter: time.Minute}},
		step{Call: reset, Writes: true, Want: ratelimit.GCRAResetResult{Existed: true}, TTLs: ttls{key("u2", "gcra"): time.Minute}},
		step{Call: reset, Want: ratelimit.GCRAResetResult{}},
		step{Call: take, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: time.Minute}},
		step{Name: "a key of another type goes too", Given: wrongType(key("u1", "gcra")), Call: reset, Writes: true, Want: ratelimit.GCRAResetResult{Existed: true}},
	)
}

func TestGCRAPeek_returnsWhatACallWould(t *testing.T) {
	type result = ratelimit.GCRAPeekResult
	peek := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return luatest.Call((*ratelimit.Client).GCRAPeek, ratelimit.GCRAPeekParams{Subject: "u1", Limit: 10, Period: 10 * time.Second, Cost: cost(n)})
	}
	take := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		return gcra(gcraParams{Subject: "u1", Limit: 10, Period: 10 * time.Second, Cost: cost(n)})
	}
	limiters.Run(
		t,
		step{Name: "first use", Call: peek(1), Want: result{Allowed: true, Remaining: 10}},
		step{Name: "exactly the limit", Call: peek(10), Want: result{Allowed: true, Remaining: 10}},
		step{Name: "cost 0", Call: peek(0), Want: result{Allowed: true, Remaining: 10}},
		step{Call: take(7), Writes: true, Want: gcraResult{Allowed: true, Remaining: 3, ResetAfter: 7 * time.Second}},
		step{Call: peek(3), Want: result{Allowed: true, Remaining: 3, ResetAfter: 7 * time.Second}},
		step{Name: "one more", Call: peek(4), Want: result{Remaining: 3, RetryAfter: time.Second, ResetAfter: 7 * time.Second}},
		step{Name: "one tick sooner", Advance: time.Second - time.Millisecond, Call: peek(4), Want: result{Remaining: 3, RetryAfter: time.Millisecond, ResetAfter: 6*time.Second + time.Millisecond}},
		step{Name: "at retry_after", Advance: time.Millisecond, Call: peek(4), Want: result{Allowed: true, Remaining: 4, ResetAfter: 6 * time.Second}},
		step{Name: "clock backwards", Advance: -time.Second, Call: peek(4), Want: result{Remaining: 3, RetryAfter: time.Second, ResetAfter: 7 * time.Second}},
		step{Name: "clock far back", Advance: -day, Call: peek(10), Want: result{Allowed: true, Remaining: 10}},
	)
}
