package steps_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/guard"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type (
	guardStep   = luatest.Step[guarded]
	admitResult = guard.AdmitResult
	admitParams = suites.AdmitParams
	guarded     = suites.Guarded
	admitLimit  = guard.Limit
	admitRow    = guard.LimitResult
)

var given = guard.RefundResult{Refunded: true}

func guardKey(suffix string) string { return "rl:{u1}:" + suffix }

// by is a step's call by one of the clients: by(suites.CostOf, (*budget.Client).Settle, params).
func by[C, P, R any](who func(guarded) C, method func(C, context.Context, P) (R, error), params P) func(context.Context, guarded) (any, error) {
	return func(ctx context.Context, g guarded) (any, error) { return method(who(g), ctx, params) }
}

// admit is a call of u1.
func admit(p admitParams) func(context.Context, guarded) (any, error) {
	p.Subject = "u1"
	return func(ctx context.Context, g guarded) (any, error) {
		return g.Guard.Admit(ctx, p.Packed())
	}
}

// refund refunds the charges of a call of u1.
func refund(p suites.RefundParams) func(context.Context, guarded) (any, error) {
	p.Subject = "u1"
	return refundAs(p)
}

func refundAs(p suites.RefundParams) func(context.Context, guarded) (any, error) {
	return by(suites.GuardOf, (*guard.Client).Refund, p.Packed())
}

// perLog is a sliding_log in each table's first place.
func perLog(name string, limit int64, window time.Duration) admitLimit {
	return admitLimit{Name: name, Kind: guard.LimitKindSlidingLog, Limit: limit, Window: window}
}

// afterStart is the clock at a time after the start.
func afterStart(d time.Duration) time.Time { return luatest.Start.Add(d) }

// counts is how long what is charged at the start counts in a window: to the end of its slice.
func counts(window time.Duration) time.Duration {
	slice := window / 60
	return (luatest.Start.Add(window+slice-1).Sub(time.Unix(0, 0))/slice*slice - luatest.Start.Sub(time.Unix(0, 0)))
}

// kept is counts as an expiry, which is in milliseconds.
func kept(window time.Duration) time.Duration {
	return (counts(window) + time.Millisecond - 1).Truncate(time.Millisecond)
}

// reserved is the key of a call's reservation.
func reserved(id string) string { return fcall.KeyOf("rl", "u1", "reservation", id) }

// passes is the answer to a call that is admitted at the start and asks for no more than these limits, passesAt to one so long
// after it, and stops to one that they refuse.
func passes(rows ...admitRow) admitResult { return passesAt(0, rows...) }

func passesAt(d time.Duration, rows ...admitRow) admitResult {
	return suites.Answered(admitResult{Allowed: true, Reason: guard.AdmitReasonNone, At: afterStart(d), Limits: rows})
}

func stops(retry time.Duration, rows ...admitRow) admitResult {
	return suites.Answered(admitResult{Reason: guard.AdmitReasonLimit, RetryAfter: retry, Limits: rows})
}

type (
	admitBudget = guard.BudgetResult
	admitTier   = guard.AdmitTiersResult
)

// allReasons is a call that can be refused for each reason: two in a minute, 100 micros in an hour, the ninth attempt, and a challenge.
func allReasons(receipt, token string, estimate fcall.Micros) admitParams {
	return admitParams{
		Receipt: receipt, Limits: []admitLimit{perLog("minute", 2, time.Minute)}, Challenge: token, ChallengeRequired: true,
		Budgets: []guard.Budget{{Budget: 100, Window: time.Hour}}, Estimate: estimate, Reservation: "of " + receipt,
		Tiers: []guard.AdmitTiers{{Threshold: 9, Window: time.Hour, Block: 5 * time.Minute}},
	}
}

func issues(token string) guardStep {
	call := by(suites.ChallengesOf, (*challenge.Client).Issue, issueParams{Subject: "u1", Token: token, TTL: 24 * time.Hour})
	return guardStep{Call: call, Writes: true, Want: issueResult{Token: token, ExpiresAfter: 24 * time.Hour, Outstanding: 1}}
}

