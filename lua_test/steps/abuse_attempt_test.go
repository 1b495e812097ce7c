package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type (
	abuseStep     = luatest.Step[*abuse.Client]
	attemptParams = abuse.AttemptParams
	attemptResult = abuse.AttemptResult
	attemptTier   = abuse.AttemptTiers
	attemptRow    = abuse.AttemptTiersResult
)

func attempt(p attemptParams) func(context.Context, *abuse.Client) (any, error) {
	return luatest.Call((*abuse.Client).Attempt, p)
}

// attempts is a call of u1 under these tiers.
func attempts(tiers ...attemptTier) func(context.Context, *abuse.Client) (any, error) {
	return attempt(attemptParams{Subject: "u1", Tiers: tiers})
}

func abuseKey(suffix string) string { return "abuse:{u1}:" + suffix }

// may is the answer to an allowed attempt, with a count and what remains for each tier.
func may(strikes int64, rows ...attemptRow) attemptResult {
	return attemptResult{Allowed: true, Reason: abuse.AttemptReasonNone, Strikes: strikes, Tiers: rows}
}

// starts is the answer to the attempt that starts a block, and held that to one while it holds.
func starts(tier int64, retry time.Duration, strikes int64, rows ...attemptRow) attemptResult {
	return attemptResult{Reason: abuse.AttemptReasonTier, Tier: tier, RetryAfter: retry, Strikes: strikes, Tiers: rows}
}

func held(tier int64, retry time.Duration, strikes int64, rows ...attemptRow) attemptResult {
	return attemptResult{Reason: abuse.AttemptReasonBlocked, Tier: tier, RetryAfter: retry, Strikes: strikes, Tiers: rows}
}

func row(count, remaining int64) attemptRow { return attemptRow{Count: count, Remaining: remaining} }

func TestAttempt_thresholdIsRefusedAndBlocks(t *testing.T) {
	try := attempts(attemptTier{Threshold: 3, Window: 10 * time.Second, Block: 60 * time.Second})
	log := func(d time.Duration) ttls { return ttls{abuseKey("attempts"): d} }
	abusers.Run(
		t,
		abuseStep{Name: "first use", Call: try, Writes: true, TTLs: log(10 * time.Second), Want: may(0, row(1, 1))},
		abuseStep{Advance: time.Second, Call: try, Writes: true, TTLs: log(10 * time.Second), Want: may(0, row(2, 0))},
		abuseStep{Name: "exactly the threshold", Advance: time.Second, Call: try, Writes: true, Want: starts(1, 60*time.Second, 1, row(3, 0)), TTLs: ttls{
			abuseKey("attempts"): 30 * day, abuseKey("block"): 60 * time.Second,
		}},
		abuseStep{Name: "one more is not recorded", Call: try, Want: held(1, 60*time.Second, 1, row(3, 0))},
		abuseStep{Name: "the window has emptied, the block holds", Advance: 11 * time.Second, Call: try, Want: held(1, 49*time.Second, 1, row(0, 2))},
		abuseStep{Name: "one tick sooner", Advance: 49*time.Second - time.Millisecond, Call: try, Want: held(1, time.Millisecond, 1, row(0, 2))},
		abuseStep{Name: "at retry_after", Advance: time.Millisecond, Call: try, Writes: true, Want: may(1, row(1, 1))},
		abuseStep{Name: "long idle", Advance: 1000 * day, Call: try, Writes: true, TTLs: log(10 * time.Second), Want: may(0, row(1, 1))},
	)
}

