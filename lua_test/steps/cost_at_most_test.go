package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	budget "github.com/rlfunc/rlfunc/gen/cost"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

func TestReserveAtMost_reservesWhatIsLeft(t *testing.T) {
	type result = budget.ReserveAtMostResult
	type rows = []budget.AccountBudgetResult
	hour := budget.AccountBudget{Budget: 5000, Window: time.Hour}
	most := func(receipt string, least, most fcall.Micros, more ...budget.AccountBudget) func(context.Context, *budget.Client) (any, error) {
		limits := budget.MustPackAccountBudget(append([]budget.AccountBudget{{Budget: 1000, Window: window10}}, more...)...)
		return luatest.Call((*budget.Client).ReserveAtMost, budget.ReserveAtMostParams{Subject: "u1", Receipt: receipt, Most: most, Limits: limits, Least: least})
	}
	full := rows{{Spent: 1000, RetryAfter: 9 * time.Minute}}
	budgets.Run(
		t,
		costStep{Name: "all that it asks for", Call: most("a", 0, 300), Writes: true, TTLs: costKeys(keptFor(window10)), Want: result{Allowed: true, Reason: "none", Charged: 300, ResetAfter: window10, Limits: rows{{Allowed: true, Spent: 300, Remaining: 700}}}},
		costStep{Name: "less than is of use", Call: most("b", 701, 900), Want: result{Reason: "budget", RetryAfter: window10, ResetAfter: window10, Limits: rows{{Spent: 300, Remaining: 700, RetryAfter: window10}}}},
		costStep{Name: "never of use", Call: most("b", 1001, 2000), Want: result{Reason: "too_large", ResetAfter: window10, Limits: rows{{Spent: 300, Remaining: 700}}}},
		costStep{Name: "what is left", Advance: time.Minute, Call: most("b", 700, 2000), Writes: true, Want: result{Allowed: true, Reason: "none", Charged: 700, ResetAfter: window10, Limits: rows{{Allowed: true, Spent: 1000}}}},
		costStep{Name: "the same receipt", Call: most("b", 1, 5), Want: result{Allowed: true, Duplicate: true, Reason: "none", Charged: 700, ResetAfter: window10, Limits: rows{{Allowed: true, Spent: 1000}}}},
		costStep{Name: "nothing", Call: most("c", 0, 5), Want: result{Reason: "budget", RetryAfter: 9 * time.Minute, ResetAfter: window10, Limits: full}},
		costStep{Name: "the same budget as reserve's", Call: reserves(reserve("c", 1, within(1000))), Want: over(1000, 1000, 9*time.Minute, window10)},
		costStep{Name: "settled", Call: settles("b", 100), Writes: true, Want: settled("settled", 100)},
		costStep{Name: "of two budgets the smaller rest", Call: most("c", 0, 2000, hour), Writes: true, Want: result{
			Allowed: true, Reason: "none", Charged: 600, ResetAfter: time.Hour, Limits: rows{{Allowed: true, Spent: 1000}, {Allowed: true, Spent: 1000, Remaining: 4000}},
		}},
		costStep{Name: "one budget is full", Call: most("d", 0, 5, hour), Want: result{
			Reason: "budget", RetryAfter: 9 * time.Minute, ResetAfter: time.Hour, Limits: rows{full[0], {Allowed: true, Spent: 1000, Remaining: 4000}},
		}},
		costStep{Name: "least above most", Call: most("d", 6, 5), WantErr: fcall.ErrArgument},
	)
}