// Of several reasons the first in the order is returned, with the longest wait of all.
func TestAdmit_returnsTheFirstReason(t *testing.T) {
	type of = guard.AdmitReason
	answer := func(reason of, retry time.Duration, became guard.AdmitChallenge, row admitRow, sum admitBudget, counted int64) admitResult {
		r := admitResult{Reason: reason, RetryAfter: retry, Challenge: became, Limits: []admitRow{row}, Budgets: []admitBudget{sum}}
		r.Tiers = []admitTier{{Count: counted, Remaining: max(8-counted, 0)}}
		if reason == guard.AdmitReasonBudget || reason == guard.AdmitReasonPenalty || reason == guard.AdmitReasonTooLarge {
			r.Refused = 1
		}
		return r
	}
	fresh := admitRow{Allowed: true, Remaining: 2}
	empty := admitBudget{Allowed: true, Remaining: 100}
	one := admitRow{Allowed: true, Remaining: 1, ResetAfter: time.Minute}
	two := admitRow{Allowed: true, ResetAfter: time.Minute}
	full := admitRow{RetryAfter: time.Minute, ResetAfter: time.Minute}
	passed := func(row admitRow, charged, spent fcall.Micros, counted int64) admitResult {
		r := answer(guard.AdmitReasonNone, 0, guard.AdmitChallengeConsumed, row, admitBudget{Allowed: true, Spent: spent, Remaining: 100 - spent, Charged: charged}, counted)
		r.Allowed, r.At = true, afterStart(0)
		return r
	}
	spent := admitBudget{Spent: 90, Remaining: 10, RetryAfter: counts(time.Hour)}
	suites.Guards.Run(
		t,
		guardStep{Name: "no challenge", Call: admit(allReasons("a", "", 60)), Writes: true, TTLs: ttls{guardKey("attempts"): time.Hour}, Want: answer("challenge", 0, "absent", fresh, empty, 1)},
		guardStep{Name: "none that is known", Call: admit(allReasons("a", "t1", 60)), Writes: true, Want: answer("challenge", 0, "expired_or_unknown", fresh, empty, 2)},
		issues("t1"),
		guardStep{Name: "too large before the challenge", Call: admit(allReasons("a", "t0", 101)), Writes: true, Want: answer("too_large", 0, "expired_or_unknown", fresh, admitBudget{Remaining: 100}, 3)},
		guardStep{Name: "the challenge stays", Call: admit(allReasons("a", "t1", 101)), Writes: true, Want: answer("too_large", 0, "unused", fresh, admitBudget{Remaining: 100}, 4)},
		guardStep{Name: "admitted", Call: admit(allReasons("a", "t1", 60)), Writes: true, Want: passed(one, 60, 60, 5), TTLs: ttls{
			guardKey("attempts"): time.Hour + tick, guardKey("receipt:a"): 10 * time.Second, guardKey("sliding_log:60000000:minute"): time.Minute,
			guardKey("spent:3600000000"): kept(time.Hour), guardKey("challenges"): 24 * time.Hour, reserved("of a"): 2 * time.Hour,
		}},
		guardStep{Name: "replayed", Call: admit(allReasons("b", "t1", 10)), Writes: true, Want: answer(
			"challenge", 0, "replayed",
			admitRow{Allowed: true, Remaining: 1, ResetAfter: time.Minute}, admitBudget{Allowed: true, Spent: 60, Remaining: 40}, 6,
		)},
		issues("t2"),
		guardStep{Name: "admitted again", Call: admit(allReasons("b", "t2", 30)), Writes: true, Want: passed(two, 30, 90, 7)},
		guardStep{Name: "the limit before the budget, with the budget's wait", Call: admit(allReasons("c", "", 60)), Writes: true, Want: answer("limit", counts(time.Hour), "absent", full, spent, 8)},
		guardStep{Name: "the tier before all", Call: admit(allReasons("c", "", 60)), Writes: true, Want: func() admitResult {
			r := answer("tier", counts(time.Hour), "absent", full, spent, 9)
			r.Tier, r.Strikes = 1, 1
			return r
		}()},
		guardStep{Name: "the block before all, and nothing is recorded", Call: admit(allReasons("c", "t2", 60)), Want: suites.Answered(admitResult{Reason: "blocked", Tier: 1, RetryAfter: 5 * time.Minute})},
		guardStep{Name: "not even a receipt that is known passes", Call: admit(allReasons("b", "", 60)), Want: suites.Answered(admitResult{Reason: "blocked", Tier: 1, RetryAfter: 5 * time.Minute})},
	)
}

// A block of any subject of the request refuses it, and the answer names the subject.
func TestAdmit_blocksOfOtherSubjects(t *testing.T) {
	block := func(who fcall.Subject, d time.Duration) guardStep {
		return guardStep{Call: by(suites.AbuseOf, (*abuse.Client).Block, abuse.BlockParams{Subject: who, Duration: d}), Writes: true, Want: abuse.BlockResult{Applied: true, RetryAfter: d}}
	}
	p := admitParams{
		Limits: []admitLimit{perLog("own", 5, time.Hour)}, Blocks: []fcall.Subject{"ip", "net", "key"},
		Tiers: []guard.AdmitTiers{{Threshold: 2, Window: time.Hour, Block: time.Minute}},
	}
	held := func(place int64, left time.Duration) admitResult {
		return suites.Answered(admitResult{Reason: guard.AdmitReasonBlocked, Refused: place, RetryAfter: left})
	}
	passed := passes(admitRow{Allowed: true, Remaining: 4, ResetAfter: time.Hour})
	passed.Tiers = []admitTier{{Count: 1, Remaining: 0}}
	suites.Guards.Run(
		t,
		block("key", time.Hour),
		guardStep{Name: "the last", Call: admit(p), Want: held(3, time.Hour)},
		block("net", time.Minute),
		guardStep{Name: "the first that holds", Call: admit(p), Want: held(2, time.Minute)},
		block("u1", time.Second),
		guardStep{Name: "the call's own comes first", Call: admit(p), Want: held(0, time.Second)},
		guardStep{Name: "over", Advance: time.Hour, Call: admit(p), Writes: true, Want: func() admitResult { r := passed; r.At = afterStart(time.Hour); return r }()},
	)
}

