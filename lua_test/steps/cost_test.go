package steps_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	budget "github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/internal/onpath"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// costStep is one step of a table of library cost.
type costStep = luatest.Step[*budget.Client]

// toSlice is how long after the start a slice of a ten-minute window begins: ten seconds each.
const toSlice = 4321099 * time.Microsecond

const window10 = 10 * time.Minute

const spentKey = "rl:{u1}:spent:600000000"

func reservationKey(receipt string) string { return "rl:{u1}:reservation:" + receipt }

// within is a budget for ten minutes, the window of most tables.
func within(most fcall.Micros) fcall.Rows[budget.Budget] {
	return budget.PackBudget(budget.Budget{Budget: most, Window: window10})
}

// reserve is a reservation of u1's.
func reserve(receipt string, estimate fcall.Micros, limits fcall.Rows[budget.Budget]) budget.ReserveParams {
	return budget.ReserveParams{Subject: "u1", Receipt: receipt, Estimate: estimate, Budgets: limits}
}

func reserves(p budget.ReserveParams) func(context.Context, *budget.Client) (any, error) {
	return luatest.Call((*budget.Client).Reserve, p)
}

func settles(receipt string, actual fcall.Micros, limits fcall.Rows[budget.Budget]) func(context.Context, *budget.Client) (any, error) {
	return luatest.Call((*budget.Client).Settle, budget.SettleParams{Subject: "u1", Receipt: receipt, Actual: actual, Budgets: limits})
}

func peeks(receipt string, estimate fcall.Micros, limits fcall.Rows[budget.Budget]) func(context.Context, *budget.Client) (any, error) {
	return luatest.Call((*budget.Client).Peek, budget.PeekParams{Subject: "u1", Budgets: limits, Estimate: estimate, Receipt: receipt})
}

// granted is a reservation's answer under one limit.
func granted(charged, spent, most fcall.Micros, reset time.Duration) budget.ReserveResult {
	return budget.ReserveResult{
		Allowed: true, Reason: "none", ResetAfter: reset, Budgets: []budget.BudgetResult{{Allowed: true, Spent: spent, Remaining: max(most-spent, 0), Charged: charged}},
	}
}

// knownReceipt is the answer to a receipt that was charged before.
func knownReceipt(charged, spent, most fcall.Micros, reset time.Duration) budget.ReserveResult {
	r := granted(charged, spent, most, reset)
	r.Duplicate = true
	return r
}

// over is a refusal under one limit that lets in after wait.
func over(spent, most fcall.Micros, wait, reset time.Duration) budget.ReserveResult {
	return budget.ReserveResult{
		Reason: "budget", RetryAfter: wait, ResetAfter: reset, Budgets: []budget.BudgetResult{{Spent: spent, Remaining: max(most-spent, 0), RetryAfter: wait}},
	}
}

// settled is a settlement's answer under one limit.
func settled(outcome budget.SettleOutcome, spent, most fcall.Micros) budget.SettleResult {
	return budget.SettleResult{
		Outcome: outcome, Exceeded: spent > most, Budgets: []budget.SettleBudgetsResult{{Spent: spent, Remaining: max(most-spent, 0)}},
	}
}

func TestReserve_admitsTheBudgetThenWaitsForChargesToLeave(t *testing.T) {
	budgets.Run(
		t,
		costStep{Name: "first use", Advance: toSlice, Call: reserves(reserve("a", 400, within(1000))), Writes: true, Want: granted(400, 400, 1000, window10), TTLs: ttls{spentKey: window10, reservationKey("a"): 2 * window10}},
		costStep{Advance: time.Minute, Call: reserves(reserve("b", 300, within(1000))), Writes: true, Want: granted(300, 700, 1000, window10)},
		costStep{Name: "exactly the budget", Advance: time.Minute, Call: reserves(reserve("c", 300, within(1000))), Writes: true, Want: granted(300, 1000, 1000, window10)},
		costStep{Name: "one more micro", Call: reserves(reserve("d", 1, within(1000))), Want: over(1000, 1000, 8*time.Minute, window10)},
		costStep{Name: "as much as the first two", Call: reserves(reserve("d", 700, within(1000))), Want: over(1000, 1000, 9*time.Minute, window10)},
		costStep{Name: "one more than these", Call: reserves(reserve("d", 701, within(1000))), Want: over(1000, 1000, window10, window10)},
		costStep{Name: "nothing fits a full budget", Call: reserves(reserve("z", 0, within(1000))), Writes: true, Want: granted(0, 1000, 1000, window10)},
		costStep{Name: "one tick sooner", Advance: 8*time.Minute - time.Microsecond, Call: reserves(reserve("d", 400, within(1000))), Want: over(1000, 1000, time.Microsecond, 2*time.Minute+time.Microsecond)},
		costStep{Name: "at retry_after: the window is half open", Advance: time.Microsecond, Call: reserves(reserve("d", 400, within(1000))), Writes: true, Want: granted(400, 1000, 1000, window10)},
		costStep{Name: "in a slice, a charge counts to its end", Advance: 2 * window10, Call: reserves(reserve("e", 0, within(1000))), Writes: true, Want: granted(0, 0, 1000, window10)},
		costStep{Advance: time.Microsecond, Call: reserves(reserve("f", 1, within(1000))), Writes: true, Want: granted(1, 1, 1000, window10+10*time.Second-time.Microsecond)},
		costStep{Name: "long idle", Advance: 1000 * day, Call: reserves(reserve("a", 1000, within(1000))), Writes: true, Want: granted(1000, 1000, 1000, window10+10*time.Second-time.Microsecond)},
	)
}

