package guard

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/rlfunc/rlfunc/fcall"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

// allRows are the rows of any endpoint.
const allRows = ^rowSet(0)

// charged returns the rows that an admitted call charged and may take back. A repeat of a receipt is charged by global limits, and holds places
// of its own; what more weight cost it elsewhere stays charged.
func (q *ask) charged(c *call) rowSet {
	charged := rowSet(0)
	for i := range c.limits.rows.all() {
		n, always := c.limits.rows.rank(i), q.plan.rows[i].limit.Global || q.plan.concurrent.has(i)
		if n < len(c.result.Limits) && c.result.Limits[n].Allowed && (always || !c.result.Duplicate) {
			charged |= 1 << i
		}
	}
	return charged
}

// placesOf returns the places that a call charged, or may have charged if it has no result. ok is false if there are none.
func (q *ask) placesOf(c *call) (p places, ok bool) {
	rows := c.limits.rows & q.plan.concurrent
	if c.err == nil {
		rows &= q.charged(c)
	}
	if rows == 0 {
		return p, false
	}
	limits := q.plan.limitShape(&q.whom, rows, q.share)
	p = places{Subject: c.params.Subject, Rows: limits.each, Holder: c.params.Holder, Lease: shortestLease(limits.each)}
	for i := range rows.all() {
		p.Of = append(p.Of, fcall.Subject(q.rowSubjects[i]))
	}
	p.Limits = limits.pack.For(p.Of...)
	return p, true
}

// A refund is what one call charged and is to be refunded.
type refund struct {
	params   genguard.RefundParams
	reserved *callReservation // is given back; nil if the call reserved nothing
	about    []fcall.Subject  // of the limits and budgets
	sent     monotime.Time    // when the call was sent
}

// refundRows returns the refunds of some rows of an admitted query. Its attempt, receipt and budgets stay charged.
func (q *ask) refundRows(rows rowSet) []refund {
	var all []refund
	for i := range q.calls {
		if c := &q.calls[i]; c.err == nil && c.result.Allowed {
			if r := q.refund(c, rows); r.params.Limits.Len() > 0 {
				all = append(all, r)
			}
		}
	}
	return all
}

// refundAll returns the refunds of all that the calls which admitted charged, except attempts. A repeat that reserved something takes its receipt
// along, by which others would pass for what is given back.
func (q *ask) refundAll() []refund {
	var all []refund
	for i := range q.calls {
		c := &q.calls[i]
		if c.err != nil || !c.result.Allowed {
			continue
		}
		r, p := q.refund(c, allRows), &c.params
		to := &r.params
		to.Subject = cmp.Or(p.ReceiptOf, p.Subject)
		if !c.result.Duplicate || reservesMore(c) {
			to.Receipt = p.Receipt
			if reserved, ok := q.reserved(c); ok {
				r.reserved = &reserved
				for i := range reserved.Budgets {
					r.about = append(r.about, reserved.Budgets[i].Of)
				}
			}
		}
		if c.result.Challenge == genguard.AdmitChallengeConsumed {
			to.Challenge, to.ChallengeOf, to.Payload = p.Challenge, cmp.Or(p.ChallengeOf, p.Subject), p.Payload
		}
		if to.Limits.Len() > 0 || to.Receipt != "" || r.reserved != nil || to.Challenge != "" {
			all = append(all, r)
		}
	}
	return all
}

func (q *ask) refund(c *call, rows rowSet) refund {
	rows &= q.charged(c)
	var taken []genguard.RefundTaken
	var of []fcall.Subject
	for i := range rows.all() {
		taken = append(taken, genguard.RefundTaken{Left: c.result.Limits[c.limits.rows.rank(i)].ResetAfter})
		of = append(of, fcall.Subject(q.rowSubjects[i]))
	}
	return refund{params: genguard.RefundParams{
		Subject: c.params.Subject, Weight: c.params.Weight, At: c.result.At, Holder: c.params.Holder,
		Limits: q.plan.limitShape(&q.whom, rows, q.share).pack.For(of...), Taken: genguard.PackRefundTaken(taken...),
	}, about: of, sent: q.sent}
}

// A callReservation is what one call reserved of budgets. Any process can settle it.
type callReservation struct {
	Budgets []genguard.Budget
	Params  genguard.SettleParams // Subject, Reservation and Penalty
}