func TestCheck_answersAsAdmitForLimitsAlone(t *testing.T) {
	perMinute := guard.Limit{Kind: guard.LimitKindGCRA, Limit: 2, Window: time.Minute}
	check := func(p guard.CheckParams, l ...admitLimit) func(context.Context, guarded) (any, error) {
		p.Subject, p.Limits = "u1", guard.PackLimit(l...)
		return by(suites.GuardOf, (*guard.Client).Check, p)
	}
	answer := func(r guard.CheckResult, rows ...admitRow) guard.CheckResult {
		r.Limits = append([]admitRow{}, rows...)
		return r
	}
	passed := guard.CheckResult{Allowed: true, Reason: guard.CheckReasonNone}
	suites.Guards.Run(
		t,
		guardStep{Name: "no limit", Call: check(guard.CheckParams{}), Want: answer(passed)},
		guardStep{
			Name: "the weight multiplies", Call: check(guard.CheckParams{Weight: 2}, perMinute), Writes: true,
			Want: answer(passed, admitRow{Allowed: true, ResetAfter: time.Minute}),
		},
		guardStep{
			Name: "no token is left", Call: check(guard.CheckParams{}, perMinute),
			Want: answer(guard.CheckResult{Reason: guard.CheckReasonLimit, RetryAfter: 30 * time.Second}, admitRow{ResetAfter: time.Minute, RetryAfter: 30 * time.Second}),
		},
		guardStep{Name: "places need a holder", Call: check(guard.CheckParams{}, admitLimit{Kind: guard.LimitKindConcurrency, Limit: 1, Window: time.Minute}), WantErr: fcall.ErrArgument},
		guardStep{
			Call: by(suites.AbuseOf, (*abuse.Client).Block, abuse.BlockParams{Subject: "ip", Duration: time.Hour}), Writes: true,
			Want: abuse.BlockResult{Applied: true, RetryAfter: time.Hour},
		},
		guardStep{
			Name: "a block of another subject", Call: check(guard.CheckParams{Blocks: []fcall.Subject{"net", "ip"}}, perMinute),
			Want: answer(guard.CheckResult{Reason: guard.CheckReasonBlocked, Refused: 2, RetryAfter: time.Hour}),
		},
	)
}

// An unreadable block does not count as an expired one.
func TestAdmit_unreadableBlockOfAnotherSubject(t *testing.T) {
	suites.Guards.Run(
		t,
		guardStep{
			Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "SET", "rl:{ip}:block", "what") },
			Call:  admit(admitParams{Blocks: []fcall.Subject{"ip"}}), WantErr: fcall.ErrState,
		},
	)
}

// Receipt, budgets and challenge each belong to the subject that the call names, and are refunded there.
func TestAdmit_eachOfItsOwnSubject(t *testing.T) {
	limits := []admitLimit{perLog("own", 2, time.Hour)}
	issue := by(suites.ChallengesOf, (*challenge.Client).Issue, issueParams{Subject: "device", Token: "t1", TTL: time.Hour})
	p := admitParams{
		Limits: limits, Receipt: "r", ReceiptOf: "user", Dedup: time.Hour, Challenge: "t1", ChallengeOf: "device",
		Budgets: []guard.Budget{{Budget: 100, Window: time.Hour}}, BudgetsOf: []fcall.Subject{"team"}, Estimate: 70, Reservation: "i",
	}
	want := suites.Answered(admitResult{
		Allowed: true, Reason: guard.AdmitReasonNone, At: afterStart(0), Challenge: "consumed",
		Limits: []admitRow{{Allowed: true, Remaining: 1, ResetAfter: time.Hour}}, Budgets: []admitBudget{{Allowed: true, Spent: 70, Remaining: 30, Charged: 70}},
	})
	known := want
	known.Duplicate, known.Challenge = true, "none"
	known.Budgets = []admitBudget{{Allowed: true, Spent: 70, Remaining: 30}}
	back := suites.RefundParams{
		Subject: "user", Limits: limits, Of: []fcall.Subject{"u1"}, Left: []time.Duration{time.Hour}, At: luatest.Start, Receipt: "r",
		Challenge: "t1", ChallengeOf: "device",
	}
	nothing := guard.SettleParams{Subject: "u1", Budgets: guard.PackBudget(p.Budgets...).For(p.BudgetsOf...), Reservation: "i"}
	again := p
	again.Reservation = "j"
	suites.Guards.Run(
		t,
		guardStep{Call: issue, Writes: true, Want: issueResult{Token: "t1", ExpiresAfter: time.Hour, Outstanding: 1}},
		guardStep{Call: admit(p), Writes: true, Want: want, TTLs: ttls{
			guardKey("sliding_log:3600000000:own"): time.Hour, "rl:{user}:receipt:r": time.Hour, "rl:{device}:challenges": time.Hour, "rl:{team}:spent:3600000000": kept(time.Hour),
			reserved("i"): 2 * time.Hour,
		}},
		guardStep{Name: "a repeat", Call: admit(p), Want: known},
		guardStep{Name: "back", Call: refundAs(back), Writes: true, Want: given},
		guardStep{Name: "nothing was spent", Call: by(suites.GuardOf, (*guard.Client).Settle, nothing), Writes: true, Want: guard.SettleResult{
			Outcome: "settled", Budgets: []guard.SettleBudgetsResult{{Remaining: 100}},
		}},
		guardStep{Name: "as if it had not come", Call: admit(again), Writes: true, Want: want},
	)
}