func TestReserve_moreThanAWholeBudgetNeverFits(t *testing.T) {
	tooLarge := budget.ReserveResult{Reason: "too_large", Budgets: []budget.BudgetResult{{Remaining: 1000}}}
	budgets.Run(
		t,
		costStep{Advance: toSlice, Call: reserves(reserve("a", 1001, within(1000))), Want: tooLarge},
		costStep{Name: "a budget of nothing", Call: reserves(reserve("a", 1, within(0))), Want: budget.ReserveResult{Reason: "too_large", Budgets: []budget.BudgetResult{{}}}},
		costStep{Name: "holds nothing", Call: reserves(reserve("a", 0, within(0))), Writes: true, Want: granted(0, 0, 0, window10)},
	)
}

func TestReserve_theSameReceiptIsChargedOnce(t *testing.T) {
	budgets.Run(
		t,
		costStep{Advance: toSlice, Call: reserves(reserve("a", 600, within(1000))), Writes: true, Want: granted(600, 600, 1000, window10)},
		costStep{Name: "a network retry", Advance: time.Second, Call: reserves(reserve("a", 600, within(1000))), Want: knownReceipt(600, 600, 1000, window10-time.Second)},
		costStep{Name: "with a smaller estimate", Call: reserves(reserve("a", 7, within(1000))), Want: knownReceipt(600, 600, 1000, window10-time.Second)},
		costStep{Name: "a larger one is not free", Call: reserves(reserve("a", 601, within(1000))), Want: over(600, 1000, window10-time.Second, window10-time.Second)},
		costStep{Name: "a refused receipt is not known", Call: reserves(reserve("b", 500, within(1000))), Want: over(600, 1000, window10-time.Second, window10-time.Second)},
		costStep{Name: "it is judged again", Advance: 9 * time.Second, Call: reserves(reserve("b", 400, within(1000))), Writes: true, Want: granted(400, 1000, 1000, window10)},
		costStep{Name: "settled, it has paid", Call: settles("a", 650, within(1000)), Writes: true, Want: settled("settled", 1050, 1000)},
		costStep{Call: reserves(reserve("a", 600, within(1000))), Want: knownReceipt(600, 1050, 1000, window10)},
		costStep{Name: "not settled, it is judged again when its window has ended", Advance: window10, Call: reserves(reserve("b", 1, within(1000))), Writes: true, Want: granted(1, 1, 1000, window10)},
		costStep{Name: "settled, it is known for twice the window", Advance: window10 - time.Millisecond, Call: reserves(reserve("a", 9, within(1000))), Want: knownReceipt(600, 1, 1000, time.Millisecond)},
		costStep{Name: "then it is new", Advance: 10 * time.Second, Call: reserves(reserve("a", 9, within(1000))), Writes: true, Want: granted(9, 9, 1000, window10+time.Millisecond)},
	)
}

