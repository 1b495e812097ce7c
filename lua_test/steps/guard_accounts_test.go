package steps_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// Budgets of one subject and unit are one account. All accounts are charged, or none, and one settlement ends all.
func TestAdmit_budgetsOfSeveralAccounts(t *testing.T) {
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
			if !row.Allowed {
				row.RetryAfter = wait
			}
			all = append(all, row)
		}
		return all
	}
	settle := func(tokens int64, actual fcall.Micros) guard.SettleParams {
		return guard.SettleParams{
			Subject: "u1", Budgets: guard.MustPackBudget(budgets...), BudgetsOf: of, Reservation: "a", Actual: actual,
			Units: guard.MustPackUnitAmount(guard.UnitAmount{Unit: "tokens", Amount: tokens}),
		}
	}
	settled := func(outcome guard.SettleBudgetsOutcome, spent ...fcall.Micros) (all []guard.SettleBudgetsResult) {
		for i, b := range budgets {
			all = append(all, guard.SettleBudgetsResult{Outcome: outcome, Spent: spent[i], Remaining: max(b.Budget-spent[i], 0)})
		}
		return all
	}
	suites.Guards.Run(
		t,
		guardStep{Call: admit(p("a", 60, 900)), Writes: true, Want: suites.Answered(admitResult{Allowed: true, Reason: "none", At: afterStart(0), Budgets: rows(-1, 0, 60, 900, 60, 60)}), TTLs: ttls{
			"guard:{team}:charges": keptFor(time.Hour), "guard:{u1}:charges:tokens": keptFor(time.Minute), "guard:{org}:charges": keptFor(time.Hour),
		}},
		guardStep{Name: "the tokens do not fit", Call: admit(p("b", 1, 101)), Want: suites.Answered(admitResult{Reason: "budget", Refused: 2, RetryAfter: time.Minute, Budgets: rows(1, time.Minute, 60, 900, 60, 60)})},
		guardStep{Name: "the team's money does not fit", Call: admit(p("b", 41, 0)), Want: suites.Answered(admitResult{Reason: "budget", Refused: 1, RetryAfter: time.Hour, Budgets: rows(0, time.Hour, 60, 900, 60, 60)})},
		guardStep{Name: "too large for one, which no wait helps", Call: admit(p("b", 20, 1001)), Want: suites.Answered(admitResult{Reason: "too_large", Refused: 2, Budgets: rows(1, 0, 60, 900, 60, 60)})},
		guardStep{Name: "settled", Call: by(suites.GuardOf, (*guard.Client).Settle, settle(1001, 20)), Writes: true, Want: guard.SettleResult{Exceeded: true, Budgets: settled("settled", 20, 1001, 20, 20)}},
		guardStep{Name: "once", Call: by(suites.GuardOf, (*guard.Client).Settle, settle(7, 7)), Want: guard.SettleResult{Exceeded: true, Budgets: settled("repeated", 20, 1001, 20, 20)}},
	)
}

// An unreserved amount must fit as any other, but is not charged: settle records what was spent, by an ID that no call has reserved.
func TestAdmit_unreservedAmounts(t *testing.T) {
	budgets := []guard.Budget{{Budget: 100, Window: time.Hour}, {Budget: 1000, Window: time.Minute, Unit: "tokens"}}
	look := func(id string, estimate fcall.Micros, tokens int64) admitParams {
		return admitParams{
			Budgets: budgets, Estimate: estimate, Units: []guard.UnitAmount{{Unit: "tokens", Amount: tokens, Unreserved: true}}, Reservation: id,
		}
	}
	rows := func(fits bool, money, tokens fcall.Micros) []admitBudget {
		row := admitBudget{Allowed: fits, Spent: tokens, Remaining: max(1000-tokens, 0)}
		if !fits {
			row.RetryAfter = time.Minute
		}
		return []admitBudget{{Allowed: true, Spent: money, Remaining: 100 - money}, row}
	}
	record := func(id string, tokens int64) guard.SettleParams {
		return guard.SettleParams{
			Subject: "u1", Budgets: guard.MustPackBudget(budgets[1:]...), Reservation: id, Units: guard.MustPackUnitAmount(guard.UnitAmount{Unit: "tokens", Amount: tokens}),
		}
	}
	recorded := func(outcome guard.SettleBudgetsOutcome, tokens fcall.Micros) guard.SettleResult {
		return guard.SettleResult{Exceeded: tokens > 1000, Budgets: []guard.SettleBudgetsResult{{Outcome: outcome, Spent: tokens, Remaining: max(1000-tokens, 0)}}}
	}
	money := ttls{"guard:{u1}:charges": keptFor(time.Hour)}
	both := ttls{"guard:{u1}:charges": keptFor(time.Hour), "guard:{u1}:charges:tokens": keptFor(time.Minute)}
	suites.Guards.Run(
		t,
		guardStep{Name: "only money is charged", Call: admit(look("a", 60, 1000)), Writes: true, Want: suites.Answered(admitResult{Allowed: true, Reason: "none", At: afterStart(0), Budgets: rows(true, 60, 0)}), TTLs: money},
		guardStep{Name: "recorded", Call: by(suites.GuardOf, (*guard.Client).Settle, record("b", 999)), Writes: true, Want: recorded("unknown", 999), TTLs: both},
		guardStep{Name: "1 is left", Call: admit(look("c", 0, 1)), Writes: true, Want: suites.Answered(admitResult{Allowed: true, Reason: "none", At: afterStart(0), Budgets: rows(true, 60, 999)}), TTLs: both},
		guardStep{Name: "2 do not fit", Call: admit(look("d", 1, 2)), Want: suites.Answered(admitResult{Reason: "budget", Refused: 2, RetryAfter: time.Minute, Budgets: rows(false, 60, 999)})},
		guardStep{Name: "recorded beyond the budget", Call: by(suites.GuardOf, (*guard.Client).Settle, record("e", 5000)), Writes: true, Want: recorded("unknown", 5999), TTLs: both},
		guardStep{Name: "once", Call: by(suites.GuardOf, (*guard.Client).Settle, record("e", 5000)), Want: recorded("repeated", 5999)},
		guardStep{Name: "nothing is left", Call: admit(look("f", 1, 1)), Want: suites.Answered(admitResult{Reason: "budget", Refused: 2, RetryAfter: time.Minute, Budgets: rows(false, 60, 5999)})},
	)
}
