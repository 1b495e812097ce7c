package steps_test

import (
	"testing"
	"time"

	budget "github.com/rlfunc/rlfunc/gen/cost"
)

const window10 = 10 * time.Minute

func TestReserve_admitsTheBudgetThenWaitsForChargesToLeave(t *testing.T) {
	budgets.Run(
		t,
		costStep{Name: "first use", Call: reserves(reserve("a", 400, within(1000))), Writes: true, TTLs: costKeys(keptFor(window10)), Want: granted(400, 400, 1000, window10)},
		costStep{Advance: time.Minute, Call: reserves(reserve("b", 300, within(1000))), Writes: true, Want: granted(300, 700, 1000, window10)},
		costStep{Name: "exactly the budget", Advance: time.Minute, Call: reserves(reserve("c", 300, within(1000))), Writes: true, Want: granted(300, 1000, 1000, window10)},
		costStep{Name: "one more micro", Call: reserves(reserve("d", 1, within(1000))), Want: over(1000, 1000, 8*time.Minute, window10)},
		costStep{Name: "as much as the first two", Call: reserves(reserve("d", 700, within(1000))), Want: over(1000, 1000, 9*time.Minute, window10)},
		costStep{Name: "one more than these", Call: reserves(reserve("d", 701, within(1000))), Want: over(1000, 1000, window10, window10)},
		costStep{Name: "nothing fits a full budget", Call: reserves(reserve("z", 0, within(1000))), Writes: true, Want: granted(0, 1000, 1000, window10)},
		costStep{Name: "one tick sooner", Advance: 8*time.Minute - time.Microsecond, Call: reserves(reserve("d", 400, within(1000))), Want: over(1000, 1000, time.Microsecond, 2*time.Minute+time.Microsecond)},
		costStep{Name: "at retry_after: the window is half open", Advance: time.Microsecond, Call: reserves(reserve("d", 400, within(1000))), Writes: true, Want: granted(400, 1000, 1000, window10)},
		costStep{Name: "long idle", Advance: 1000 * day, Call: reserves(reserve("a", 1000, within(1000))), Writes: true, TTLs: costKeys(keptFor(window10)), Want: granted(1000, 1000, 1000, window10)},
	)
}

func TestReserve_moreThanAWholeBudgetNeverFits(t *testing.T) {
	tooLarge := budget.ReserveResult{Reason: "too_large", Limits: []budget.AccountBudgetResult{{Remaining: 1000}}}
	budgets.Run(
		t,
		costStep{Call: reserves(reserve("a", 1001, within(1000))), Want: tooLarge},
		costStep{Name: "a budget of nothing", Call: reserves(reserve("a", 1, within(0))), Want: budget.ReserveResult{Reason: "too_large", Limits: []budget.AccountBudgetResult{{}}}},
		costStep{Name: "holds nothing", Call: reserves(reserve("a", 0, within(0))), Writes: true, Want: granted(0, 0, 0, 0)},
	)
}

func TestReserve_theSameReceiptIsChargedOnce(t *testing.T) {
	budgets.Run(
		t,
		costStep{Call: reserves(reserve("a", 600, within(1000))), Writes: true, Want: granted(600, 600, 1000, window10)},
		costStep{Name: "a network retry", Advance: time.Second, Call: reserves(reserve("a", 600, within(1000))), Want: knownReceipt(600, 600, 1000, window10-time.Second)},
		costStep{Name: "with another estimate", Call: reserves(reserve("a", 7, within(1000))), Want: knownReceipt(600, 600, 1000, window10-time.Second)},
		costStep{Name: "with one that would not fit", Call: reserves(reserve("a", 5000, within(1000))), Want: knownReceipt(600, 600, 1000, window10-time.Second)},
		costStep{Name: "a refused receipt is not known", Call: reserves(reserve("b", 500, within(1000))), Want: over(600, 1000, window10-time.Second, window10-time.Second)},
		costStep{Name: "it is judged again", Call: reserves(reserve("b", 400, within(1000))), Writes: true, Want: granted(400, 1000, 1000, window10)},
		costStep{Name: "settled, it is what was spent", Call: settles("a", 650), Writes: true, Want: budget.SettleResult{Outcome: "settled", Charged: 650, Exceeded: true, Limits: []budget.SettleLimitsResult{}}},
		costStep{Call: reserves(reserve("a", 600, within(1000))), Want: knownReceipt(650, 1050, 1000, window10)},
		costStep{Name: "not settled, it is judged again when its window has ended", Advance: window10, Call: reserves(reserve("b", 1, within(1000))), Writes: true, Want: granted(1, 1, 1000, window10)},
		costStep{Name: "settled, it is known for twice the window", Advance: window10 - time.Second - time.Microsecond, Call: reserves(reserve("a", 9, within(1000))), Want: knownReceipt(650, 1, 1000, time.Second+time.Microsecond)},
		costStep{Name: "then it is new", Advance: time.Microsecond, Call: reserves(reserve("a", 9, within(1000))), Writes: true, Want: granted(9, 10, 1000, window10)},
	)
}