func TestReserve_holdEndsAnEstimate(t *testing.T) {
	held := reserve("a", 900, within(1000))
	held.Hold = time.Minute
	budgets.Run(
		t,
		costStep{Advance: toSlice, Call: reserves(held), Writes: true, TTLs: ttls{spentKey: time.Minute, reservationKey("a"): 2 * window10}, Want: granted(900, 900, 1000, time.Minute)},
		costStep{Advance: 10 * time.Second, Call: reserves(reserve("b", 100, within(1000))), Writes: true, Want: granted(100, 1000, 1000, window10)},
		costStep{Name: "waits for the hold, not for the window", Call: reserves(reserve("c", 900, within(1000))), Want: over(1000, 1000, 50*time.Second, window10)},
		costStep{Name: "one tick sooner", Advance: 50*time.Second - time.Microsecond, Call: reserves(reserve("c", 900, within(1000))), Want: over(1000, 1000, time.Microsecond, window10-50*time.Second+time.Microsecond)},
		costStep{Name: "the hold has ended", Advance: time.Microsecond, Call: peeks("a", 900, within(1000)), Want: budget.PeekResult{
			Allowed: true, Reason: "none", Status: "lapsed", ResetAfter: window10 - 50*time.Second, Budgets: []budget.BudgetResult{{Allowed: true, Spent: 100, Remaining: 900}},
		}},
		costStep{Name: "a late settlement counts from the reservation", Call: settles("a", 850, within(1000)), Writes: true, Want: settled("settled", 950, 1000)},
		costStep{Call: reserves(reserve("d", 51, within(1000))), Want: over(950, 1000, window10-time.Minute, window10-50*time.Second)},
	)
}

func TestReserve_smallestAndLargestArguments(t *testing.T) {
	const most = 1_000_000_000_000_000
	smallest := reserve("a", 1, budget.PackBudget(budget.Budget{Budget: 1, Window: time.Millisecond}))
	smallest.Hold = time.Millisecond
	largest := reserve(string(make([]byte, 256)), most, budget.PackBudget(budget.Budget{Budget: most, Window: 3650 * day}))
	largest.Hold = 3650 * day
	budgets.Run(
		t,
		costStep{Call: reserves(smallest), Writes: true, Want: granted(1, 1, 1, time.Millisecond+3*time.Microsecond)},
		costStep{Advance: time.Millisecond + 3*time.Microsecond, Call: reserves(reserve("b", 1, smallest.Budgets)), Writes: true, Want: granted(1, 1, 1, time.Millisecond+8*time.Microsecond)},
		costStep{Advance: time.Second, Call: func(ctx context.Context, c *budget.Client) (any, error) {
			r, err := c.Reserve(ctx, largest)
			return r.Allowed, err
		}, Writes: true, Want: true},
		costStep{Call: func(ctx context.Context, c *budget.Client) (any, error) {
			r, err := c.Reserve(ctx, reserve("b", 1, largest.Budgets))
			return r.Reason, err
		}, Want: budget.ReserveReasonBudget},
	)
}

func TestReserve_atMostReservesWhatIsLeft(t *testing.T) {
	most := func(receipt string, most fcall.Micros, more ...budget.Budget) func(context.Context, *budget.Client) (any, error) {
		p := reserve(receipt, most, budget.PackBudget(append([]budget.Budget{{Budget: 1000, Window: window10}}, more...)...))
		p.AtMost = true
		return reserves(p)
	}
	both := granted(600, 1000, 1000, time.Hour)
	both.Budgets = append(both.Budgets, budget.BudgetResult{Allowed: true, Spent: 600, Remaining: 4400, Charged: 600})
	budgets.Run(
		t,
		costStep{Name: "all that it asks for", Advance: toSlice, Call: most("a", 300), Writes: true, Want: granted(300, 300, 1000, window10)},
		costStep{Name: "what is left", Advance: time.Minute, Call: most("b", 2000), Writes: true, Want: granted(700, 1000, 1000, window10)},
		costStep{Name: "the same receipt", Call: most("b", 5), Want: knownReceipt(700, 1000, 1000, window10)},
		costStep{Name: "nothing", Call: most("c", 5), Want: over(1000, 1000, 9*time.Minute, window10)},
		costStep{Name: "settled", Call: settles("b", 100, within(1000)), Writes: true, Want: settled("settled", 400, 1000)},
		costStep{Name: "of two budgets the smaller rest", Advance: 50 * time.Second, Call: most("c", 2000, budget.Budget{Budget: 5000, Window: time.Hour}), Writes: true, Want: withReset(both, time.Hour)},
	)
}

func withReset(r budget.ReserveResult, reset time.Duration) budget.ReserveResult {
	r.ResetAfter = reset
	return r
}