// All budgets are charged, or none, and one settlement ends all.
func TestAdmit_severalBudgets(t *testing.T) {
	budgets := []guard.Budget{
		{Budget: 100, Window: time.Hour}, {Budget: 1000, Window: time.Minute, Unit: "tokens"}, {Budget: 150, Window: time.Hour}, {Budget: 500, Window: time.Minute},
	}
	of := []fcall.Subject{"team", "u1", "org", "team"}
	p := func(id string, estimate fcall.Micros, tokens int64) admitParams {
		return admitParams{
			Budgets: budgets, BudgetsOf: of, Estimate: estimate, Units: []guard.UnitAmount{{Unit: "tokens", Amount: tokens}}, Reservation: id,
		}
	}
	rows := func(refusing int, wait time.Duration, spent ...fcall.Micros) (all []admitBudget) {
		for i, b := range budgets {
			row := admitBudget{Allowed: i != refusing, Spent: spent[i], Remaining: max(b.Budget-spent[i], 0)}
			if refusing < 0 {
				row.Charged = spent[i]
			}
			if !row.Allowed {
				row.RetryAfter = wait
			}
			all = append(all, row)
		}
		return all
	}
	settle := func(tokens int64, actual fcall.Micros) guard.SettleParams {
		return guard.SettleParams{
			Subject: "u1", Budgets: guard.PackBudget(budgets...).For(of...), Reservation: "a", Actual: actual,
			Units: guard.PackUnitAmount(guard.UnitAmount{Unit: "tokens", Amount: tokens}),
		}
	}
	settled := func(outcome guard.SettleOutcome, spent ...fcall.Micros) guard.SettleResult {
		r := guard.SettleResult{Outcome: outcome, Exceeded: true}
		for i, b := range budgets {
			r.Budgets = append(r.Budgets, guard.SettleBudgetsResult{Spent: spent[i], Remaining: max(b.Budget-spent[i], 0)})
		}
		return r
	}
	suites.Guards.Run(
		t,
		guardStep{Call: admit(p("a", 60, 900)), Writes: true, Want: suites.Answered(admitResult{Allowed: true, Reason: "none", At: afterStart(0), Budgets: rows(-1, 0, 60, 900, 60, 60)}), TTLs: ttls{
			"rl:{team}:spent:3600000000": kept(time.Hour), "rl:{u1}:spent:tokens:60000000": kept(time.Minute), "rl:{org}:spent:3600000000": kept(time.Hour), "rl:{team}:spent:60000000": kept(time.Minute),
			reserved("a"): 2 * time.Hour,
		}},
		guardStep{Name: "the tokens do not fit", Call: admit(p("b", 1, 101)), Want: suites.Answered(admitResult{Reason: "budget", Refused: 2, RetryAfter: counts(time.Minute), Budgets: rows(1, counts(time.Minute), 60, 900, 60, 60)})},
		guardStep{Name: "the team's money does not fit", Call: admit(p("b", 41, 0)), Want: suites.Answered(admitResult{Reason: "budget", Refused: 1, RetryAfter: counts(time.Hour), Budgets: rows(0, counts(time.Hour), 60, 900, 60, 60)})},
		guardStep{Name: "too large for one, which no wait helps", Call: admit(p("b", 20, 1001)), Want: suites.Answered(admitResult{Reason: "too_large", Refused: 2, Budgets: rows(1, 0, 60, 900, 60, 60)})},
		guardStep{Name: "settled", Call: by(suites.GuardOf, (*guard.Client).Settle, settle(1001, 20)), Writes: true, Want: settled("settled", 20, 1001, 20, 20)},
		guardStep{Name: "once", Call: by(suites.GuardOf, (*guard.Client).Settle, settle(7, 7)), Want: settled("repeated", 20, 1001, 20, 20)},
	)
}

func TestAdmit_refusesArguments(t *testing.T) {
	minute := perLog("minute", 1, time.Minute)
	two := minute
	two.Cost = cost(2)
	seventeen := make([]admitLimit, 17)
	for i := range seventeen {
		seventeen[i] = perLog(string(rune('a'+i)), 1, time.Minute)
	}
	refuses := func(name string, p admitParams) guardStep {
		return guardStep{Name: name, Call: admit(p), WantErr: fcall.ErrArgument}
	}
	suites.Guards.Run(
		t,
		refuses("one limit twice", admitParams{Limits: []admitLimit{minute, minute}}),
		refuses("a log counts requests", admitParams{Limits: []admitLimit{two}}),
		refuses("17 limits", admitParams{Limits: seventeen}),
		refuses("a receipt of 225 bytes", admitParams{Receipt: string(make([]byte, 225)), Limits: []admitLimit{minute}}),
		refuses("a budget without an ID", admitParams{Budgets: []guard.Budget{{Budget: 1, Window: time.Minute}}}),
		refuses("a budget with a receipt and no ID", admitParams{Receipt: "r", Budgets: []guard.Budget{{Budget: 1, Window: time.Minute}}}),
		refuses("a block below the tick", admitParams{Tiers: []guard.AdmitTiers{{Threshold: 1, Window: 1, Block: time.Microsecond}}}),
		guardStep{Name: "nothing at all is asked for", Call: admit(admitParams{}), Want: passes()},
	)
}

