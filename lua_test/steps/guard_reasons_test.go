package steps_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

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
			guardKey("charges"): keptFor(time.Hour), guardKey("challenges"): 24 * time.Hour,
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