// reserved returns what a call reserves; ok is false if it charges no budgets.
func (q *ask) reserved(c *call) (r callReservation, ok bool) {
	return q.reservation(c, func(unit string) bool { return !slices.Contains(q.request.Unreserved, unit) })
}

// reservation returns the part of what a call reserves that is in some units; ok is false if there is none.
func (q *ask) reservation(c *call, in func(unit string) bool) (r callReservation, ok bool) {
	if c.budgets == nil {
		return r, false
	}
	r.Params = genguard.SettleParams{Subject: c.params.Subject, Reservation: c.params.Reservation, Penalty: q.plan.penalty}
	r.Budgets = make([]genguard.Budget, 0, len(c.budgets.each))
	for i := range c.budgets.rows.all() {
		if b := c.budgets.each[c.budgets.rows.rank(i)]; in(b.Unit) {
			b.Of = fcall.Subject(q.budgetSubjects[i])
			r.Budgets = append(r.Budgets, b)
		}
	}
	return r, len(r.Budgets) > 0
}

// estimates returns what a call reserves in money and in each other unit: the request's estimates, or for a repeat of a receipt what those exceed
// what the receipt has paid before.
func (q *ask) estimates(c *call) (money fcall.Micros, units []Amount) {
	money, units = q.estimate(), q.units
	if len(q.request.Unreserved) > 0 {
		units = slices.DeleteFunc(slices.Clone(units), func(a Amount) bool { return slices.Contains(q.request.Unreserved, a.Unit) })
	}
	if c.err != nil || !c.result.Duplicate {
		return money, units
	}
	most := map[string]int64{} // by unit: budgets of one unit may have been paid differently
	for i, row := range c.result.Budgets {
		unit := c.budgets.each[i].Unit
		most[unit] = max(most[unit], int64(row.Charged))
	}
	units = slices.Clone(units)
	for i := range units {
		units[i].N = most[units[i].Unit]
	}
	return fcall.Micros(most[""]), units
}

// reservesMore reports whether a repeat of a receipt has reserved something.
func reservesMore(c *call) bool {
	return slices.ContainsFunc(c.result.Budgets, func(row genguard.BudgetResult) bool { return row.Charged > 0 })
}

// spentReservations returns reservations that nobody made, of a request that has spent its units: settling one records what was spent.
func spentReservations(plan *plan, r *Request, w *whom, split bool) (all []callReservation) {
	w.rows = 0
	var q ask
	q.build(plan, r, w, split)
	for i := range q.calls {
		in := func(unit string) bool {
			return slices.ContainsFunc(r.Units, func(a Amount) bool { return a.Unit == unit })
		}
		if reservation, ok := q.reservation(&q.calls[i], in); ok {
			all = append(all, reservation)
		}
	}
	return all
}

// settle replaces the estimates by what was spent.
func (r *callReservation) settle(ctx context.Context, client *genguard.Client, actual fcall.Micros, units []Amount) (genguard.SettleResult, error) {
	p := r.Params
	p.Budgets, p.Actual, p.Units = genguard.PackBudget(r.Budgets...), actual, packUnits(units, nil)
	return client.Settle(ctx, p)
}

// complete reports whether r is one that Reserved returns, as another process may have written it.
func (r *callReservation) complete() bool {
	nobody := func(b genguard.Budget) bool { return b.Of == "" }
	return r.Params.Subject != "" && r.Params.Reservation != "" && len(r.Budgets) > 0 && !slices.ContainsFunc(r.Budgets, nobody)
}

// send makes the refund.
func (r *refund) send(ctx context.Context, client *genguard.Client) error {
	var errSettle error
	if r.reserved != nil {
		_, errSettle = r.reserved.settle(ctx, client, 0, nil)
	}
	r.params.Age = max(monotime.Now().Since(r.sent), 0)
	_, err := client.Refund(ctx, r.params)
	return errors.Join(errSettle, err)
}

// subjects returns the subjects that a refund changes, first that of the call.
func (r *refund) subjects() []string {
	all := []string{string(r.params.Subject)}
	for _, s := range append([]fcall.Subject{r.params.ChallengeOf}, r.about...) {
		if s != "" && !slices.Contains(all, string(s)) {
			all = append(all, string(s))
		}
	}
	return all
}