func TestSettle_replacesTheEstimateOnceAtTheTimeOfItsReservation(t *testing.T) {
	budgets.Run(
		t,
		costStep{Advance: toSlice, Call: reserves(reserve("a", 600, within(1000))), Writes: true, Want: granted(600, 600, 1000, window10)},
		costStep{Advance: time.Minute, Call: reserves(reserve("b", 300, within(1000))), Writes: true, Want: granted(300, 900, 1000, window10)},
		costStep{Name: "less than reserved", Call: settles("a", 250, within(1000)), Writes: true, Want: settled("settled", 550, 1000)},
		costStep{Name: "once", Call: settles("a", 999, within(1000)), Want: settled("repeated", 550, 1000)},
		costStep{Name: "it leaves a window after its reservation", Advance: 9 * time.Minute, Call: settles("a", 250, within(1000)), Want: settled("repeated", 300, 1000)},
		costStep{Name: "more than reserved", Call: settles("b", 700, within(1000)), Writes: true, Want: settled("settled", 700, 1000)},
		costStep{Advance: time.Minute, Call: peeks("b", 0, within(1000)), Want: budget.PeekResult{Allowed: true, Reason: "none", Status: "settled", Budgets: []budget.BudgetResult{{Allowed: true, Remaining: 1000}}}},
		costStep{Name: "known for two windows after it", Advance: 19*time.Minute - time.Second, Call: settles("b", 1, within(1000)), Want: settled("repeated", 0, 1000)},
	)
}

func TestSettle_spendingPastTheBudgetIsRecorded(t *testing.T) {
	budgets.Run(
		t,
		costStep{Advance: toSlice, Call: reserves(reserve("a", 600, within(1000))), Writes: true, Want: granted(600, 600, 1000, window10)},
		costStep{Call: settles("a", 5000, within(1000)), Writes: true, Want: settled("settled", 5000, 1000)},
		costStep{Name: "nothing is left, not even for nothing", Call: reserves(reserve("b", 0, within(1000))), Want: over(5000, 1000, window10, window10)},
		costStep{Name: "a larger budget", Call: reserves(reserve("b", 1, within(5001))), Writes: true, Want: granted(1, 5001, 5001, window10)},
		costStep{Name: "unknown: charged now", Call: settles("c", 5, within(1000)), Writes: true, Want: settled("unknown", 5006, 1000)},
		costStep{Name: "its receipt has paid that", Call: reserves(reserve("c", 5, within(1000))), Want: knownReceipt(5, 5006, 1000, window10)},
	)
}

func TestSettle_moreThanANumberHoldsIsRefused(t *testing.T) {
	var steps []costStep
	for i := range 9 {
		steps = append(steps, costStep{Advance: toSlice / 9, Call: func(ctx context.Context, c *budget.Client) (any, error) {
			r, err := c.Settle(ctx, budget.SettleParams{Subject: "u1", Receipt: fmt.Sprint(i), Actual: 1e15, Budgets: within(1)})
			return r.Outcome, err
		}, Writes: true, Want: budget.SettleOutcomeUnknown})
	}
	budgets.Run(t, append(steps, costStep{Call: settles("x", 1e15, within(1)), WantErr: fcall.ErrArgument})...)
}