// Up to `repeats` repeats pass free, as attempts. One more is a new request, after which as many repeats pass again.
func TestAdmit_repeats(t *testing.T) {
	limits := []admitLimit{perLog("minute", 9, time.Minute)}
	plain := admitParams{Receipt: "r", Dedup: time.Hour, Repeats: new(int64(2)), Limits: limits}
	left := func(remaining int64, duplicate bool) admitResult {
		r := passes(admitRow{Allowed: true, Remaining: remaining, ResetAfter: time.Minute})
		r.Duplicate = duplicate
		return r
	}
	attempts := plain
	attempts.Tiers = []guard.AdmitTiers{{Threshold: 9, Window: time.Hour, Block: time.Minute}}
	counted := func(r admitResult, n int64) admitResult {
		r.Tiers = []admitTier{{Count: n, Remaining: 8 - n}}
		return r
	}
	lookalike := plain
	lookalike.Receipt = "\x001:r"
	never := plain
	never.Repeats = new(int64(0))
	suites.Guards.Run(
		t,
		guardStep{Call: admit(plain), Writes: true, Want: left(8, false)},
		guardStep{Name: "first repeat", Call: admit(plain), Writes: true, Want: left(8, true)},
		guardStep{Name: "a receipt that looks like a repeat", Call: admit(lookalike), Writes: true, Want: left(7, false)},
		guardStep{Name: "given back", Call: refund(suites.RefundParams{Limits: limits, Left: []time.Duration{time.Minute}, At: luatest.Start, Receipt: lookalike.Receipt}), Writes: true, Want: given},
		guardStep{Name: "second repeat, an attempt", Call: admit(attempts), Writes: true, Want: counted(left(8, true), 1)},
		guardStep{Name: "a new request", Call: admit(plain), Writes: true, Want: left(7, false)},
		guardStep{Name: "its first repeat", Call: admit(plain), Writes: true, Want: left(7, true)},
		guardStep{Name: "given back", Call: refund(suites.RefundParams{Limits: limits, Left: []time.Duration{time.Minute}, At: luatest.Start, Receipt: "r"}), Writes: true, Want: given},
		guardStep{Name: "as if it had not come", Call: admit(plain), Writes: true, Want: left(7, false)},
		guardStep{Call: admit(plain), Writes: true, Want: left(7, true)},
		guardStep{Call: admit(plain), Writes: true, Want: left(7, true)},
		guardStep{Name: "no repeat passes", Call: admit(never), Writes: true, Want: left(6, false)},
		guardStep{Name: "any number passes", Call: admit(admitParams{Receipt: "r", Dedup: time.Hour, Limits: limits}), Want: left(6, true)},
	)
}

// A repeat that costs more reserves the rest under its own name: a tiny request first would otherwise make a huge one free. Each settlement ends
// what its own call reserved.
func TestAdmit_aRepeatReservesTheRest(t *testing.T) {
	budgets := []guard.Budget{{Budget: 100, Window: time.Hour}, {Budget: 50, Window: time.Hour, Unit: "tokens"}}
	ask := func(name string, money fcall.Micros, tokens int64) func(context.Context, guarded) (any, error) {
		return admit(admitParams{
			Receipt: "r", Dedup: time.Hour, Budgets: budgets, Reservation: name, Estimate: money, Units: []guard.UnitAmount{{Unit: "tokens", Amount: tokens}},
		})
	}
	row := func(budget, spent, charged fcall.Micros) admitBudget {
		return admitBudget{Allowed: true, Spent: spent, Remaining: max(budget-spent, 0), Charged: charged}
	}
	reserves := func(duplicate bool, money, moneyCharged, tokens, tokensCharged fcall.Micros) admitResult {
		return suites.Answered(admitResult{
			Allowed: true, Duplicate: duplicate, Reason: guard.AdmitReasonNone, At: afterStart(0),
			Budgets: []admitBudget{row(100, money, moneyCharged), row(50, tokens, tokensCharged)},
		})
	}
	refused := func(reason guard.AdmitReason, wait time.Duration, place int64, rows ...admitBudget) admitResult {
		return suites.Answered(admitResult{Duplicate: true, Reason: reason, Refused: place, RetryAfter: wait, Budgets: rows})
	}
	settle := func(name string, money fcall.Micros, tokens int64) func(context.Context, guarded) (any, error) {
		return by(suites.GuardOf, (*guard.Client).Settle, guard.SettleParams{
			Subject: "u1", Budgets: guard.PackBudget(budgets...), Reservation: name, Actual: money, Units: guard.PackUnitAmount(guard.UnitAmount{Unit: "tokens", Amount: tokens}),
		})
	}
	settles := func(outcome guard.SettleOutcome, money, tokens fcall.Micros) guard.SettleResult {
		return guard.SettleResult{Outcome: outcome, Budgets: []guard.SettleBudgetsResult{{Spent: money, Remaining: 100 - money}, {Spent: tokens, Remaining: 50 - tokens}}}
	}
	hour := counts(time.Hour)
	suites.Guards.Run(
		t,
		guardStep{Name: "tiny", Call: ask("a", 10, 5), Writes: true, Want: reserves(false, 10, 10, 5, 5)},
		guardStep{Name: "as large", Call: ask("b", 10, 5), Want: reserves(true, 10, 0, 5, 0)},
		guardStep{Name: "larger than a whole budget", Call: ask("b", 101, 5), Want: refused("too_large", 0, 1, admitBudget{Spent: 10, Remaining: 90}, row(50, 5, 0))},
		guardStep{Name: "larger in tokens alone", Call: ask("b", 1, 45), Writes: true, Want: reserves(true, 10, 0, 45, 40)},
		guardStep{Name: "huge", Call: ask("c", 90, 45), Writes: true, Want: reserves(true, 90, 80, 45, 0), TTLs: ttls{
			guardKey("receipt:r"): time.Hour, guardKey("spent:3600000000"): kept(time.Hour), guardKey("spent:tokens:3600000000"): kept(time.Hour),
			reserved("a"): 2 * time.Hour, reserved("b"): 2 * time.Hour, reserved("c"): 2 * time.Hour,
		}},
		guardStep{Name: "paid", Call: ask("d", 90, 45), Want: reserves(true, 90, 0, 45, 0)},
		guardStep{Name: "another request leaves less", Call: admit(admitParams{Budgets: budgets, Reservation: "e", Estimate: 5}), Writes: true, Want: reserves(false, 95, 5, 45, 0)},
		guardStep{Name: "more than is left", Call: ask("d", 96, 45), Want: refused("budget", hour, 1, admitBudget{Spent: 95, Remaining: 5, RetryAfter: hour}, row(50, 45, 0))},
		guardStep{Name: "the first ends its own alone", Call: settle("a", 0, 0), Writes: true, Want: settles("settled", 85, 40)},
		guardStep{Name: "once", Call: settle("a", 0, 0), Want: settles("repeated", 85, 40)},
		guardStep{Name: "a repeat that cost nothing gives back what it reserved", Call: settle("c", 0, 0), Writes: true, Want: settles("settled", 5, 40)},
		guardStep{Name: "what a repeat spent that reserved nothing is recorded", Call: settle("d", 7, 1), Writes: true, Want: settles("unknown", 12, 41)},
	)
}

