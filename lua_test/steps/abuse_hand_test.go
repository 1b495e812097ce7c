package steps_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

func blockFor(d time.Duration, reason string) func(context.Context, *abuse.Client) (any, error) {
	return luatest.Call((*abuse.Client).Block, abuse.BlockParams{Subject: "u1", Duration: d, Reason: reason})
}

func unblock(pardon bool) func(context.Context, *abuse.Client) (any, error) {
	return luatest.Call((*abuse.Client).Unblock, abuse.UnblockParams{Subject: "u1", Pardon: pardon})
}

func status(tiers ...attemptTier) func(context.Context, *abuse.Client) (any, error) {
	p := abuse.StatusParams{Subject: "u1"}
	for _, tier := range tiers {
		p.Tiers = append(p.Tiers, abuse.StatusTiers{Threshold: tier.Threshold, Window: tier.Window})
	}
	return luatest.Call((*abuse.Client).Status, p)
}

var forgive = luatest.Call((*abuse.Client).Forgive, abuse.ForgiveParams{Subject: "u1"})

var (
	existed  = abuse.UnblockResult{Existed: true}
	forgiven = abuse.ForgiveResult{Existed: true}
)

func TestForgive_clearsAttemptsAndNotStrikes(t *testing.T) {
	try := attempts(attemptTier{Threshold: 2, Window: time.Hour, Block: time.Minute})
	abusers.Run(
		t,
		abuseStep{Name: "nothing to forget", Call: forgive, Want: abuse.ForgiveResult{}},
		abuseStep{Call: try, Writes: true, Want: may(0, row(1, 0))},
		abuseStep{Call: forgive, Writes: true, TTLs: ttls{}, Want: forgiven},
		abuseStep{Name: "counts from the first", Call: try, Writes: true, Want: may(0, row(1, 0))},
		abuseStep{Call: try, Writes: true, Want: starts(1, time.Minute, 1, row(2, 0))},
		abuseStep{Name: "a block and its strike stay", Call: forgive, Writes: true, Want: forgiven, TTLs: ttls{abuseKey("block"): time.Minute, abuseKey("attempts"): 30 * day}},
		abuseStep{Name: "attempts are forgotten once", Call: forgive, Want: abuse.ForgiveResult{}},
		abuseStep{Call: try, Want: held(1, time.Minute, 1, row(0, 1))},
		abuseStep{Advance: time.Minute, Call: try, Writes: true, Want: may(1, row(1, 0))},
		abuseStep{Call: try, Writes: true, Want: starts(1, time.Minute, 2, row(2, 0))},
	)
}

func TestBlock_byHand(t *testing.T) {
	try := attempts(attemptTier{Threshold: 2, Window: time.Hour, Block: time.Minute})
	abusers.Run(
		t,
		abuseStep{Call: blockFor(time.Minute, "chargeback"), Writes: true, TTLs: ttls{abuseKey("block"): time.Minute}, Want: abuse.BlockResult{Applied: true, RetryAfter: time.Minute}},
		abuseStep{Name: "no tier, no strike, not recorded", Advance: time.Second, Call: try, Want: held(0, 59*time.Second, 0, row(0, 1))},
		abuseStep{Call: status(attemptTier{Threshold: 2, Window: time.Hour}), Want: abuse.StatusResult{Blocked: true, Reason: "chargeback", RetryAfter: 59 * time.Second, Tiers: suites.AttemptCounts(0)}},
		abuseStep{Name: "a shorter one does not shorten it", Call: blockFor(time.Second, "other"), Want: abuse.BlockResult{RetryAfter: 59 * time.Second}},
		abuseStep{Name: "a longer one, without a reason", Call: blockFor(time.Hour, ""), Writes: true, Want: abuse.BlockResult{Applied: true, RetryAfter: time.Hour}},
		abuseStep{Call: status(), Want: abuse.StatusResult{Blocked: true, RetryAfter: time.Hour, Tiers: suites.AttemptCounts()}},
		abuseStep{Name: "one tick sooner", Advance: time.Hour - time.Millisecond, Call: try, Want: held(0, time.Millisecond, 0, row(0, 1))},
		abuseStep{Advance: time.Millisecond, Call: try, Writes: true, Want: may(0, row(1, 0))},
	)
}