func TestSettle_penaltyRefusesOnceABudgetIsExceeded(t *testing.T) {
	strict := func(receipt string, actual fcall.Micros) func(context.Context, *budget.Client) (any, error) {
		return luatest.Call((*budget.Client).Settle, budget.SettleParams{Subject: "u1", Receipt: receipt, Actual: actual, Budgets: within(1000), Penalty: time.Hour})
	}
	exceeded := settled("settled", 1100, 1000)
	exceeded.Penalty = time.Hour
	barred := func(wait time.Duration) budget.ReserveResult {
		return budget.ReserveResult{Reason: "penalty", RetryAfter: wait, Budgets: []budget.BudgetResult{{Allowed: true, Remaining: 1000}}}
	}
	reset := luatest.Call((*budget.Client).Reset, budget.ResetParams{Subject: "u1", Budgets: within(1000)})
	budgets.Run(
		t,
		costStep{Advance: toSlice, Call: reserves(reserve("a", 500, within(1000))), Writes: true, Want: granted(500, 500, 1000, window10)},
		costStep{Call: reserves(reserve("b", 500, within(1000))), Writes: true, Want: granted(500, 1000, 1000, window10)},
		costStep{Name: "within the budget", Call: strict("a", 400), Writes: true, Want: settled("settled", 900, 1000)},
		costStep{Name: "beyond it", Call: strict("b", 700), Writes: true, TTLs: ttls{spentKey: time.Hour, reservationKey("a"): 2 * window10, reservationKey("b"): 2 * window10}, Want: exceeded},
		costStep{Name: "the later wait is returned", Call: reserves(reserve("c", 1, within(1000))), Want: budget.ReserveResult{Reason: "penalty", RetryAfter: time.Hour, ResetAfter: window10, Budgets: []budget.BudgetResult{{Spent: 1100, RetryAfter: window10}}}},
		costStep{Name: "a known receipt is known", Call: reserves(reserve("b", 1, within(1000))), Want: knownReceipt(500, 1100, 1000, window10)},
		costStep{Name: "it outlives the window; one tick sooner", Advance: time.Hour - time.Microsecond, Call: reserves(reserve("c", 1, within(1000))), Want: barred(time.Microsecond)},
		costStep{Name: "it ends", Advance: time.Microsecond, Call: reserves(reserve("c", 1, within(1000))), Writes: true, Want: granted(1, 1, 1000, window10)},
		costStep{Call: func(ctx context.Context, c *budget.Client) (any, error) {
			a, err := strict("c", 2000)(ctx, c)
			return a.(budget.SettleResult).Penalty, err
		}, Writes: true, Want: time.Hour},
		costStep{Name: "reset lifts it", Call: reset, Writes: true, Want: budget.ResetResult{Existed: true}},
		costStep{Call: reset, Want: budget.ResetResult{}},
		costStep{Call: reserves(reserve("d", 1000, within(1000))), Writes: true, Want: granted(1000, 1000, 1000, window10)},
	)
}

// An estimate of before a reset is not taken out of what was charged since; what it has cost is recorded.
func TestReset_aReservationOfBeforeTakesNothingBack(t *testing.T) {
	budgets.Run(
		t,
		costStep{Advance: toSlice, Call: reserves(reserve("a", 600, within(1000))), Writes: true, Want: granted(600, 600, 1000, window10)},
		costStep{Advance: time.Microsecond, Call: luatest.Call((*budget.Client).Reset, budget.ResetParams{Subject: "u1", Budgets: within(1000)}), Writes: true, Want: budget.ResetResult{Existed: true}},
		costStep{Call: reserves(reserve("b", 700, within(1000))), Writes: true, Want: granted(700, 700, 1000, window10+10*time.Second-time.Microsecond)},
		costStep{Call: settles("a", 5, within(1000)), Writes: true, Want: settled("settled", 705, 1000)},
	)
}

// Budgets of several subjects and units are charged together, and a unit that may only be looked at is not charged.
func TestReserve_budgetsOfOthersAndUnits(t *testing.T) {
	p := budget.ReserveParams{
		Subject: "u1", Receipt: "a", Estimate: 100, Units: budget.PackUnitAmount(budget.UnitAmount{Unit: "tokens", Amount: 40}, budget.UnitAmount{Unit: "images", Amount: 1, Unreserved: true}),
		Budgets: budget.PackBudget(
			budget.Budget{Budget: 1000, Window: window10}, budget.Budget{Budget: 150, Window: window10, Of: "team"}, budget.Budget{Budget: 100, Window: window10, Unit: "tokens"}, budget.Budget{Budget: 3, Window: window10, Unit: "images", Of: "team"},
		),
	}
	rows := func(spent ...fcall.Micros) (all []budget.BudgetResult) {
		for i, most := range []fcall.Micros{1000, 150, 100, 3} {
			all = append(all, budget.BudgetResult{Allowed: true, Spent: spent[i], Remaining: most - spent[i], Charged: []fcall.Micros{100, 100, 40, 0}[i]})
		}
		return all
	}
	again := p
	again.Receipt = "b"
	budgets.Run(
		t,
		costStep{Advance: toSlice, Call: reserves(p), Writes: true, Want: budget.ReserveResult{Allowed: true, Reason: "none", ResetAfter: window10, Budgets: rows(100, 100, 40, 0)}, TTLs: ttls{
			spentKey: window10, "rl:{team}:spent:600000000": window10, "rl:{u1}:spent:tokens:600000000": window10, reservationKey("a"): 2 * window10,
		}},
		costStep{Name: "one budget refuses", Call: func(ctx context.Context, c *budget.Client) (any, error) {
			r, err := c.Reserve(ctx, again)
			return fmt.Sprintf("%s %t %t", r.Reason, r.Budgets[0].Allowed, r.Budgets[1].Allowed), err
		}, Want: "budget true false"},
		costStep{Call: func(ctx context.Context, c *budget.Client) (any, error) {
			r, err := c.Settle(ctx, budget.SettleParams{Subject: "u1", Receipt: "a", Actual: 10, Budgets: p.Budgets, Units: budget.PackUnitAmount(budget.UnitAmount{Unit: "tokens", Amount: 90})})
			return fmt.Sprint(r.Outcome, " ", r.Budgets[0].Spent, r.Budgets[1].Spent, r.Budgets[2].Spent), err
		}, Writes: true, Want: "settled 0.000010 0.000010 0.000090"},
	)
}