func TestReserve_holdEndsAnEstimate(t *testing.T) {
	held := reserve("a", 900, within(1000))
	held.Hold = time.Minute
	again := held
	again.Estimate = 800
	budgets.Run(
		t,
		costStep{Call: reserves(held), Writes: true, TTLs: costKeys(keptFor(window10)), Want: granted(900, 900, 1000, time.Minute)},
		costStep{Advance: 10 * time.Second, Call: reserves(reserve("b", 100, within(1000))), Writes: true, Want: granted(100, 1000, 1000, window10)},
		costStep{Name: "waits for the hold, not for the window", Call: reserves(reserve("c", 900, within(1000))), Want: over(1000, 1000, 50*time.Second, window10)},
		costStep{Name: "or for the window, if that is later", Call: reserves(reserve("c", 901, within(1000))), Want: over(1000, 1000, window10, window10)},
		costStep{Name: "one tick sooner", Advance: 50*time.Second - time.Microsecond, Call: reserves(reserve("c", 900, within(1000))), Want: over(1000, 1000, time.Microsecond, window10-50*time.Second+time.Microsecond)},
		costStep{Name: "the hold has ended", Advance: time.Microsecond, Call: peeks("a", 900, budget.AccountBudget{Budget: 1000, Window: window10}), Want: budget.PeekResult{
			Allowed: true, Reason: "none", Status: "lapsed", ResetAfter: window10 - 50*time.Second, Limits: []budget.AccountBudgetResult{{Allowed: true, Spent: 100, Remaining: 900}},
		}},
		costStep{Name: "the receipt is judged again", Call: reserves(again), Writes: true, TTLs: costKeys(keptFor(window10) - time.Minute), Want: granted(800, 900, 1000, window10-50*time.Second)},
		costStep{Name: "settled in time, it stays for the window", Call: settles("a", 850), Writes: true, TTLs: costKeys(keptFor(window10) - time.Minute), Want: settled("settled", 850)},
		costStep{Advance: 2 * time.Minute, Call: reserves(reserve("d", 50, within(1000))), Writes: true, Want: granted(50, 1000, 1000, window10)},
		costStep{Call: reserves(reserve("e", 50, within(1000))), Want: over(1000, 1000, window10-170*time.Second, window10)},
	)
}

func TestReserve_smallestAndLargestArguments(t *testing.T) {
	const most = 1_000_000_000_000_000
	smallest := reserve("a", 1, budget.MustPackAccountBudget(budget.AccountBudget{Budget: 1, Window: 1}))
	smallest.Hold, smallest.Penalty = 1, 1
	largest := reserve(string(make([]byte, 256)), most, budget.MustPackAccountBudget(budget.AccountBudget{Budget: most, Window: 3650 * day}))
	largest.Hold, largest.Penalty = 3650*day, 3650*day
	var many []budget.AccountBudget
	for i := range 16 {
		many = append(many, budget.AccountBudget{Budget: 10, Window: time.Duration(i+1) * time.Second})
	}
	want := budget.ReserveResult{Allowed: true, Reason: "none", Charged: 10, ResetAfter: 16 * time.Second}
	for range many {
		want.Limits = append(want.Limits, budget.AccountBudgetResult{Allowed: true, Spent: 10})
	}
	budgets.Run(
		t,
		costStep{Call: reserves(smallest), Writes: true, TTLs: costKeys(time.Millisecond), Want: granted(1, 1, 1, time.Microsecond)},
		costStep{Call: reserves(reserve("b", 1, smallest.Limits)), Want: over(1, 1, time.Microsecond, time.Microsecond)},
		costStep{Advance: time.Microsecond, Call: reserves(reserve("b", 1, smallest.Limits)), Writes: true, Want: granted(1, 1, 1, time.Microsecond)},
		costStep{Advance: time.Second, Call: reserves(largest), Writes: true, TTLs: costKeys(keptFor(3650 * day)), Want: granted(most, most, most, 3650*day)},
		costStep{Call: reserves(reserve("b", 1, largest.Limits)), Want: over(most, most, 3650*day, 3650*day)},
		costStep{Advance: 3650*day - time.Microsecond, Call: reserves(reserve("b", 1, largest.Limits)), Want: over(most, most, time.Microsecond, time.Microsecond)},
		costStep{Advance: 20_000 * day, Call: reserves(reserve("a", 10, budget.MustPackAccountBudget(many...))), Writes: true, TTLs: costKeys(keptFor(16 * time.Second)), Want: want},
	)
}
