package decide

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

// AllRows are the rows of any endpoint.
const AllRows = ^RowSet(0)

// charged returns the rows that an admitted call charged and may take back. A repeat of a receipt is charged by global limits, and holds places
// of its own; what more weight cost it elsewhere stays charged.
func (q *Query) charged(c *Call) RowSet {
	charged := RowSet(0)
	for i := range c.Limits.Rows.All() {
		n, always := c.Limits.Rows.Rank(i), q.Endpoint.Rows[i].Limit.Global || q.Endpoint.Concurrent.Has(i)
		if n < len(c.Result.Limits) && c.Result.Limits[n].Allowed && (always || !c.Result.Duplicate) {
			charged |= 1 << i
		}
	}
	return charged
}

// Places returns the places that a call charged, or may have charged if it has no result. ok is false if there are none.
func (q *Query) Places(c *Call) (p Places, ok bool) {
	rows := c.Limits.Rows & q.Endpoint.Concurrent
	if c.Err == nil {
		rows &= q.charged(c)
	}
	if rows == 0 {
		return p, false
	}
	limits := q.Endpoint.Limits(&q.Resolved, rows, q.Share)
	p = Places{Subject: c.Params.Subject, Rows: limits.Each, Holder: c.Params.Holder, Lease: shortestLease(limits.Each)}
	for i := range rows.All() {
		p.Of = append(p.Of, fcall.Subject(q.RowSubjects[i]))
	}
	p.Limits = limits.Pack.For(p.Of...)
	return p, true
}

// A Refund is what one call charged and is to be refunded.
type Refund struct {
	params   guard.RefundParams
	reserved *Reservation    // is given back; nil if the call reserved nothing
	about    []fcall.Subject // of the limits and budgets
	sent     monotime.Time   // when the call was sent
}

// RefundRows returns the refunds of some rows of an admitted query. Its attempt, receipt and budgets stay charged.
func (q *Query) RefundRows(rows RowSet) []Refund {
	var all []Refund
	for i := range q.Calls {
		if c := &q.Calls[i]; c.Err == nil && c.Result.Allowed {
			if r := q.refund(c, rows); r.params.Limits.Len() > 0 {
				all = append(all, r)
			}
		}
	}
	return all
}

// RefundAll returns the refunds of all that the calls which admitted charged, except attempts. A repeat that reserved something takes its receipt
// along, by which others would pass for what is given back.
func (q *Query) RefundAll() []Refund {
	var all []Refund
	for i := range q.Calls {
		c := &q.Calls[i]
		if c.Err != nil || !c.Result.Allowed {
			continue
		}
		r, p := q.refund(c, AllRows), &c.Params
		to := &r.params
		to.Subject = cmp.Or(p.ReceiptOf, p.Subject)
		if !c.Result.Duplicate || reservesMore(c) {
			to.Receipt = p.Receipt
			if reserved, ok := q.Reserved(c); ok {
				r.reserved = &reserved
				for i := range reserved.Budgets {
					r.about = append(r.about, reserved.Budgets[i].Of)
				}
			}
		}
		if c.Result.Challenge == guard.AdmitChallengeConsumed {
			to.Challenge, to.ChallengeOf, to.Payload = p.Challenge, cmp.Or(p.ChallengeOf, p.Subject), p.Payload
		}
		if to.Limits.Len() > 0 || to.Receipt != "" || r.reserved != nil || to.Challenge != "" {
			all = append(all, r)
		}
	}
	return all
}

func (q *Query) refund(c *Call, rows RowSet) Refund {
	rows &= q.charged(c)
	var taken []guard.RefundTaken
	var of []fcall.Subject
	for i := range rows.All() {
		taken = append(taken, guard.RefundTaken{Left: c.Result.Limits[c.Limits.Rows.Rank(i)].ResetAfter})
		of = append(of, fcall.Subject(q.RowSubjects[i]))
	}
	return Refund{params: guard.RefundParams{
		Subject: c.Params.Subject, Weight: c.Params.Weight, At: c.Result.At, Holder: c.Params.Holder,
		Limits: q.Endpoint.Limits(&q.Resolved, rows, q.Share).Pack.For(of...), Taken: guard.PackRefundTaken(taken...),
	}, about: of, sent: q.Sent}
}

// A Reservation is what one call reserved of budgets. Any process can settle it.
type Reservation struct {
	Budgets []guard.Budget
	Params  guard.SettleParams // Subject, Reservation and Penalty
}

