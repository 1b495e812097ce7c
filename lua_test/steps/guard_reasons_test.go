package steps_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type (
	admitBudget = guard.AdmitBudgetsResult
	admitTier   = guard.AdmitTiersResult
)

// allReasons is a call that can be refused for each reason: two in a minute, 100 micros in an hour, the ninth attempt, and a challenge.
func allReasons(receipt, token string, estimate fcall.Micros) admitParams {
	return admitParams{
		Receipt: receipt, Limits: []admitLimit{perLog("minute", 2, time.Minute)}, Challenge: token, ChallengeRequired: true,
		Budgets: []guard.AdmitBudgets{{Budget: 100, Window: time.Hour}}, Estimate: estimate, Reservation: "of " + receipt,
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
		return r
	}
	fresh := admitRow{Allowed: true, Remaining: 2}
	empty := admitBudget{Allowed: true, Remaining: 100}
	one := admitRow{Allowed: true, Remaining: 1, ResetAfter: time.Minute}
	two := admitRow{Allowed: true, ResetAfter: time.Minute}
	full := admitRow{RetryAfter: time.Minute, ResetAfter: time.Minute}
	passed := func(row admitRow, spent fcall.Micros, counted int64) admitResult {
		r := answer(guard.AdmitReasonNone, 0, guard.AdmitChallengeConsumed, row, admitBudget{Allowed: true, Spent: spent, Remaining: 100 - spent}, counted)
		r.Allowed, r.At = true, afterStart(0)
		return r
	}
	spent := admitBudget{Spent: 90, Remaining: 10, RetryAfter: time.Hour}
	suites.Guards.Run(
		t,
		guardStep{Name: "no challenge", Call: admit(allReasons("a", "", 60)), Writes: true, TTLs: ttls{guardKey("attempts"): time.Hour}, Want: answer("challenge", 0, "absent", fresh, empty, 1)},
		guardStep{Name: "none that is known", Call: admit(allReasons("a", "t1", 60)), Writes: true, Want: answer("challenge", 0, "expired_or_unknown", fresh, empty, 2)},
		issues("t1"),
		guardStep{Name: "too large before the challenge", Call: admit(allReasons("a", "t0", 101)), Writes: true, Want: answer("too_large", 0, "expired_or_unknown", fresh, admitBudget{Remaining: 100}, 3)},
		guardStep{Name: "the challenge stays", Call: admit(allReasons("a", "t1", 101)), Writes: true, Want: answer("too_large", 0, "unused", fresh, admitBudget{Remaining: 100}, 4)},
		guardStep{Name: "admitted", Call: admit(allReasons("a", "t1", 60)), Writes: true, Want: passed(one, 60, 5), TTLs: ttls{
			guardKey("attempts"): time.Hour, guardKey("checked"): 10 * time.Second, guardKey("sliding_log:minute"): time.Minute,
			guardKey("charges"): 2 * time.Hour, guardKey("challenges"): 24 * time.Hour,
		}},
		guardStep{Name: "replayed", Call: admit(allReasons("b", "t1", 10)), Writes: true, Want: answer(
			"challenge", 0, "replayed",
			admitRow{Allowed: true, Remaining: 1, ResetAfter: time.Minute}, admitBudget{Allowed: true, Spent: 60, Remaining: 40}, 6,
		)},
		issues("t2"),
		guardStep{Name: "admitted again", Call: admit(allReasons("b", "t2", 30)), Writes: true, Want: passed(two, 90, 7)},
		guardStep{Name: "the limit before the budget, with the budget's wait", Call: admit(allReasons("c", "", 60)), Writes: true, Want: answer("limit", time.Hour, "absent", full, spent, 8)},
		guardStep{Name: "the tier before all", Call: admit(allReasons("c", "", 60)), Writes: true, Want: func() admitResult {
			r := answer("tier", time.Hour, "absent", full, spent, 9)
			r.Tier, r.Strikes = 1, 1
			return r
		}()},
		guardStep{Name: "the block before all, and nothing is recorded", Call: admit(allReasons("c", "t2", 60)), Want: suites.Answered(admitResult{Reason: "blocked", Tier: 1, RetryAfter: 5 * time.Minute})},
		guardStep{Name: "not even a receipt that is known passes", Call: admit(allReasons("b", "", 60)), Want: suites.Answered(admitResult{Reason: "blocked", Tier: 1, RetryAfter: 5 * time.Minute})},
	)
}

func TestAdmit_blockedByHandAndUnblocked(t *testing.T) {
	call := admit(admitParams{Limits: []admitLimit{perLog("minute", 2, time.Minute)}})
	passes := func(left int64, at time.Duration) admitResult {
		return passesAt(at, admitRow{Allowed: true, Remaining: left, ResetAfter: time.Minute})
	}
	suites.Guards.Run(
		t,
		guardStep{Call: call, Writes: true, Want: passes(1, 0)},
		guardStep{Call: by(suites.AbuseOf, (*abuse.Client).Block, abuse.BlockParams{Subject: "u1", Duration: time.Hour}), Writes: true, Want: abuse.BlockResult{Applied: true, RetryAfter: time.Hour}},
		guardStep{Call: call, Want: suites.Answered(admitResult{Reason: "blocked", RetryAfter: time.Hour})},
		guardStep{Name: "outlives the window", Advance: time.Hour - time.Millisecond, Call: call, Want: suites.Answered(admitResult{Reason: "blocked", RetryAfter: time.Millisecond})},
		guardStep{Call: by(suites.AbuseOf, (*abuse.Client).Unblock, abuse.UnblockParams{Subject: "u1"}), Writes: true, Want: abuse.UnblockResult{Existed: true}},
		guardStep{Call: call, Writes: true, Want: passes(1, time.Hour-time.Millisecond)},
	)
}

