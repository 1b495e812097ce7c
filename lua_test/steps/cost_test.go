package steps_test

import (
	"context"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	budget "github.com/rlfunc/rlfunc/gen/cost"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// costStep is one step of a table of library cost.
type costStep = luatest.Step[*budget.Client]

// keptFor is the expiry of charges whose longest window is that long, as a call sets it: an eighth more than twice the window.
func keptFor(window time.Duration) time.Duration { return 2*window + window/4 }

// costKeys is the expiry of u1's key; 0 means a missing key.
func costKeys(charges time.Duration) ttls {
	if charges == 0 {
		return ttls{}
	}
	return ttls{chargesKey: charges}
}

// within is a budget for ten minutes, the window of most tables.
func within(most fcall.Micros) budget.AccountBudgetPack {
	return budget.MustPackAccountBudget(budget.AccountBudget{Budget: most, Window: 10 * time.Minute})
}

// reserve is a reservation of u1's.
func reserve(receipt string, estimate fcall.Micros, limits budget.AccountBudgetPack) budget.ReserveParams {
	return budget.ReserveParams{Subject: "u1", Receipt: receipt, Estimate: estimate, Limits: limits}
}

func reserves(p budget.ReserveParams) func(context.Context, *budget.Client) (any, error) {
	return luatest.Call((*budget.Client).Reserve, p)
}

func settles(receipt string, actual fcall.Micros, limits ...budget.AccountBudget) func(context.Context, *budget.Client) (any, error) {
	return luatest.Call((*budget.Client).Settle, budget.SettleParams{Subject: "u1", Receipt: receipt, Actual: actual, Limits: budget.MustPackAccountBudget(limits...)})
}

func cancels(receipt string) func(context.Context, *budget.Client) (any, error) {
	return luatest.Call((*budget.Client).Cancel, budget.CancelParams{Subject: "u1", Receipt: receipt})
}

// micros is what a table writes as a number.
func micros(n int) fcall.Micros { return fcall.Micros(n) }

func peeks(receipt string, estimate fcall.Micros, limits ...budget.AccountBudget) func(context.Context, *budget.Client) (any, error) {
	return luatest.Call((*budget.Client).Peek, budget.PeekParams{Subject: "u1", Limits: budget.MustPackAccountBudget(limits...), Estimate: estimate, Receipt: receipt})
}

// granted is a reservation's answer under one limit.
func granted(charged, spent, most fcall.Micros, reset time.Duration) budget.ReserveResult {
	return budget.ReserveResult{
		Allowed: true, Reason: "none", Charged: charged, ResetAfter: reset,
		Limits: []budget.AccountBudgetResult{{Allowed: true, Spent: spent, Remaining: max(most-spent, 0)}},
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
		Reason: "budget", RetryAfter: wait, ResetAfter: reset,
		Limits: []budget.AccountBudgetResult{{Spent: spent, Remaining: max(most-spent, 0), RetryAfter: wait}},
	}
}

func settled(outcome budget.SettleOutcome, charged fcall.Micros) budget.SettleResult {
	return budget.SettleResult{Outcome: outcome, Charged: charged, Limits: []budget.SettleLimitsResult{}}
}
