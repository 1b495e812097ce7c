package steps_test

import (
	"testing"
	"time"

	budget "github.com/rlfunc/rlfunc/gen/cost"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

func TestSettle_replacesTheEstimateOnceAtTheTimeOfItsReservation(t *testing.T) {
	limit := budget.AccountBudget{Budget: 1000, Window: window10}
	told := func(outcome budget.SettleOutcome, charged, spent, left int) budget.SettleResult {
		return budget.SettleResult{Outcome: outcome, Charged: micros(charged), Limits: []budget.SettleLimitsResult{{Spent: micros(spent), Remaining: micros(left)}}}
	}
	budgets.Run(
		t,
		costStep{Call: reserves(reserve("a", 600, within(1000))), Writes: true, Want: granted(600, 600, 1000, window10)},
		costStep{Advance: time.Minute, Call: reserves(reserve("b", 300, within(1000))), Writes: true, Want: granted(300, 900, 1000, window10)},
		costStep{Name: "less than reserved", Call: settles("a", 250, limit), Writes: true, TTLs: costKeys(keptFor(window10) - time.Minute), Want: told("settled", 250, 550, 450)},
		costStep{Name: "once", Call: settles("a", 999, limit), Want: told("repeated", 250, 550, 450)},
		costStep{Name: "also much later", Advance: 9*time.Minute - time.Microsecond, Call: settles("a", 250, limit), Want: told("repeated", 250, 550, 450)},
		costStep{Name: "it leaves a window after its reservation", Advance: time.Microsecond, Call: settles("a", 250, limit), Want: told("repeated", 250, 300, 700)},
		costStep{Name: "more than reserved", Call: settles("b", 700, limit), Writes: true, Want: told("settled", 700, 700, 300)},
		costStep{Advance: time.Minute, Call: peeks("b", 0, budget.AccountBudget(limit)), Want: budget.PeekResult{Allowed: true, Reason: "none", Status: "settled", Charged: 700, Limits: []budget.AccountBudgetResult{{Allowed: true, Remaining: 1000}}}},
		costStep{Name: "known for a window after it is gone", Advance: 9*time.Minute - time.Microsecond, Call: settles("b", 1), Want: settled("repeated", 700)},
	)
}

func TestSettle_spendingPastTheBudgetIsRecorded(t *testing.T) {
	budgets.Run(
		t,
		costStep{Call: reserves(reserve("a", 600, within(1000))), Writes: true, Want: granted(600, 600, 1000, window10)},
		costStep{Call: settles("a", 5000, budget.AccountBudget{Budget: 1000, Window: window10}), Writes: true, Want: budget.SettleResult{
			Outcome: "settled", Charged: 5000, Exceeded: true, Limits: []budget.SettleLimitsResult{{Spent: 5000}},
		}},
		costStep{Name: "nothing is left, not even for nothing", Call: reserves(reserve("b", 0, within(1000))), Want: over(5000, 1000, window10, window10)},
		costStep{Name: "a larger budget", Call: reserves(reserve("b", 1, within(5001))), Writes: true, Want: granted(1, 5001, 5001, window10)},
	)
}

func TestSettle_unknownIsRecordedAndReported(t *testing.T) {
	budgets.Run(
		t,
		costStep{Name: "before any window is known: kept for two days", Call: settles("a", 700), Writes: true, TTLs: costKeys(keptFor(day)), Want: settled("unknown", 700)},
		costStep{Call: settles("a", 800), Want: settled("repeated", 700)},
		costStep{Advance: time.Minute, Call: reserves(reserve("b", 301, within(1000))), Want: over(700, 1000, 9*time.Minute, 9*time.Minute)},
		costStep{Call: reserves(reserve("b", 300, within(1000))), Writes: true, TTLs: costKeys(keptFor(day) - time.Minute), Want: granted(300, 1000, 1000, window10)},
		costStep{Call: settles("c", 5), Writes: true, Want: budget.SettleResult{Outcome: "unknown", Charged: 5, Exceeded: true, Limits: []budget.SettleLimitsResult{}}},
		costStep{Name: "its receipt is charged", Call: reserves(reserve("c", 9, within(1000))), Want: knownReceipt(5, 1005, 1000, window10)},
		costStep{Name: "a cancelled receipt is unknown", Call: cancels("b"), Writes: true, Want: budget.CancelResult{Outcome: "cancelled", Refunded: 300}},
		costStep{Call: settles("b", 10), Writes: true, Want: settled("unknown", 10)},
	)
}

func TestSettle_penaltyRefusesOnceABudgetIsExceeded(t *testing.T) {
	strict := func(receipt string, estimate int) budget.ReserveParams {
		p := reserve(receipt, micros(estimate), within(1000))
		p.Penalty = time.Hour
		return p
	}
	barred := func(wait time.Duration, spent int, reset time.Duration) budget.ReserveResult {
		r := over(micros(spent), 1000, 0, reset)
		r.Reason, r.RetryAfter, r.Limits[0].Allowed = "penalty", wait, true
		return r
	}
	exceeded := func(charged int, penalty time.Duration) budget.SettleResult {
		return budget.SettleResult{Outcome: "settled", Charged: micros(charged), Exceeded: true, Penalty: penalty, Limits: []budget.SettleLimitsResult{}}
	}
	budgets.Run(
		t,
		costStep{Call: reserves(strict("a", 500)), Writes: true, Want: granted(500, 500, 1000, window10)},
		costStep{Call: reserves(strict("b", 500)), Writes: true, Want: granted(500, 1000, 1000, window10)},
		costStep{Name: "a refusal starts none", Call: reserves(strict("c", 1)), Want: over(1000, 1000, window10, window10)},
		costStep{Name: "within the budget", Call: settles("a", 400), Writes: true, Want: settled("settled", 400)},
		costStep{Name: "beyond it", Call: settles("b", 700), Writes: true, TTLs: costKeys(time.Hour + window10/4), Want: exceeded(700, time.Hour)},
		costStep{Name: "the later wait is returned", Call: reserves(strict("c", 1)), Want: budget.ReserveResult{Reason: "penalty", RetryAfter: time.Hour, ResetAfter: window10, Limits: []budget.AccountBudgetResult{{Spent: 1100, RetryAfter: window10}}}},
		costStep{Name: "it outlives the window", Advance: 59 * time.Minute, Call: reserves(strict("c", 1)), Want: barred(time.Minute, 0, 0)},
		costStep{Name: "a known receipt is known", Advance: -49 * time.Minute, Call: reserves(strict("b", 1)), Want: knownReceipt(700, 0, 1000, 0)},
		costStep{Name: "one tick sooner", Advance: 50*time.Minute - time.Microsecond, Call: reserves(strict("c", 1)), Want: barred(time.Microsecond, 0, 0)},
		costStep{Name: "it ends", Advance: time.Microsecond, Call: reserves(strict("c", 1)), Writes: true, Want: granted(1, 1, 1000, window10)},
		costStep{Name: "exceeded again", Call: settles("c", 2000), Writes: true, Want: exceeded(2000, time.Hour)},
		costStep{Name: "reset lifts it", Call: luatest.Call((*budget.Client).Reset, budget.ResetParams{Subject: "u1"}), Writes: true, Want: budget.ResetResult{Existed: true}},
		costStep{Call: luatest.Call((*budget.Client).Reset, budget.ResetParams{Subject: "u1"}), Want: budget.ResetResult{}},
		costStep{Call: reserves(reserve("c", 1000, within(1000))), Writes: true, Want: granted(1000, 1000, 1000, window10)},
		costStep{Name: "no penalty was asked for", Call: settles("c", 2000), Writes: true, Want: exceeded(2000, 0)},
	)
}

func TestCancel_givesBack(t *testing.T) {
	held := reserve("h", 100, within(1000))
	held.Hold = time.Minute
	budgets.Run(
		t,
		costStep{Name: "nothing there", Call: cancels("a"), Want: budget.CancelResult{Outcome: "unknown"}},
		costStep{Call: reserves(reserve("a", 600, within(1000))), Writes: true, Want: granted(600, 600, 1000, window10)},
		costStep{Call: reserves(held), Writes: true, TTLs: costKeys(keptFor(window10)), Want: granted(100, 700, 1000, window10)},
		costStep{Call: cancels("a"), Writes: true, Want: budget.CancelResult{Outcome: "cancelled", Refunded: 600}},
		costStep{Name: "once", Call: cancels("a"), Want: budget.CancelResult{Outcome: "unknown"}},
		costStep{Call: cancels("h"), Writes: true, TTLs: costKeys(keptFor(window10)), Want: budget.CancelResult{Outcome: "cancelled", Refunded: 100}},
		costStep{Name: "nothing is spent", Call: reserves(reserve("b", 0, within(1000))), Writes: true, Want: granted(0, 0, 1000, 0)},
		costStep{Name: "the receipt is judged again", Advance: time.Minute, Call: reserves(reserve("a", 1000, within(1000))), Writes: true, Want: granted(1000, 1000, 1000, window10)},
		costStep{Call: settles("a", 300), Writes: true, Want: settled("settled", 300)},
		costStep{Name: "what is spent stays", Call: cancels("a"), Want: budget.CancelResult{Outcome: "settled"}},
		costStep{Call: reserves(reserve("c", 5, within(1000))), Writes: true, Want: granted(5, 305, 1000, window10)},
		costStep{Name: "what counts no more gives nothing back", Advance: window10, Call: cancels("c"), Want: budget.CancelResult{Outcome: "lapsed"}},
	)
}
