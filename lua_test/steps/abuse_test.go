package steps_test

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/functions"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/concurrency"
	budget "github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/onpath"
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
	return attempt(attemptParams{Subject: "u1", Tiers: abuse.PackAttemptTiers(tiers...)})
}

func abuseKey(suffix string) string { return "rl:{u1}:" + suffix }

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

// tick is how much longer a key lives if an attempt is stored a microsecond later, because there is one of the same microsecond.
const tick = time.Millisecond

func row(count, remaining int64) attemptRow { return attemptRow{Count: count, Remaining: remaining} }

func TestAttempt_thresholdIsRefusedAndBlocks(t *testing.T) {
	try := attempts(attemptTier{Threshold: 3, Window: 10 * time.Second, Block: 60 * time.Second})
	log := func(d time.Duration) ttls { return ttls{abuseKey("attempts"): d} }
	abusers.Run(
		t,
		abuseStep{Name: "first use", Call: try, Writes: true, TTLs: log(10 * time.Second), Want: may(0, row(1, 1))},
		abuseStep{Advance: time.Second, Call: try, Writes: true, TTLs: log(10 * time.Second), Want: may(0, row(2, 0))},
		abuseStep{Name: "exactly the threshold", Advance: time.Second, Call: try, Writes: true, Want: starts(1, 60*time.Second, 1, row(3, 0)), TTLs: ttls{
			abuseKey("attempts"): 10 * time.Second, abuseKey("strikes"): 30 * day, abuseKey("block"): 60 * time.Second,
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
		Subject: "u1", Tiers: abuse.PackAttemptTiers(attemptTier{Threshold: 1, Window: time.Second, Block: time.Hour}), StrikeMemory: 10 * time.Minute,
		Escalation: abuse.PackAttemptEscalation(abuse.AttemptEscalation{Block: time.Minute}, abuse.AttemptEscalation{Block: 2 * time.Minute}, abuse.AttemptEscalation{Block: 3 * time.Minute}),
	}
	try := attempt(p)
	blockFor := func(d time.Duration, strikes int64) abuseStep {
		return abuseStep{Call: try, Writes: true, Want: starts(1, d, strikes, row(1, 0)), TTLs: ttls{
			abuseKey("attempts"): time.Second, abuseKey("strikes"): 10 * time.Minute, abuseKey("block"): d,
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

func TestAttempt_smallestAndLargestArguments(t *testing.T) {
	small := attempts(attemptTier{Threshold: 1, Window: time.Millisecond, Block: time.Millisecond})
	odd := attempt(attemptParams{Subject: "u2", Tiers: abuse.PackAttemptTiers(attemptTier{Threshold: 1, Window: time.Millisecond + 1, Block: time.Millisecond + 1})})
	large := attemptParams{Subject: "u3", StrikeMemory: 3650 * day}
	var want []attemptRow
	for range 8 {
		want = append(want, row(1, 9_998))
	}
	tier := attemptTier{Threshold: 10_000, Window: 3650 * day, Block: 3650 * day}
	large.Tiers = abuse.PackAttemptTiers(slices.Repeat([]attemptTier{tier}, 8)...)
	large.Escalation = abuse.PackAttemptEscalation(slices.Repeat([]abuse.AttemptEscalation{{Block: 3650 * day}}, 8)...)
	abusers.Run(
		t,
		abuseStep{Call: small, Writes: true, Want: starts(1, time.Millisecond, 1, row(1, 0))},
		abuseStep{Name: "rounded up to a millisecond", Call: odd, Writes: true, Want: starts(1, 2*time.Millisecond, 1, row(1, 0))},
		abuseStep{Call: attempt(large), Writes: true, Want: may(0, want...)},
	)
}

func blockFor(d time.Duration, reason string) func(context.Context, *abuse.Client) (any, error) {
	return luatest.Call((*abuse.Client).Block, abuse.BlockParams{Subject: "u1", Duration: d, Reason: reason})
}

func unblock(pardon bool) func(context.Context, *abuse.Client) (any, error) {
	return luatest.Call((*abuse.Client).Unblock, abuse.UnblockParams{Subject: "u1", Pardon: pardon})
}

func status(tiers ...attemptTier) func(context.Context, *abuse.Client) (any, error) {
	rows := make([]abuse.StatusTiers, len(tiers))
	for i, tier := range tiers {
		rows[i] = abuse.StatusTiers{Threshold: tier.Threshold, Window: tier.Window}
	}
	return luatest.Call((*abuse.Client).Status, abuse.StatusParams{Subject: "u1", Tiers: abuse.PackStatusTiers(rows...)})
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
		abuseStep{Name: "a block and its strike stay", Call: forgive, Writes: true, Want: forgiven, TTLs: ttls{abuseKey("block"): time.Minute, abuseKey("strikes"): 30*day + tick}},
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

// A block with a name has attempts, strikes and a key of its own.
func TestAttempt_blocksWithANameAreApart(t *testing.T) {
	tier := attemptTier{Threshold: 2, Window: time.Hour, Block: time.Minute}
	login := attempt(attemptParams{Subject: "u1", Name: "login", Tiers: abuse.PackAttemptTiers(tier)})
	abusers.Run(
		t,
		abuseStep{Call: login, Writes: true, TTLs: ttls{abuseKey("attempts:login"): time.Hour}, Want: may(0, row(1, 0))},
		abuseStep{Call: login, Writes: true, Want: starts(1, time.Minute, 1, row(2, 0)), TTLs: ttls{
			abuseKey("block:login"): time.Minute, abuseKey("attempts:login"): time.Hour + tick, abuseKey("strikes:login"): 30*day + tick,
		}},
		abuseStep{Call: login, Want: held(1, time.Minute, 1, row(2, 0))},
		abuseStep{Name: "without a name", Call: attempts(tier), Writes: true, Want: may(0, row(1, 0))},
		abuseStep{Call: status(tier), Want: abuse.StatusResult{Tiers: suites.AttemptCounts(1)}},
		abuseStep{Call: unblock(false), Want: abuse.UnblockResult{}},
		abuseStep{Call: luatest.Call((*abuse.Client).Unblock, abuse.UnblockParams{Subject: "u1", Name: "login"}), Writes: true, Want: abuse.UnblockResult{Existed: true}},
		abuseStep{Call: login, Writes: true, Want: may(1, row(1, 0))},
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
		abuseStep{Call: unblock(false), Writes: true, Want: existed, TTLs: ttls{abuseKey("attempts"): time.Hour + tick, abuseKey("strikes"): 30*day + tick}},
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

// holds puts a text where a key is; a ttl of 0 is none.
func holds(name, text string, ttl time.Duration) func(testing.TB, *luatest.Server) {
	return func(t testing.TB, s *luatest.Server) {
		s.Do(t, "SET", name, text)
		if ttl > 0 {
			s.Expire(t, name, ttl)
		}
	}
}

func removes(name string) func(testing.TB, *luatest.Server) {
	return func(t testing.TB, s *luatest.Server) { s.Do(t, "DEL", name) }
}

func TestAbuse_unreadableIsReportedAndKept(t *testing.T) {
	tiers := []attemptTier{{Threshold: 2, Window: time.Minute, Block: time.Minute}, {Threshold: 3, Window: time.Hour, Block: time.Minute}}
	try, look := attempts(tiers...), status(tiers...)
	var steps []abuseStep
	refused := func(suffix string, words ...any) {
		name := abuseKey(suffix)
		given := func(t testing.TB, s *luatest.Server) {
			s.Do(t, append([]any{words[0], name}, words[1:]...)...)
			s.Expire(t, name, time.Hour)
		}
		steps = append(
			steps,
			abuseStep{Name: fmt.Sprint(suffix, words), Given: given, Call: try, WantErr: fcall.ErrState},
			abuseStep{Call: look, WantErr: fcall.ErrState},
			abuseStep{Given: removes(name)},
		)
	}
	for _, text := range []string{"", "x", "tier", "tier 0", "tier 9", "tier 12", "tier 2 ", " tier 2", "Manual", "1"} {
		refused("block", "SET", text)
	}
	for _, member := range []string{"", "x", "-1", "1.5", "nan", "1767323045678901x", "9999999999999999"} {
		refused("attempts", "ZADD", "1767323045678901", member)
		refused("attempts", "ZADD", "inf", member)
	}
	for _, entry := range []string{"", "x", " 5", "-1", "9999999999999999 2:60000000"} {
		refused("strikes", "RPUSH", entry)
	}
	steps = append(
		steps,
		abuseStep{Name: "a block that never ends", Given: holds(abuseKey("block"), "tier 1", 0), Call: try, WantErr: fcall.ErrState},
		abuseStep{Call: look, WantErr: fcall.ErrState},
		abuseStep{Call: blockFor(time.Hour, ""), WantErr: fcall.ErrState},
		abuseStep{Name: "which only a person removes", Call: unblock(false), Writes: true, Want: existed},
		abuseStep{Name: "attempts that never expire get an expiry", Given: func(t testing.TB, s *luatest.Server) {
			s.Do(t, "ZADD", abuseKey("attempts"), "1767323045678901", "1767323045678901")
		}, Call: try, Writes: true, Want: starts(1, time.Minute, 1, row(2, 0), row(2, 0)), TTLs: ttls{
			abuseKey("attempts"): time.Hour + tick, abuseKey("strikes"): 30*day + tick, abuseKey("block"): time.Minute,
		}},
	)
	abusers.Run(t, steps...)
}

func TestAbuse_clockBackwards(t *testing.T) {
	try := attempts(attemptTier{Threshold: 2, Window: 10 * time.Second, Block: time.Second})
	abusers.Run(
		t,
		abuseStep{Call: try, Writes: true, Want: may(0, row(1, 0))},
		abuseStep{Name: "set back by 4 s: made as of the newest", Advance: -4 * time.Second, Call: try, Writes: true, Want: starts(1, time.Second, 1, row(2, 0)), TTLs: ttls{
			abuseKey("attempts"): 14*time.Second + tick, abuseKey("strikes"): 30*day + 4*time.Second + tick, abuseKey("block"): time.Second,
		}},
		abuseStep{Name: "a block ends when its key does", Advance: -time.Minute, Call: try, Want: held(1, 61*time.Second, 1, row(0, 1))},
		abuseStep{Advance: 61 * time.Second, Call: try, Writes: true, Want: may(1, row(1, 0))},
		abuseStep{Name: "and this one is later than those that are answered", Call: try, Writes: true, Want: starts(1, time.Second, 2, row(2, 0))},
	)
}

func TestAbuse_clockFarAheadIsForgotten(t *testing.T) {
	try := attempt(attemptParams{Subject: "u1", Tiers: abuse.PackAttemptTiers(attemptTier{Threshold: 2, Window: 10 * time.Second, Block: time.Second}), StrikeMemory: time.Minute})
	abusers.Run(
		t,
		abuseStep{Name: "a year ahead", Advance: 365 * day, Call: try, Writes: true, Want: may(0, row(1, 0))},
		abuseStep{Call: try, Writes: true, Want: starts(1, time.Second, 1, row(2, 0))},
		abuseStep{Call: unblock(false), Writes: true, Want: existed},
		abuseStep{Name: "attempts and strikes are reset", Advance: -365 * day, Call: try, Writes: true, Want: may(0, row(1, 0))},
		abuseStep{Call: try, Writes: true, Want: starts(1, time.Second, 1, row(2, 0)), TTLs: ttls{
			abuseKey("attempts"): 10*time.Second + tick, abuseKey("strikes"): 365*day + time.Minute + tick, abuseKey("block"): time.Second,
		}},
	)
}

// An attempt near a threshold of 10,000 is at most twice the work of one near 10, on every path, also after a time in which
// no caller came.
func TestAttempt_effortDoesNotGrowWithTheThreshold(t *testing.T) {
	suites.Guards.Each(t, func(t *testing.T, s *luatest.Server, c guarded) {
		attempts, requests := counted(t, s, abuse.Library.ServerName), counted(t, s, guard.Library.ServerName)
		s.Set(t, luatest.Start)
		asked := func() work { return attempts().atMost(requests()) } // a call is one of these libraries'
		small := attemptWork(t, s, c, asked, 10)
		threshold := int64(10_000)
		if onpath.Raced() || testing.Short() || s.Engine != "embedded" { // the same Lua asks for the same everywhere
			threshold = 1_000
		}
		large := attemptWork(t, s, c, asked, threshold)
		for path, most := range large {
			few := small[path]
			if strings.HasPrefix(path, "recorded") {
				few = few.atMost(small["recorded"])
			}
			// The embedded engine writes numbers in other texts.
			if most.commands > 2*few.commands || most.bytes > 2*few.bytes && s.Engine != "embedded" {
				t.Errorf("%s: %+v at threshold 10, %+v at %d", path, few, most, threshold)
			}
		}
		t.Logf("at threshold 10: %+v, %d: %+v", small, threshold, large)
	})
}

// attemptWork measures each path at a threshold, of several calls the greatest.
func attemptWork(t *testing.T, s *luatest.Server, c guarded, asked func() work, threshold int64) map[string]work {
	t.Helper()
	dearest, subject := map[string]work{}, fcall.Subject("")
	tiers := []attemptTier{{Threshold: threshold, Window: time.Hour, Block: time.Minute}}
	ctx := t.Context()
	begin := func(name string) { subject = fcall.Subject(name + time.Duration(threshold).String()) }
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	try := func() (abuse.AttemptResult, error) {
		return c.Abuse.Attempt(ctx, attemptParams{Subject: subject, Tiers: abuse.PackAttemptTiers(tiers...)})
	}
	fill := func(attempts int64) {
		tryOften(t, s, c, attemptParams{Subject: subject, Tiers: abuse.PackAttemptTiers(tiers...)}, attempts)
	}
	measure := func(path string, call func()) {
		asked()
		call()
		dearest[path] = dearest[path].atMost(asked())
	}
	recorded := func(path string) {
		measure(path, func() {
			r, err := try()
			if must(err); !r.Allowed {
				t.Errorf("%s: %+v", path, r)
			}
		})
	}
	look := func(path string) {
		measure("status"+path, func() {
			_, err := c.Abuse.Status(ctx, abuse.StatusParams{Subject: subject, Tiers: abuse.PackStatusTiers(abuse.StatusTiers{Threshold: threshold, Window: time.Hour})})
			must(err)
		})
		measure("guard.peek"+path, func() {
			_, err := c.Guard.Peek(ctx, guard.PeekParams{Subject: subject})
			must(err)
		})
	}

	begin("near")
	fill(max(threshold-27, 0))
	for range min(threshold-1, 26) {
		recorded("recorded")
	}
	look("")
	measure("starts a block", func() {
		r, err := try()
		if must(err); r.Reason != abuse.AttemptReasonTier {
			t.Errorf("starts a block: %+v", r)
		}
	})
	measure("blocked", func() {
		r, err := try()
		if must(err); r.Reason != abuse.AttemptReasonBlocked {
			t.Errorf("blocked: %+v", r)
		}
	})
	look(", blocked")
	s.Advance(t, time.Minute)
	for range min(threshold-1, 26) {
		recorded("recorded after a block")
	}
	measure("forgiven, with a strike", func() { _, err := c.Abuse.Forgive(ctx, abuse.ForgiveParams{Subject: subject}); must(err) })
	measure("pardoned", func() {
		_, err := c.Abuse.Unblock(ctx, abuse.UnblockParams{Subject: subject, Pardon: true})
		must(err)
	})

	begin("idle")
	fill(threshold / 2)
	s.Advance(t, 30*time.Minute)
	fill(threshold/2 - 1)
	s.Advance(t, 30*time.Minute+time.Duration(threshold)*time.Microsecond) // attempts of one microsecond are stored one after the other
	for range 26 {
		recorded("recorded after half has left the window")
		if threshold == 10 {
			s.Advance(t, 10*time.Minute)
		}
	}
	s.Advance(t, time.Hour-time.Microsecond)
	recorded("recorded after all but a few have left it")

	begin("admit")
	fill(max(threshold-27, 0))
	for range min(threshold-1, 26) {
		measure("guard.admit", func() {
			r, err := c.Guard.Admit(ctx, admitParams{Subject: subject, Tiers: []guard.AdmitTiers{guard.AdmitTiers(tiers[0])}}.Packed())
			if must(err); !r.Allowed {
				t.Errorf("guard.admit: %+v", r)
			}
		})
	}
	measure("forgiven", func() { _, err := c.Abuse.Forgive(ctx, abuse.ForgiveParams{Subject: subject}); must(err) })
	return dearest
}

// tryOften makes attempts, many in a round trip.
func tryOften(t *testing.T, s *luatest.Server, c guarded, p attemptParams, attempts int64) {
	t.Helper()
	for attempts > 0 {
		many := min(attempts, 1_000)
		attempts -= many
		if _, err := s.Redis.Pipelined(t.Context(), func(pipe redis.Pipeliner) error { return queueMany(t.Context(), c, pipe, p, many) }); err != nil {
			t.Fatal(err)
		}
	}
}

func queueMany(ctx context.Context, c guarded, pipe redis.Pipeliner, p attemptParams, many int64) error {
	for range many {
		c.Abuse.QueueAttempt(ctx, pipe, p)
	}
	return nil
}

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

// Mistake 13: a clock taken from the client. No argument of any function is a time of day, but that by which refund finds an entry
// that a server's clock has made.
func TestMistake13_noTimeFromTheCaller(t *testing.T) {
	// The boundaries of a quota or a budget are not a clock: the server's decides which period it is.
	boundary := regexp.MustCompile(`^--- @arg +(limits\.)?(previous|start|next|after) +time\b`)
	err := fs.WalkDir(functions.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(functions.FS, name)
		for _, arg := range regexp.MustCompile(`(?m)^--- @arg +\S+ +time\b.*$`).FindAllString(string(text), -1) {
			if !strings.HasSuffix(arg, " when the call was decided, from its result") && !strings.Contains(arg, "from the call's result") && !boundary.MatchString(arg) {
				t.Errorf("%s takes a time: %s", name, arg)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
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