func TestBlock_smallestAndLargestArguments(t *testing.T) {
	odd := "\x00 tier 2\r\n\xff"
	long := strings.Repeat("r", 256)
	abusers.Run(
		t,
		abuseStep{Call: blockFor(time.Millisecond, odd), Writes: true, Want: abuse.BlockResult{Applied: true, RetryAfter: time.Millisecond}},
		abuseStep{Name: "any bytes are a reason", Call: status(), Want: abuse.StatusResult{Blocked: true, Reason: odd, RetryAfter: time.Millisecond, Tiers: suites.AttemptCounts()}},
		abuseStep{Name: "rounded up", Call: blockFor(time.Millisecond+1, "tier 2"), Writes: true, Want: abuse.BlockResult{Applied: true, RetryAfter: 2 * time.Millisecond}},
		abuseStep{Call: status(), Want: abuse.StatusResult{Blocked: true, Reason: "tier 2", RetryAfter: 2 * time.Millisecond, Tiers: suites.AttemptCounts()}},
		abuseStep{Call: blockFor(3650*day, long), Writes: true, Want: abuse.BlockResult{Applied: true, RetryAfter: 3650 * day}},
		abuseStep{Call: status(), Want: abuse.StatusResult{Blocked: true, Reason: long, RetryAfter: 3650 * day, Tiers: suites.AttemptCounts()}},
		abuseStep{Call: blockFor(3650*day+1, ""), WantErr: fcall.ErrArgument},
		abuseStep{Call: blockFor(999*time.Microsecond, ""), WantErr: fcall.ErrArgument},
		abuseStep{Call: blockFor(0, ""), WantErr: fcall.ErrArgument},
		abuseStep{Call: blockFor(time.Second, long+"r"), WantErr: fcall.ErrArgument},
	)
}

func TestUnblock_endsTheBlock(t *testing.T) {
	try := attempts(attemptTier{Threshold: 2, Window: time.Hour, Block: time.Minute})
	abusers.Run(
		t,
		abuseStep{Name: "none", Call: unblock(false), Want: abuse.UnblockResult{}},
		abuseStep{Call: try, Writes: true, Want: may(0, row(1, 0))},
		abuseStep{Name: "attempts stay", Call: unblock(false), Want: abuse.UnblockResult{}},
		abuseStep{Call: try, Writes: true, Want: starts(1, time.Minute, 1, row(2, 0))},
		abuseStep{Call: unblock(false), Writes: true, Want: existed, TTLs: ttls{abuseKey("attempts"): 30 * day}},
		abuseStep{Name: "in the same microsecond it counts again, and the strike stays", Call: try, Writes: true, Want: may(1, row(1, 0))},
		abuseStep{Call: try, Writes: true, Want: starts(1, time.Minute, 2, row(2, 0))},
		abuseStep{Name: "all is forgotten", Call: unblock(true), Writes: true, Want: existed, TTLs: ttls{}},
		abuseStep{Call: try, Writes: true, Want: may(0, row(1, 0))},
		abuseStep{Name: "attempts alone", Call: unblock(true), Writes: true, Want: existed, TTLs: ttls{}},
		abuseStep{Call: unblock(true), Want: abuse.UnblockResult{}},
	)
}

func TestStatus_reportsAndChangesNothing(t *testing.T) {
	tiers := []attemptTier{{Threshold: 3, Window: 10 * time.Second, Block: time.Second}, {Threshold: 9, Window: time.Hour, Block: time.Minute}}
	try, look := attempts(tiers...), status(tiers...)
	abusers.Run(
		t,
		abuseStep{Name: "unknown", Call: look, Want: abuse.StatusResult{Tiers: suites.AttemptCounts(0, 0)}},
		abuseStep{Call: try, Writes: true, Want: may(0, row(1, 1), row(1, 7))},
		abuseStep{Advance: 10 * time.Second, Call: try, Writes: true, Want: may(0, row(1, 1), row(2, 6))},
		abuseStep{Call: look, Want: abuse.StatusResult{Tiers: suites.AttemptCounts(1, 2)}},
		abuseStep{Call: try, Writes: true, Want: may(0, row(2, 0), row(3, 5))},
		abuseStep{Call: try, Writes: true, Want: starts(1, time.Second, 1, row(3, 0), row(4, 4))},
		abuseStep{Call: look, Want: abuse.StatusResult{Blocked: true, Tier: 1, RetryAfter: time.Second, Strikes: 1, Tiers: suites.AttemptCounts(3, 4)}},
		abuseStep{Name: "without tiers", Call: status(), Want: abuse.StatusResult{Blocked: true, Tier: 1, RetryAfter: time.Second, Strikes: 1, Tiers: suites.AttemptCounts()}},
		abuseStep{Name: "the block has ended: the tier counts again", Advance: time.Second, Call: look, Want: abuse.StatusResult{Strikes: 1, Tiers: suites.AttemptCounts(0, 4)}},
	)
}
