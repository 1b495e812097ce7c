package property_test

import (
	"time"

	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/fcall"
	budget "github.com/rlfunc/rlfunc/gen/cost"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/model"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type costCall = call[*budget.Client, *model.Cost]

var costFamily = family[*budget.Client, *model.Cost]{
	name:  "cost",
	suite: suites.Budgets,
	model: model.NewCost,
	keys:  []storedKey{{"charges", "hash"}},
	draw:  drawCost,
}

func drawCost(t *rapid.T) plan[*budget.Client, *model.Cost] {
	windows := []time.Duration{time.Microsecond, 3 * time.Microsecond, 1500 * time.Microsecond, time.Second, 10 * time.Second, time.Minute + time.Nanosecond, day, 3650 * day}
	limit := rapid.Custom(func(t *rapid.T) model.CostLimit {
		l := model.CostLimit{
			Budget: rapid.SampledFrom([]int64{0, 1, 5, 10, 10, 30, 1_000_000_000_000_000}).Draw(t, "budget"),
			Window: rapid.SampledFrom(windows).Draw(t, "window"),
		}
		if rapid.IntRange(0, 2).Draw(t, "calendar") == 0 {
			drawPeriods(t, &l, windows[:7])
		}
		return l
	})
	// Some histories are of callers that agree, others of callers that all differ.
	sets := rapid.OneOf(
		rapid.SampledFrom(rapid.SliceOfN(rapid.SliceOfN(limit, 1, 3), 1, 3).Draw(t, "limits")),
		rapid.SliceOfN(limit, 1, 3),
	)
	if rapid.Bool().Draw(t, "alike") {
		sets = rapid.SampledFrom(rapid.SliceOfN(rapid.SliceOfN(limit, 1, 3), 1, 3).Draw(t, "limits"))
	}
	spans := windows
	longer := append([]time.Duration{0, 0, 0, time.Microsecond, time.Second, 3650 * day, 2 * time.Second, 3 * time.Second, 5 * time.Second, 7 * time.Second, time.Hour}, spans...)
	receipts := []string{"r1", "r1", "r2", "r2", "r3", "r4", "r5", "r6", "state", "1", "\x00\xff\r\n"}
	subjects := []string{"u1", "u1", "u1", "u2"}
	amounts := []int64{0, 1, 2, 3, 3, 5, 6, 10, 11}
	mosts := []int64{0, 0, 0, 1, 2, 4, 20, 1_000_000_000_000_000}

	return plan[*budget.Client, *model.Cost]{spans: spans, call: func(t *rapid.T) costCall {
		subject := rapid.SampledFrom(subjects).Draw(t, "subject")
		receipt := rapid.SampledFrom(receipts).Draw(t, "receipt")
		amount := rapid.SampledFrom(amounts).Draw(t, "amount")
		limits := sets.Draw(t, "limits")
		switch rapid.IntRange(0, 19).Draw(t, "function") {
		default:
			hold := rapid.SampledFrom(longer).Draw(t, "hold")
			penalty := rapid.SampledFrom(longer).Draw(t, "penalty")
			c := model.CostReserve{Receipt: receipt, Estimate: amount, Limits: limits, Hold: hold, Penalty: penalty}
			if most := rapid.SampledFrom(mosts).Draw(t, "most"); amount > 0 && most >= amount {
				c.Most = most
				return callReserveAtMost(subject, c)
			}
			return callReserve(subject, c)
		case 11, 12, 13, 14:
			return callSettle(subject, receipt, amount, limits)
		case 15:
			return callSettle(subject, receipt, amount, nil)
		case 16, 17:
			return callCancel(subject, receipt)
		case 18:
			return callPeek(subject, receipt, amount, limits)
		case 19:
			if amount == 0 {
				return callCostReset(subject)
			}
			return callPeek(subject, "", amount, limits)
		}
	}}
}

// drawPeriods draws three periods around the start, the last of which may be long.
func drawPeriods(t *rapid.T, l *model.CostLimit, spans []time.Duration) {
	span := rapid.Map(rapid.SampledFrom(spans), func(d time.Duration) time.Duration { return max(d.Truncate(time.Microsecond), time.Microsecond) })
	l.Previous = luatest.Start.Add(-span.Draw(t, "since"))
	l.Start = l.Previous.Add(span.Draw(t, "previous"))
	l.Window = span.Draw(t, "period")
	l.After = l.Start.Add(l.Window).Add(rapid.SampledFrom([]time.Duration{spans[0], spans[len(spans)-1], 3000 * day}).Draw(t, "next"))
}

func accountOf(limits []model.CostLimit) budget.AccountBudgetPack {
	var rows []budget.AccountBudget
	for _, l := range limits {
		rows = append(rows, budget.AccountBudget{Budget: fcall.Micros(l.Budget), Window: l.Window, Previous: l.Previous, Start: l.Start, After: l.After})
	}
	return budget.MustPackAccountBudget(rows...)
}

func callReserve(subject string, c model.CostReserve) costCall {
	p := budget.ReserveParams{Subject: fcall.Subject(subject), Receipt: c.Receipt, Estimate: fcall.Micros(c.Estimate), Hold: c.Hold, Penalty: c.Penalty, Limits: accountOf(c.Limits)}
	return costCall{
		function: "reserve", subject: subject, params: p, queue: queued((*budget.Client).QueueReserve, p),
		answer: func(m *model.Cost) answer {
			r, changed, err := m.Reserve(subject, c)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			want := budget.ReserveResult{
				Allowed: r.Allowed, Duplicate: r.Duplicate, Reason: budget.ReserveReason(r.Reason), Charged: fcall.Micros(r.Charged),
				RetryAfter: r.RetryAfter, ResetAfter: r.ResetAfter,
			}
			for _, row := range r.Limits {
				want.Limits = append(want.Limits, budget.AccountBudgetResult{Allowed: row.Allowed, Spent: fcall.Micros(row.Spent), Remaining: fcall.Micros(row.Remaining), RetryAfter: row.RetryAfter})
			}
			return answer{
				reply: want, changed: changed,
				refused: !r.Allowed && r.Reason != "too_large" && m.Covers(c.Limits, r.RetryAfter), retry: r.RetryAfter, tick: time.Microsecond,
				passes: func(reply any) bool { return reply.(budget.ReserveResult).Allowed },
			}
		},
	}
}

func callReserveAtMost(subject string, c model.CostReserve) costCall {
	p := budget.ReserveAtMostParams{Subject: fcall.Subject(subject), Receipt: c.Receipt, Most: fcall.Micros(c.Most), Least: fcall.Micros(c.Estimate), Hold: c.Hold, Penalty: c.Penalty, Limits: accountOf(c.Limits)}
	return costCall{
		function: "reserve_at_most", subject: subject, params: p, queue: queued((*budget.Client).QueueReserveAtMost, p),
		answer: func(m *model.Cost) answer {
			r, changed, err := m.Reserve(subject, c)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			want := budget.ReserveAtMostResult{
				Allowed: r.Allowed, Duplicate: r.Duplicate, Reason: budget.ReserveAtMostReason(r.Reason), Charged: fcall.Micros(r.Charged),
				RetryAfter: r.RetryAfter, ResetAfter: r.ResetAfter,
			}
			for _, row := range r.Limits {
				want.Limits = append(want.Limits, budget.AccountBudgetResult{Allowed: row.Allowed, Spent: fcall.Micros(row.Spent), Remaining: fcall.Micros(row.Remaining), RetryAfter: row.RetryAfter})
			}
			return answer{
				reply: want, changed: changed,
				refused: !r.Allowed && r.Reason != "too_large" && m.Covers(c.Limits, r.RetryAfter), retry: r.RetryAfter, tick: time.Microsecond,
				passes: func(reply any) bool { return reply.(budget.ReserveAtMostResult).Allowed },
			}
		},
	}
}

func callSettle(subject, receipt string, actual int64, limits []model.CostLimit) costCall {
	p := budget.SettleParams{Subject: fcall.Subject(subject), Receipt: receipt, Actual: fcall.Micros(actual), Limits: accountOf(limits)}
	return costCall{
		function: "settle", subject: subject, params: p, queue: queued((*budget.Client).QueueSettle, p),
		answer: func(m *model.Cost) answer {
			r, changed, err := m.Settle(subject, receipt, actual, limits)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			want := budget.SettleResult{Outcome: budget.SettleOutcome(r.Outcome), Charged: fcall.Micros(r.Charged), Exceeded: r.Exceeded, Penalty: r.Penalty, Limits: []budget.SettleLimitsResult{}}
			for _, row := range r.Limits {
				want.Limits = append(want.Limits, budget.SettleLimitsResult{Spent: fcall.Micros(row.Spent), Remaining: fcall.Micros(row.Remaining)})
			}
			return answer{reply: want, changed: changed}
		},
	}
}

func callCancel(subject, receipt string) costCall {
	p := budget.CancelParams{Subject: fcall.Subject(subject), Receipt: receipt}
	return costCall{
		function: "cancel", subject: subject, params: p, queue: queued((*budget.Client).QueueCancel, p),
		answer: func(m *model.Cost) answer {
			outcome, refunded, changed := m.Cancel(subject, receipt)
			return answer{reply: budget.CancelResult{Outcome: budget.CancelOutcome(outcome), Refunded: fcall.Micros(refunded)}, changed: changed}
		},
	}
}

func callPeek(subject, receipt string, estimate int64, limits []model.CostLimit) costCall {
	p := budget.PeekParams{Subject: fcall.Subject(subject), Receipt: receipt, Estimate: fcall.Micros(estimate), Limits: accountOf(limits)}
	return costCall{
		function: "peek", subject: subject, params: p, queue: queued((*budget.Client).QueuePeek, p),
		answer: func(m *model.Cost) answer {
			r, err := m.Peek(subject, limits, estimate, receipt)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			want := budget.PeekResult{
				Allowed: r.Allowed, Reason: budget.PeekReason(r.Reason), Status: budget.PeekStatus(r.Status), Charged: fcall.Micros(r.Charged),
				RetryAfter: r.RetryAfter, ResetAfter: r.ResetAfter,
			}
			for _, row := range r.Limits {
				want.Limits = append(want.Limits, budget.AccountBudgetResult{Allowed: row.Allowed, Spent: fcall.Micros(row.Spent), Remaining: fcall.Micros(row.Remaining), RetryAfter: row.RetryAfter})
			}
			return answer{
				reply:   want,
				refused: !r.Allowed && r.Reason != "too_large" && m.Covers(limits, r.RetryAfter), retry: r.RetryAfter, tick: time.Microsecond,
				passes: func(reply any) bool { return reply.(budget.PeekResult).Allowed },
			}
		},
	}
}

func callCostReset(subject string) costCall {
	p := budget.ResetParams{Subject: fcall.Subject(subject)}
	return costCall{
		function: "reset", subject: subject, params: p, queue: queued((*budget.Client).QueueReset, p),
		answer: func(m *model.Cost) answer {
			existed := m.Reset(subject)
			return answer{reply: budget.ResetResult{Existed: existed}, changed: existed}
		},
	}
}