// What a call drops of one budget stays in another, whose charges end at the same time.
func TestReserve_dropsNothingOfAnother(t *testing.T) {
	of := func(subject fcall.Subject, p budget.ReserveParams) budget.ReserveParams {
		p.Subject = subject
		return p
	}
	budgets.Run(
		t,
		costStep{Advance: toSlice, Call: reserves(reserve("a", 1, within(1000))), Writes: true, Want: granted(1, 1, 1000, window10)},
		costStep{Name: "drops what has ended", Advance: window10, Call: reserves(reserve("b", 2, within(1000))), Writes: true, Want: granted(2, 2, 1000, window10)},
		costStep{Name: "another's charge with the end of the first", Advance: -window10, Call: reserves(of("u2", reserve("c", 600, within(1000)))), Writes: true, Want: granted(600, 600, 1000, window10)},
		costStep{Advance: 10 * time.Second, Call: reserves(of("u2", reserve("d", 100, within(1000)))), Writes: true, Want: granted(100, 700, 1000, window10)},
		costStep{Name: "waits for it", Call: reserves(of("u2", reserve("e", 900, within(1000)))), Want: over(700, 1000, window10-10*time.Second, window10)},
	)
}

func TestCost_unreadableIsReportedAndKept(t *testing.T) {
	calls := map[string]func(context.Context, *budget.Client) (any, error){
		"reserve": reserves(reserve("b", 1000, within(1000))), "reserve again": reserves(reserve("a", 5, within(1000))),
		"settle": settles("a", 5, within(1000)), "peek": peeks("a", 1000, within(1000)),
	}
	us, later := fmt.Sprint(luatest.Start.UnixMicro()), fmt.Sprint(luatest.Start.Add(time.Minute).UnixMicro())
	head := strings.Join([]string{us, us, later, later}, " ")
	spendings := [][]any{{"sum", "5"}, {"x", "y"}, {"head", head, "sum", "5", "penalty", "5"}, {"head", head, "sum", "5", "penalty", "x 5"}}
	for _, text := range []string{"", "x", "1.5", "-1", "nan", "1e400", "9007199254740994"} {
		spendings = append(spendings, []any{"head", head, "sum", text})
		for i := range 4 {
			words := strings.Fields(head)
			words[i] = text
			spendings = append(spendings, []any{"head", strings.Join(words, " "), "sum", "5"})
		}
	}
	budgets.Each(t, func(t *testing.T, s *luatest.Server, c *budget.Client) {
		unreadable := func(key string, names []string) {
			before, err := s.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				_, err := calls[name](t.Context(), c)
				var state *fcall.StateError
				if !errors.As(err, &state) || state.Key != key {
					t.Errorf("%s: %v", name, err)
				}
			}
			sameKeys(t, s, before)
		}
		for _, fields := range spendings {
			s.Do(t, "DEL", spentKey)
			s.Do(t, append([]any{"HSET", spentKey}, fields...)...)
			s.Expire(t, spentKey, time.Hour)
			unreadable(spentKey, []string{"reserve", "settle", "peek"})
		}
		s.Do(t, "DEL", spentKey)
		for _, text := range []string{"", "x", "r 1", "q 1 2\n:600000000=5", "r x 2\n:600000000=5", "r 1 2\n5", "r 1 9007199254740994\n:600000000=5", "r 1 2\n:600000000=5\nx"} {
			s.Do(t, "SET", reservationKey("a"), text, "PX", 3600_000)
			unreadable(reservationKey("a"), []string{"reserve again", "settle", "peek"})
		}
	})
}