// An account that the first call did not charge is charged by a repeat.
func TestAdmit_aRepeatPaysAnotherAccount(t *testing.T) {
	ask := func(of fcall.Subject, name string) func(context.Context, guarded) (any, error) {
		return admit(admitParams{
			Receipt: "r", Budgets: []guard.Budget{{Budget: 100, Window: time.Hour}}, BudgetsOf: []fcall.Subject{of}, Reservation: name, Estimate: 60,
		})
	}
	reserves := func(duplicate bool, charged fcall.Micros) admitResult {
		return suites.Answered(admitResult{
			Allowed: true, Duplicate: duplicate, Reason: guard.AdmitReasonNone, At: afterStart(0),
			Budgets: []admitBudget{{Allowed: true, Spent: 60, Remaining: 40, Charged: charged}},
		})
	}
	suites.Guards.Run(
		t,
		guardStep{Call: ask("acme", "a"), Writes: true, Want: reserves(false, 60)},
		guardStep{Call: ask("acme", "b"), Want: reserves(true, 0)},
		guardStep{Call: ask("zoe", "b"), Writes: true, Want: reserves(true, 60)},
		guardStep{Call: ask("zoe", "c"), Want: reserves(true, 0)},
	)
}

var notGiven = guard.RefundResult{}

// A quota whose periods are over is left out, and an error still names a later limit by its place in the call.
func TestRefund_errorNamesTheLimitAfterAnEndedQuota(t *testing.T) {
	start := luatest.Start.Truncate(time.Hour).Add(-3 * time.Hour)
	limits := []admitLimit{
		{Name: "hour", Kind: guard.LimitKindQuota, Limit: 5, Previous: start.Add(-time.Hour), Start: start, Next: start.Add(time.Hour), After: start.Add(2 * time.Hour)},
		{Name: "a", Kind: guard.LimitKindFixedWindow, Limit: 5, Window: time.Minute, Cost: cost(6)},
	}
	back := refund(suites.RefundParams{Limits: limits, At: start, Left: []time.Duration{time.Hour, 24 * time.Hour}})
	suites.Guards.Each(t, func(t *testing.T, _ *luatest.Server, g guarded) {
		_, err := back(t.Context(), g)
		if !errors.Is(err, fcall.ErrArgument) || !strings.Contains(err.Error(), "limits.1.cost") {
			t.Errorf("got %v", err)
		}
	})
}

func TestRefund_refusesArguments(t *testing.T) {
	limits := suites.GuardLimits(2)
	heavy := suites.RefundParams{Limits: limits, Left: suites.TakenOf(suites.TakenAtStart()), At: luatest.Start, Weight: 3}
	for name, back := range map[string]suites.RefundParams{
		"a row too few":           {Limits: limits, Left: make([]time.Duration, 3)},
		"a row too many":          {Limits: limits, Left: make([]time.Duration, 5)},
		"no rows":                 {Limits: limits},
		"no limits":               {Left: make([]time.Duration, 1)},
		"what no call could take": heavy,
	} {
		t.Run(name, func(t *testing.T) {
			suites.Guards.Run(t, guardStep{Call: refund(back), WantErr: fcall.ErrArgument})
		})
	}
	suites.Guards.Run(t, guardStep{Name: "nothing at all", Call: refund(suites.RefundParams{}), Want: notGiven})
}

func takeOf(most int64, l ...admitLimit) func(context.Context, guarded) (any, error) {
	return func(ctx context.Context, g guarded) (any, error) {
		return g.Guard.Take(ctx, guard.TakeParams{Subject: "u1", Limits: guard.PackLimit(l...), Most: most})
	}
}