// Reserved returns what a call reserves; ok is false if it charges no budgets.
func (q *Query) Reserved(c *Call) (r Reservation, ok bool) {
	return q.reservation(c, func(unit string) bool { return !slices.Contains(q.Request.Unreserved, unit) })
}

// reservation returns the part of what a call reserves that is in some units; ok is false if there is none.
func (q *Query) reservation(c *Call, in func(unit string) bool) (r Reservation, ok bool) {
	if c.Budgets == nil {
		return r, false
	}
	r.Params = guard.SettleParams{Subject: c.Params.Subject, Reservation: c.Params.Reservation, Penalty: q.Endpoint.Penalty}
	r.Budgets = make([]guard.Budget, 0, len(c.Budgets.Each))
	for i := range c.Budgets.Rows.All() {
		if b := c.Budgets.Each[c.Budgets.Rows.Rank(i)]; in(b.Unit) {
			b.Of = fcall.Subject(q.BudgetSubjects[i])
			r.Budgets = append(r.Budgets, b)
		}
	}
	return r, len(r.Budgets) > 0
}

// Estimates returns what a call reserves in money and in each other unit: the request's estimates, or for a repeat of a receipt what those exceed
// what the receipt has paid before.
func (q *Query) Estimates(c *Call) (money fcall.Micros, units []Amount) {
	money, units = q.Estimate(), q.Units
	if len(q.Request.Unreserved) > 0 {
		units = slices.DeleteFunc(slices.Clone(units), func(a Amount) bool { return slices.Contains(q.Request.Unreserved, a.Unit) })
	}
	if c.Err != nil || !c.Result.Duplicate {
		return money, units
	}
	most := map[string]int64{} // by unit: accounts of one unit may have been paid differently
	for i, row := range c.Result.Budgets {
		unit := c.Budgets.Each[i].Unit
		most[unit] = max(most[unit], int64(row.Charged))
	}
	units = slices.Clone(units)
	for i := range units {
		units[i].N = most[units[i].Unit]
	}
	return fcall.Micros(most[""]), units
}

// reservesMore reports whether a repeat of a receipt has reserved something.
func reservesMore(c *Call) bool {
	return slices.ContainsFunc(c.Result.Budgets, func(row guard.BudgetResult) bool { return row.Charged > 0 })
}

// Spent returns reservations that nobody made, of a request that has spent its units: settling one records what was spent.
func Spent(ep *Endpoint, r *Request, w *Resolved, split bool) (all []Reservation) {
	w.Rows = 0
	var q Query
	q.Build(ep, r, w, split)
	for i := range q.Calls {
		in := func(unit string) bool {
			return slices.ContainsFunc(r.Units, func(a Amount) bool { return a.Unit == unit })
		}
		if reservation, ok := q.reservation(&q.Calls[i], in); ok {
			all = append(all, reservation)
		}
	}
	return all
}

// Settle replaces the estimates by what was spent.
func (r *Reservation) Settle(ctx context.Context, client *guard.Client, actual fcall.Micros, units []Amount) (guard.SettleResult, error) {
	p := r.Params
	p.Budgets, p.Actual, p.Units = guard.PackBudget(r.Budgets...), actual, packUnits(units, nil)
	return client.Settle(ctx, p)
}

// Complete reports whether r is one that Reserved returns, as another process may have written it.
func (r *Reservation) Complete() bool {
	nobody := func(b guard.Budget) bool { return b.Of == "" }
	return r.Params.Subject != "" && r.Params.Reservation != "" && len(r.Budgets) > 0 && !slices.ContainsFunc(r.Budgets, nobody)
}

// Make makes the refund.
func (r *Refund) Make(ctx context.Context, client *guard.Client) error {
	var errSettle error
	if r.reserved != nil {
		_, errSettle = r.reserved.Settle(ctx, client, 0, nil)
	}
	r.params.Age = max(monotime.Now().Since(r.sent), 0)
	_, err := client.Refund(ctx, r.params)
	return errors.Join(errSettle, err)
}

// Subjects returns the subjects that a refund changes, first that of the call.
func (r *Refund) Subjects() []string {
	all := []string{string(r.params.Subject)}
	for _, s := range append([]fcall.Subject{r.params.ChallengeOf}, r.about...) {
		if s != "" && !slices.Contains(all, string(s)) {
			all = append(all, string(s))
		}
	}
	return all
}