func TestCost_expiryOfTheLibraryThatShips(t *testing.T) {
	budgets.EachOnRealTime(t, func(t *testing.T, s *luatest.Server, c *budget.Client) {
		now := time.Now().Truncate(time.Millisecond) // a period ends when it ends, and a window with a slice
		period := budget.Budget{Budget: 1000, Name: "day", Previous: now.Add(-day), Start: now.Add(-time.Hour), Next: now.Add(10 * time.Hour), After: now.Add(day)}
		s.CheckTTLs(t, ttls{"rl:{u1}:spent:day": 10 * time.Hour, reservationKey("r"): 22 * time.Hour}, func() {
			if _, err := c.Reserve(t.Context(), reserve("r", 1000, budget.PackBudget(period))); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// Work is what a call asks of Redis: commands, the arguments and elements that they carry, and the bytes of those that write, as a replica
// gets them.
type work struct{ commands, elements, bytes int }

func (w work) atMost(o work) work {
	return work{max(w.commands, o.commands), max(w.elements, o.elements), max(w.bytes, o.bytes)}
}

// counted makes the server count what each call of the library's functions asks of it, and returns the most of each since it was
// called before. The test's clock has to be set again.
func counted(t *testing.T, s *luatest.Server, library string) func() work {
	t.Helper()
	list, err := s.Redis.FunctionList(t.Context(), redis.FunctionListQuery{LibraryNamePattern: library, WithCode: true}).Result()
	if err != nil || len(list) != 1 {
		t.Fatalf("list %s: %v, %v", library, list, err)
	}
	head, body, _ := strings.Cut(list[0].Code, "\n")
	code := head + `
local commands, elements, bytes, most = 0, 0, 0, {0, 0, 0}
local writes = {SET = true, ZADD = true, PEXPIRE = true, ZREMRANGEBYRANK = true, UNLINK = true, DEL = true, HSET = true, HDEL = true}
local function counted(...)
  commands = commands + 1
  local found = redis.call(...)
  elements = elements + select('#', ...)
  if writes[...] then
    for _, arg in ipairs({...}) do
      bytes = bytes + #tostring(arg) + #tostring(#tostring(arg)) + 5
    end
  end
  if type(found) == 'table' then
    elements = elements + #found
  end
  return found
end
local function register(f)
  local callback = f.callback
  f.callback = function(keys, args)
    commands, elements, bytes = 0, 0, 0
    local reply = callback(keys, args)
    most = {math.max(most[1], commands), math.max(most[2], elements), math.max(most[3], bytes)}
    return reply
  end
  redis.register_function(f)
end
redis.register_function('` + library + `_work', function()
  local asked = most
  most = {0, 0, 0}
  return asked
end)
` + strings.NewReplacer("redis.call(", "counted(", "redis.register_function{", "register{").Replace(body)
	s.Do(t, "FUNCTION", "LOAD", "REPLACE", code)
	return func() work {
		asked, err := s.Redis.Do(t.Context(), "FCALL", library+"_work", 0).Int64Slice()
		if err != nil {
			t.Fatal(err)
		}
		if s.Engine != "embedded" { // the test's clock stands in for TIME, which ships
			return work{int(asked[0]) + 1, int(asked[1]) + 3, int(asked[2])}
		}
		return work{int(asked[0]), int(asked[1]), int(asked[2])}
	}
}

// No call's work grows with the charges: with 100,000 the dearest is at most twice what it is with 10.
func TestCost_workIsBounded(t *testing.T) {
	suites.Budgets.Each(t, func(t *testing.T, s *luatest.Server, c *budget.Client) {
		many := 100_000
		if onpath.Raced() || testing.Short() || s.Engine != "embedded" { // the same Lua asks for the same everywhere
			many = 300
		}
		asked := counted(t, s, budget.Library.ServerName)
		few, lot := costWork(t, s, c, asked, 10), costWork(t, s, c, asked, many)
		for name, most := range lot {
			t.Logf("%-45s %3d and %3d with 10, %3d and %3d with %d", name, few[name].commands, few[name].elements, most.commands, most.elements, many)
			if most.commands > 2*few[name].commands {
				t.Errorf("%s: %d commands with %d charges, %d with 10", name, most.commands, many, few[name].commands)
			}
		}
	})
}

// costWork is the dearest work of each kind of call on a bucket of charges of 10 micros, a millisecond apart, two of
// three with an open hold.
func costWork(t *testing.T, s *luatest.Server, c *budget.Client, asked func() work, charges int) map[string]work {
	t.Helper()
	s.Do(t, "FLUSHDB")
	s.Set(t, luatest.Start)
	dearest := map[string]work{}
	do := func(name string, call func(context.Context, *budget.Client) (any, error)) {
		t.Helper()
		if _, err := call(t.Context(), c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	measure := func(name string, call func(context.Context, *budget.Client) (any, error)) {
		t.Helper()
		asked()
		do(name, call)
		dearest[name] = dearest[name].atMost(asked())
	}
	full := fcall.Micros(10 * charges)
	limits := budget.PackBudget(budget.Budget{Budget: 2 * full, Window: 2 * time.Hour})
	next := 0
	add := func(name string, call func(string, func(context.Context, *budget.Client) (any, error))) {
		t.Helper()
		s.Advance(t, time.Millisecond)
		p := reserve(fmt.Sprint("r", next), 10, limits)
		if p.Hold = time.Hour; next%3 == 0 {
			p.Hold = 0
		}
		call(name, reserves(p))
		next++
	}
	asked()
	for next < charges {
		add("reserve, while it fills up", do)
	}
	dearest["reserve, while it fills up"] = asked()
	for range min(charges, 10_000) { // as many as there are, 10,000 at most
		add("reserve allowed", measure)
		if next%2 == 0 {
			measure("settle", settles(fmt.Sprint("r", next-charges), 7, limits))
		}
	}
	all := next
	measure("reserve duplicate", reserves(reserve(fmt.Sprint("r", all-1), 10, limits)))
	for part := range fcall.Micros(20) {
		spent := budget.PackBudget(budget.Budget{Budget: full, Window: 2 * time.Hour})
		measure("reserve refused", reserves(reserve("x", full*(part+1)/20, spent)))
		measure("peek", peeks("x", full*(part+1)/20, spent))
	}
	held := reserve("new hold", 1, limits)
	held.Hold = 30 * time.Minute
	measure("reserve with a new hold", reserves(held))
	measure("settle the oldest", settles("r1", 3, limits))
	s.Advance(t, time.Hour-time.Duration(all)*time.Millisecond/3)
	measure("settle where half of all holds have ended", settles(fmt.Sprint("r", all-1), 1, limits))
	s.Advance(t, 50*time.Minute)
	measure("reserve where all holds have ended", reserves(reserve("y", 1, limits)))
	s.Advance(t, 10*time.Minute-time.Duration(all)*time.Millisecond/3)
	measure("reserve where half has left the window", reserves(reserve("z", 1, limits)))
	s.Advance(t, 2*time.Hour)
	measure("reserve after a long idle", reserves(reserve("a", 1, limits)))
	measure("reset", luatest.Call((*budget.Client).Reset, budget.ResetParams{Subject: "u1", Budgets: limits}))
	return dearest
}

// Mistake 13: a clock that jumps. What it stored further ahead than a window does not count, and no function takes a time from its caller.
func TestMistake13_clockJumpsUnderABudget(t *testing.T) {
	if arg := regexp.MustCompile(`(?m)^--- @arg +[a-z_]+ +time(\[.*)? .*$`).FindString(budget.Library.Code); arg != "" { // the optional ones are boundaries of periods
		t.Errorf("cost takes a time: %s", arg)
	}
	budgets.Run(
		t,
		costStep{Advance: toSlice, Call: reserves(reserve("a", 600, within(1000))), Writes: true, Want: granted(600, 600, 1000, window10)},
		costStep{Name: "set back by a microsecond", Advance: -time.Microsecond, Call: reserves(reserve("b", 401, within(1000))), Want: over(600, 1000, window10+time.Microsecond, window10+time.Microsecond)},
		costStep{Name: "set back by less than a window: it counts", Advance: -4 * time.Minute, Call: reserves(reserve("c", 100, within(1000))), Writes: true, Want: granted(100, 700, 1000, 14*time.Minute+time.Microsecond)},
		costStep{Name: "settled by the clock of its reservation", Call: settles("a", 200, within(1000)), Writes: true, Want: settled("settled", 300, 1000)},
		costStep{Name: "emptied a year ahead", Advance: 365 * day, Call: reserves(reserve("d", 1000, within(1000))), Writes: true, Want: granted(1000, 1000, 1000, window10+time.Microsecond)},
		costStep{Name: "no window is that long", Advance: -365 * day, Call: reserves(reserve("e", 900, within(1000))), Writes: true, Want: granted(900, 900, 1000, window10+time.Microsecond)},
		costStep{Name: "and it holds", Call: reserves(reserve("f", 101, within(1000))), Want: over(900, 1000, window10+time.Microsecond, window10+time.Microsecond)},
		costStep{Name: "spent by a clock a year ahead, it counts as of now", Call: settles("d", 5, within(1000)), Writes: true, Want: settled("settled", 905, 1000)},
	)
}
