package main

import (
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
)

const reserveGoal = 16

func reserve(p cost.ReserveParams) command {
	return of(cost.New, (*cost.Client).Reserve, func(s fcall.Subject) cost.ReserveParams {
		p.Subject = s
		return p
	})
}

func costWorkloads() []workload {
	hourly := cost.AccountBudget{Budget: 1_000_000, Window: time.Hour}
	hour, both := cost.MustPackAccountBudget(hourly), cost.MustPackAccountBudget(hourly, cost.AccountBudget{Budget: 10_000_000, Window: 24 * time.Hour})
	tight := cost.MustPackAccountBudget(cost.AccountBudget{Budget: 100_500, Window: time.Hour}) // ten charges and no more
	one := cost.ReserveParams{Receipt: receipt, Estimate: 10_000, Limits: hour}
	two, held, refused := one, one, one
	two.Limits, held.Hold, refused.Limits = both, time.Minute, tight
	// charged prepares ten charges of 10,000 micros under other receipts.
	charged := func(p cost.ReserveParams) []command {
		calls := make([]command, 10)
		for i := range calls {
			p.Receipt = fmt.Sprintf("fp:5f0c7a1e:0000000000000000000%d", i)
			calls[i] = reserve(p)
		}
		return calls
	}
	ten := charged(one)
	const overBudget = "{Allowed:false Duplicate:false Reason:budget "
	return append([]workload{
		{name: "cost.reserve allowed, 10 charges", prepare: after(ten...), call: reserve(one), expect: admitted, most: reserveGoal},
		{name: "cost.reserve allowed, first use", call: reserve(one), expect: admitted, most: reserveGoal},
		{name: "cost.reserve allowed, 2 budgets", prepare: after(charged(two)...), call: reserve(two), expect: admitted, most: reserveGoal},
		{name: "cost.reserve refused by budget", prepare: after(ten...), call: reserve(refused), expect: overBudget, most: reserveGoal},
	}, heldWorkloads(overBudget)...)
}

// heldWorkloads are refusals of which half of all that is held has to leave first, beside more and more open holds.
func heldWorkloads(expect string) (rows []workload) {
	const growth = 2
	for _, n := range []int{10, 1000, 100_000} {
		sum := fcall.Micros(10 * n)
		held := cost.ReserveParams{Estimate: 10, Limits: cost.MustPackAccountBudget(cost.AccountBudget{Budget: sum, Window: 2 * time.Hour}), Hold: time.Hour}
		prepare := func(s fcall.Subject, _ time.Time) [][]any {
			calls := make([][]any, n)
			for i := range calls {
				held.Receipt = fmt.Sprintf("fp:5f0c7a1e:%020d", i)
				calls[i] = reserve(held)(s)
			}
			return calls
		}
		refused := cost.ReserveParams{Receipt: receipt, Estimate: sum / 2, Limits: held.Limits}
		w := workload{name: fmt.Sprintf("cost.reserve refused, %d open holds", n), subjects: max(1, 1000/n), prepare: prepare, call: reserve(refused), expect: expect}
		if n > 10 {
			w.rival, w.share = rows[0].name, growth
		}
		rows = append(rows, w)
	}
	return rows
}