func TestTake_rejectsLimits(t *testing.T) {
	log, two := perLog("all", 5, time.Second), admitLimit{Name: "all", Kind: guard.LimitKindGCRA, Limit: 5, Window: time.Second, Cost: cost(2)}
	suites.Guards.Run(
		t,
		guardStep{Name: "a log", Call: takeOf(3, log), WantErr: fcall.ErrArgument},
		guardStep{Name: "a cost", Call: takeOf(3, two), WantErr: fcall.ErrArgument},
	)
}

var lookAtU1 = guard.PeekParams{Subject: "u1"}

func TestGuardPeek_listsWhatASubjectHas(t *testing.T) {
	at := luatest.Start.Add
	p := admitParams{
		Subject: "u1", Limits: []admitLimit{perLog("minute", 2, time.Minute)}, Tiers: []guard.AdmitTiers{{Threshold: 3, Window: time.Hour, Block: time.Minute}},
		Budgets: []guard.Budget{{Budget: 100, Window: time.Hour}}, Estimate: 10, Hold: 2 * time.Minute,
	}
	suites.Guards.Each(t, func(t *testing.T, s *luatest.Server, c guarded) {
		s.Set(t, luatest.Start)
		look := func() guard.PeekResult {
			t.Helper()
			before, err := s.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r, err := c.Guard.Peek(t.Context(), lookAtU1)
			if err != nil {
				t.Fatal(err)
			}
			if after, err := s.Snapshot(t.Context()); err != nil || cmp.Diff(before, after) != "" {
				t.Errorf("a look changed keys: %v %s", err, cmp.Diff(before, after))
			}
			return r
		}
		admit := func(receipt, token string) {
			t.Helper()
			call := p
			call.Receipt, call.Reservation, call.Challenge = receipt, "of "+receipt, token
			if token != "" {
				call.Payload = "chat"
			}
			if _, err := c.Guard.Admit(t.Context(), call.Packed()); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(guard.PeekResult{Now: at(0)}, look(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("unknown subject (-want +got):\n%s", diff)
		}
		for _, token := range []string{"t2", "t1"} {
			if _, err := c.Challenges.Issue(t.Context(), challenge.IssueParams{Subject: "u1", Token: token, TTL: time.Hour, Payload: "chat"}); err != nil {
				t.Fatal(err)
			}
		}
		admit("a", "t2")
		s.Advance(t, time.Second)
		admit("b", "")
		s.Advance(t, time.Second)
		admit("c", "") // the third attempt: blocked
		want := guard.PeekResult{
			Now:      at(2 * time.Second),
			Attempts: []guard.PeekAttemptsResult{{At: at(0)}, {At: at(time.Second)}, {At: at(2 * time.Second)}},
			Strikes:  []guard.PeekStrikesResult{{At: at(2 * time.Second)}},
			Challenges: []guard.PeekChallengesResult{
				{Token: "t2", State: "consumed", Issued: at(0), Expires: at(time.Hour)},
				{Token: "t1", State: "unused", Issued: at(0), Expires: at(time.Hour), Payload: "chat"},
			},
		}
		if diff := cmp.Diff(want, look(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		s.Advance(t, time.Hour-2*time.Second)
		want.Now, want.Challenges = at(time.Hour), nil
		got := look()
		got.Attempts, want.Attempts = nil, nil // a real server's key has expired, and the embedded one's may
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("an hour later (-want +got):\n%s", diff)
		}
	})
}

func TestGuardPeek_isBounded(t *testing.T) {
	suites.Guards.Each(t, func(t *testing.T, s *luatest.Server, c guarded) {
		s.Set(t, luatest.Start)
		p := admitParams{
			Subject: "u1", Limits: []admitLimit{perLog("minute", 1000, time.Minute)}, Tiers: []guard.AdmitTiers{{Threshold: 1000, Window: time.Hour, Block: time.Minute}},
			Budgets: []guard.Budget{{Budget: 1000, Window: time.Hour}}, Estimate: 1,
		}
		for i := range 130 {
			p.Receipt, p.Reservation = fmt.Sprint("r", i), fmt.Sprint("i", i)
			if r, err := c.Guard.Admit(t.Context(), p.Packed()); err != nil || !r.Allowed {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		r, err := c.Guard.Peek(t.Context(), lookAtU1)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(r.Attempts); n != 100 {
			t.Errorf("%v entries, want 100 of each", n)
		}
	})
}

// An unreadable key is reported with its subject.
func TestGuardPeek_unreadableKeysAreReported(t *testing.T) {
	suites.Guards.Each(t, func(t *testing.T, s *luatest.Server, c guarded) {
		for _, k := range []struct {
			suffix string
			set    []any
		}{
			{"attempts", []any{"SET", "x"}},
			{"challenges", []any{"HSET", "t1", "x"}},
		} {
			s.Do(t, "FLUSHDB")
			name := guardKey(k.suffix)
			s.Do(t, append([]any{k.set[0], name}, k.set[1:]...)...)
			_, err := c.Guard.Peek(t.Context(), lookAtU1)
			var state *fcall.StateError
			if !errors.As(err, &state) || state.Key != name {
				t.Errorf("%v in %s: %v", k.set, k.suffix, err)
			}
		}
	})
}

// everything is a call that asks for all that there is, and everythingBack gives it back.
func everything() (admitParams, suites.RefundParams) {
	p := admitParams{
		Subject: "u1", Receipt: "r", Limits: suites.GuardLimits(5), Challenge: "t1", Budgets: []guard.Budget{{Budget: 100, Window: time.Hour}}, Estimate: 10, Hold: time.Second, Reservation: "i1",
		Tiers: []guard.AdmitTiers{{Threshold: 99, Window: time.Hour, Block: time.Minute}}, Holder: "h",
	}
	return p, suites.RefundParams{Subject: "u1", Receipt: "r", Limits: p.Limits, Left: suites.TakenOf(suites.TakenAtStart()), At: luatest.Start, Challenge: "t1"}
}

// A key that cannot be read refuses before anything is written, whichever it is.
func TestGuard_unreadableKeysAreReportedAndNothingIsWritten(t *testing.T) {
	p, back := everything()
	again := p
	again.Receipt, again.Reservation = "s", "i2"
	keys := []struct {
		suffix    string
		value     []any // of a string, or of a hash's field
		givesBack bool  // whether refund reads it
	}{
		{"left:h", nil, false},
		{"receipt:s", []any{"x"}, false},
		{"block", []any{"x"}, false},
		{"attempts", []any{"x"}, false},
		{"challenges", []any{"t1", "x"}, true},
		{"spent:3600000000", []any{"head", "x"}, false},
		{"sliding_log:10000000:a", nil, true},
		{"sliding_counter:10000000:a", []any{"x"}, true},
		{"fixed_window:10000000:a", []any{"x"}, true},
		{"gcra:10000000:a", []any{"x"}, true},
	}
	suites.Guards.Each(t, func(t *testing.T, s *luatest.Server, c guarded) {
		for _, k := range keys {
			for _, value := range [][]any{nil, k.value} {
				name := guardKey(k.suffix)
				s.Do(t, "FLUSHDB")
				s.Set(t, luatest.Start)
				if _, err := c.Challenges.Issue(t.Context(), challenge.IssueParams{Subject: "u1", Token: "t1", TTL: time.Hour}); err != nil {
					t.Fatal(err)
				}
				if r, err := c.Guard.Admit(t.Context(), p.Packed()); err != nil || !r.Allowed {
					t.Fatalf("admit: %+v, %v", r, err)
				}
				s.Advance(t, time.Second) // the hold has ended: it is read
				switch {
				case value == nil:
					wrongType(name)(t, s)
				case len(value) == 1:
					s.Do(t, "SET", name, value[0])
					s.Expire(t, name, time.Hour)
				default:
					s.Do(t, append([]any{"HSET", name}, value...)...)
				}
				tell := func(what string, err error) {
					t.Helper()
					var state *fcall.StateError
					if !errors.As(err, &state) || state.Key != name {
						t.Errorf("%s with %v in %s: %v", what, value, k.suffix, err)
					}
				}
				before, err := s.Snapshot(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				_, err = c.Guard.Admit(t.Context(), again.Packed())
				tell("admit", err)
				sameKeys(t, s, before)
				if k.givesBack {
					_, err = c.Guard.Refund(t.Context(), back.Packed())
					tell("refund", err)
					sameKeys(t, s, before)
				}
			}
		}
	})
}

// Every key that a call writes expires, in real units.
func TestGuard_expiriesOnRealTime(t *testing.T) {
	p, back := everything()
	p.Hold = 0
	suites.Guards.EachOnRealTime(t, func(t *testing.T, s *luatest.Server, c guarded) {
		take := func() {
			s.Do(t, "FLUSHDB")
			now := time.Now().Truncate(time.Millisecond) // a period ends when it ends, and a window with a slice
			p.Budgets = []guard.Budget{{Budget: 100, Name: "day", Previous: now.Add(-day), Start: now.Add(-time.Hour), Next: now.Add(2 * time.Hour), After: now.Add(day)}}
			if _, err := c.Challenges.Issue(t.Context(), challenge.IssueParams{Subject: "u1", Token: "t1", TTL: time.Hour}); err != nil {
				t.Fatal(err)
			}
			r, err := c.Guard.Admit(t.Context(), p.Packed())
			if err != nil || !r.Allowed {
				t.Fatalf("admit: %+v, %v", r, err)
			}
			back.Left, back.At = suites.TakenOf(r.Limits), r.At
		}
		s.CheckTTLs(t, map[string]time.Duration{
			guardKey("receipt:r"): 10 * time.Second, guardKey("attempts"): time.Hour, guardKey("challenges"): time.Hour,
			guardKey("spent:day"): 2 * time.Hour, reserved("i1"): 6 * time.Hour, guardKey("sliding_log:10000000:a"): 10 * time.Second,
			guardKey("sliding_counter:10000000:a"): 20 * time.Second, guardKey("fixed_window:10000000:a"): 10 * time.Second, guardKey("gcra:10000000:a"): 2 * time.Second,
		}, take)
		s.CheckTTLs(t, map[string]time.Duration{
			guardKey("attempts"): time.Hour, guardKey("challenges"): time.Hour, guardKey("spent:day"): 2 * time.Hour, reserved("i1"): 6 * time.Hour,
		}, func() {
			take()
			if r, err := c.Guard.Refund(t.Context(), back.Packed()); err != nil || !r.Refunded {
				t.Fatalf("refund: %+v, %v", r, err)
			}
		})
	})
}
