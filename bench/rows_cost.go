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
	hour := []cost.ReserveLimits{{Budget: 1_000_000, Window: time.Hour}}
	both := []cost.ReserveLimits{hour[0], {Budget: 10_000_000, Window: 24 * time.Hour}}
	tight := []cost.ReserveLimits{{Budget: 100_500, Window: time.Hour}} // ten charges and no more
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
	reserved := append(ten[:9:9], reserve(one))
	settle := of(cost.New, (*cost.Client).Settle, func(s fcall.Subject) cost.SettleParams {
		return cost.SettleParams{Subject: s, Receipt: receipt, Actual: 8000}
	})
	cancel := of(cost.New, (*cost.Client).Cancel, func(s fcall.Subject) cost.CancelParams {
		return cost.CancelParams{Subject: s, Receipt: receipt}
	})
	peek := of(cost.New, (*cost.Client).Peek, func(s fcall.Subject) cost.PeekParams {
		return cost.PeekParams{Subject: s, Limits: []cost.PeekLimits{{Budget: 1_000_000, Window: time.Hour}}, Receipt: receipt}
	})
	reset := of(cost.New, (*cost.Client).Reset, func(s fcall.Subject) cost.ResetParams { return cost.ResetParams{Subject: s} })
	atMost := of(cost.New, (*cost.Client).ReserveAtMost, func(s fcall.Subject) cost.ReserveAtMostParams {
		return cost.ReserveAtMostParams{Subject: s, Receipt: receipt, Most: 10_000, Limits: []cost.ReserveAtMostLimits{{Budget: tight[0].Budget, Window: time.Hour}}}
	})
	const overBudget = "{Allowed:false Duplicate:false Reason:budget "
	return append([]workload{
		{name: "cost.reserve allowed, 10 charges", prepare: after(ten...), call: reserve(one), expect: admitted, most: reserveGoal},
		{name: "cost.reserve allowed, first use", call: reserve(one), expect: admitted, most: reserveGoal},
		{name: "cost.reserve allowed, 2 budgets", prepare: after(charged(two)...), call: reserve(two), expect: admitted, most: reserveGoal},
		{name: "cost.reserve allowed, with a hold", prepare: after(charged(held)...), call: reserve(held), expect: admitted},
		{name: "cost.reserve refused by budget", prepare: after(ten...), call: reserve(refused), expect: overBudget, most: reserveGoal},
		{name: "cost.reserve_at_most what is left", prepare: after(ten...), call: atMost, expect: "{Allowed:true Duplicate:false Reason:none Charged:0.000500 "},
		{name: "cost.reserve duplicate receipt", prepare: after(reserved...), call: reserve(one), expect: duplicate},
		{name: "cost.settle", prepare: after(reserved...), call: settle, expect: "{Outcome:settled "},
		{name: "cost.settle repeated", prepare: after(append(reserved[:10:10], settle)...), call: settle, expect: "{Outcome:repeated "},
		{name: "cost.cancel", prepare: after(reserved...), call: cancel, expect: "{Outcome:cancelled "},
		{name: "cost.peek", prepare: after(reserved...), call: peek, expect: "{Allowed:true Reason:none Status:reserved "},
		{name: "cost.reset", prepare: after(reserved...), call: reset, expect: existed},
	}, heldWorkloads(overBudget)...)
}

// heldWorkloads are refusals of which half of all that is held has to leave first, beside more and more open holds.
func heldWorkloads(expect string) (rows []workload) {
	const growth = 2
	for _, n := range []int{10, 1000, 100_000} {
		sum := fcall.Micros(10 * n)
		held := cost.ReserveParams{Estimate: 10, Limits: []cost.ReserveLimits{{Budget: sum, Window: 2 * time.Hour}}, Hold: time.Hour}
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
