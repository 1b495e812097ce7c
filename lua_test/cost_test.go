package luatest_test

import (
	"context"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/functions"
	budget "github.com/rlfunc/rlfunc/gen/cost"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// costStep is one step of a table of library cost.
type costStep = luatest.Step[*budget.Client]

var budgets = luatest.Suite[*budget.Client]{
	Library: budget.Library,
	Client:  budget.New,
	Source:  functions.FS,
	Root:    functions.Root,
	Engines: everywhere,
}

// costKeys are the expiries of u1's keys; 0 is no key.
func costKeys(charges, holds time.Duration) ttls {
	all := ttls{}
	if charges > 0 {
		all["cost:{u1}:charges"] = charges
	}
	if holds > 0 {
		all["cost:{u1}:holds"] = holds
	}
	return all
}

// within is a budget for ten minutes, the window of most tables.
func within(most fcall.Micros) []budget.ReserveLimits {
	return []budget.ReserveLimits{{Budget: most, Window: 10 * time.Minute}}
}

// reserve is a reservation of u1's.
func reserve(receipt string, estimate fcall.Micros, limits []budget.ReserveLimits) budget.ReserveParams {
	return budget.ReserveParams{Bucket: "u1", Receipt: receipt, Estimate: estimate, Limits: limits}
}

func reserves(p budget.ReserveParams) func(context.Context, *budget.Client) (any, error) {
	return luatest.Call((*budget.Client).Reserve, p)
}

func settles(receipt string, actual fcall.Micros, limits ...budget.SettleLimits) func(context.Context, *budget.Client) (any, error) {
	return luatest.Call((*budget.Client).Settle, budget.SettleParams{Bucket: "u1", Receipt: receipt, Actual: actual, Limits: limits})
}

func cancels(receipt string) func(context.Context, *budget.Client) (any, error) {
	return luatest.Call((*budget.Client).Cancel, budget.CancelParams{Bucket: "u1", Receipt: receipt})
}