func TestAttempt_escalates(t *testing.T) {
	p := attemptParams{
		Subject: "u1", Tiers: []attemptTier{{Threshold: 1, Window: time.Second, Block: time.Hour}}, StrikeMemory: 10 * time.Minute,
		Escalation: []abuse.AttemptEscalation{{Block: time.Minute}, {Block: 2 * time.Minute}, {Block: 3 * time.Minute}},
	}
	try := attempt(p)
	blockFor := func(d time.Duration, strikes int64) abuseStep {
		return abuseStep{Call: try, Writes: true, Want: starts(1, d, strikes, row(1, 0)), TTLs: ttls{
			abuseKey("attempts"): 10 * time.Minute, abuseKey("block"): d,
		}}
	}
	after := func(d time.Duration, s abuseStep) abuseStep { s.Advance = d; return s }
	abusers.Run(
		t,
		blockFor(time.Minute, 1),
		after(time.Minute, blockFor(2*time.Minute, 2)),
		after(2*time.Minute, blockFor(3*time.Minute, 3)),
		after(3*time.Minute, blockFor(3*time.Minute, 4)),
		abuseStep{Name: "the first strike, of 10 minutes ago, is forgotten", Advance: 4*time.Minute - time.Microsecond, Call: luatest.Call((*abuse.Client).Status, abuse.StatusParams{Subject: "u1", StrikeMemory: 10 * time.Minute}), Want: abuse.StatusResult{Strikes: 4, Tiers: suites.AttemptCounts()}},
		abuseStep{Advance: time.Microsecond, Call: luatest.Call((*abuse.Client).Status, abuse.StatusParams{Subject: "u1", StrikeMemory: 10 * time.Minute}), Want: abuse.StatusResult{Strikes: 3, Tiers: suites.AttemptCounts()}},
		after(20*time.Minute, blockFor(time.Minute, 1)),
	)
}

func TestAttempt_strikesAreBounded(t *testing.T) {
	try := attempts(attemptTier{Threshold: 1, Window: time.Second, Block: time.Millisecond})
	var steps []abuseStep
	for i := range int64(70) {
		steps = append(steps, abuseStep{Advance: time.Millisecond, Call: try, Writes: true, Want: starts(1, time.Millisecond, min(i+1, 64), row(1, 0))})
	}
	abusers.Run(t, steps...)
}

func TestAttempt_smallestAndLargestArguments(t *testing.T) {
	small := attempts(attemptTier{Threshold: 1, Window: time.Microsecond, Block: time.Millisecond})
	odd := attempt(attemptParams{Subject: "u2", Tiers: []attemptTier{{Threshold: 1, Window: 1, Block: time.Millisecond + 1}}})
	large := attemptParams{Subject: "u3", StrikeMemory: 3650 * day}
	var want []attemptRow
	for range 8 {
		large.Tiers = append(large.Tiers, attemptTier{Threshold: 10_000, Window: 3650 * day, Block: 3650 * day})
		large.Escalation = append(large.Escalation, abuse.AttemptEscalation{Block: 3650 * day})
		want = append(want, row(1, 9_998))
	}
	nine := large
	nine.Tiers = append(nine.Tiers, nine.Tiers[0])
	abusers.Run(
		t,
		abuseStep{Call: small, Writes: true, Want: starts(1, time.Millisecond, 1, row(1, 0))},
		abuseStep{Name: "rounded up to a millisecond", Call: odd, Writes: true, Want: starts(1, 2*time.Millisecond, 1, row(1, 0))},
		abuseStep{Call: attempt(large), Writes: true, Want: may(0, want...)},
		abuseStep{Name: "no tier", Call: attempts(), WantErr: fcall.ErrArgument},
		abuseStep{Name: "nine tiers", Call: attempt(nine), WantErr: fcall.ErrArgument},
		abuseStep{Name: "threshold 0", Call: attempts(attemptTier{Window: time.Second, Block: time.Second}), WantErr: fcall.ErrArgument},
		abuseStep{Name: "no window", Call: attempts(attemptTier{Threshold: 1, Block: time.Second}), WantErr: fcall.ErrArgument},
		abuseStep{Name: "a block below the tick", Call: attempts(attemptTier{Threshold: 1, Window: time.Second, Block: 999 * time.Microsecond}), WantErr: fcall.ErrArgument},
	)
}

// Pages end with their newest time, also where what is not in them lives on for a strike; what the head said of them is then no more.
func TestAttempt_pagesThatExpiredAreNotCounted(t *testing.T) {
	try := attempts(attemptTier{Threshold: 20, Window: time.Hour, Block: time.Millisecond})
	var steps []abuseStep
	made := func(name string, advance time.Duration, strikes, from, to int64) {
		for n := from; n <= to; n++ {
			steps = append(steps, abuseStep{Name: name, Advance: advance, Call: try, Writes: true, Want: may(strikes, row(n, 19-n))})
			advance = 0
		}
	}
	made("at once", 0, 0, 1, 19)
	steps = append(steps, abuseStep{Call: try, Writes: true, Want: starts(1, time.Millisecond, 1, row(20, 0))})
	made("after the block", time.Millisecond, 1, 1, 4)
	made("as the first page ends", time.Hour-time.Microsecond, 1, 5, 19)
	abusers.Run(t, steps...)
}