func TestAdmit_penaltyAndSettledCosts(t *testing.T) {
	p := admitParams{Budgets: []guard.AdmitBudgets{{Budget: 100, Window: time.Hour}}, Estimate: 40, Penalty: 2 * time.Hour, Hold: time.Minute, Reservation: "i1"}
	reserved := func(at time.Duration, spent fcall.Micros) admitResult {
		return suites.Answered(admitResult{Allowed: true, At: afterStart(at), Reason: "none", Budgets: []admitBudget{{Allowed: true, Spent: spent, Remaining: 100 - spent}}})
	}
	second := p
	second.Reservation, second.Estimate = "i2", 50
	third := p
	third.Reservation, third.Estimate = "i3", 11
	unnamed := p
	unnamed.Reservation = ""
	settle := by(suites.CostOf, (*budgetClient).Settle, settleParams{Subject: "u1", Receipt: "i1", Actual: 110})
	suites.Guards.Run(
		t,
		guardStep{Name: "budgets and no ID", Call: admit(unnamed), WantErr: fcall.ErrArgument},
		guardStep{Call: admit(p), Writes: true, TTLs: ttls{guardKey("charges"): 2 * time.Hour}, Want: reserved(0, 40)},
		guardStep{Name: "the same reservation is charged nothing", Call: admit(p), Want: reserved(0, 40)},
		guardStep{Call: admit(second), Writes: true, Want: reserved(0, 90)},
		guardStep{Name: "the budget is spent", Call: admit(third), Want: suites.Answered(admitResult{
			Reason: "budget", RetryAfter: time.Minute, Budgets: []admitBudget{{Spent: 90, Remaining: 10, RetryAfter: time.Minute}},
		})},
		guardStep{Call: by(suites.CostOf, (*budgetClient).Cancel, cancelParams{Subject: "u1", Receipt: "i2"}), Writes: true, Want: cancelResult{Outcome: "cancelled", Refunded: 50}},
		guardStep{Name: "settled above the budget", Call: settle, Writes: true, Want: settleResult{Outcome: "settled", Charged: 110, Exceeded: true, Penalty: 2 * time.Hour, Limits: []settleRow{}}},
		guardStep{Name: "the penalty outlives the window", Advance: 2*time.Hour - time.Microsecond, Call: admit(third), Want: suites.Answered(admitResult{
			Reason: "penalty", RetryAfter: time.Microsecond, Budgets: []admitBudget{{Allowed: true, Remaining: 100}},
		})},
		guardStep{Advance: time.Microsecond, Call: admit(third), Writes: true, Want: reserved(2*time.Hour, 11)},
	)
}

func TestAdmit_countsAttempts(t *testing.T) {
	p := admitParams{
		Limits: []admitLimit{perLog("minute", 1, time.Minute)}, StrikeMemory: time.Hour,
		Tiers: []guard.AdmitTiers{{Threshold: 2, Window: time.Hour, Block: time.Minute}}, Escalation: []guard.AdmitEscalation{{Block: time.Second}, {Block: 5 * time.Minute}},
	}
	every, refused := admit(p), p
	refused.CountRefused = true
	only := admit(refused)
	row := func(r admitRow, counted int64) admitResult {
		return suites.Answered(admitResult{Reason: "none", Limits: []admitRow{r}, Tiers: []admitTier{{Count: counted, Remaining: max(1-counted, 0)}}})
	}
	first := admitRow{Allowed: true, ResetAfter: time.Minute}
	full := admitRow{RetryAfter: time.Minute, ResetAfter: time.Minute}
	because := func(r admitResult, reason guard.AdmitReason, retry time.Duration, tier, strikes int64) admitResult {
		r.Reason, r.RetryAfter, r.Tier, r.Strikes = reason, retry, tier, strikes
		return r
	}
	admitted := func(at time.Duration, r admitResult) admitResult {
		r.Allowed, r.At = true, afterStart(at)
		return r
	}
	suites.Guards.Run(
		t,
		guardStep{Name: "an allowed call is none", Call: only, Writes: true, TTLs: ttls{guardKey("sliding_log:minute"): time.Minute}, Want: admitted(0, row(first, 0))},
		guardStep{Name: "a refused one is", Call: only, Writes: true, Want: because(row(full, 1), "limit", time.Minute, 0, 0)},
		guardStep{Name: "every call is: the threshold-th would start a block, were it not for the first strike's second", Call: every, Writes: true, Want: because(row(full, 2), "tier", time.Minute, 1, 1), TTLs: ttls{
			guardKey("sliding_log:minute"): time.Minute, guardKey("attempts"): time.Hour, guardKey("block"): time.Second,
		}},
		guardStep{Name: "after the block the tier counts again", Advance: time.Minute, Call: every, Writes: true, Want: admitted(time.Minute, because(row(admitRow{Allowed: true, ResetAfter: time.Minute}, 1), "none", 0, 0, 1))},
		guardStep{Name: "also where all else allows", Advance: time.Minute, Call: every, Writes: true, Want: because(row(admitRow{Allowed: true, Remaining: 1}, 2), "tier", 5*time.Minute, 1, 2)},
	)
}
