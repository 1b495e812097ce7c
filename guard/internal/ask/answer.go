package ask

import (
	"cmp"
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/moment"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// An Answer is what one call of a question came to.
type Answer struct {
	Result guard.AdmitResult
	Err    error
}

// Unanswered are answers that did not come.
func Unanswered(n int, cause error) []Answer {
	answers := make([]Answer, n)
	for i := range answers {
		answers[i].Err = cause
	}
	return answers
}

// Mixed reports whether some calls admitted a request that another one refused.
func Mixed(answers []Answer) bool {
	admitted, refused := false, false
	for i := range answers {
		a := &answers[i]
		admitted = admitted || a.Err == nil && a.Result.Allowed
		refused = refused || a.Err == nil && !a.Result.Allowed
	}
	return admitted && refused
}

// charged reports whether a call has taken of one of its rows. A repeat of a known receipt has taken of global limits alone.
func charged(q *plan.Question, c *plan.Call, a *guard.AdmitResult, row int) bool {
	n := c.Limits.Rows.Place(row)
	return c.Limits.Rows.Has(row) && n < len(a.Limits) && a.Limits[n].Allowed && (q.Plan.Rows[row].Limit.Global || !a.Duplicate)
}

// takesNothing reports whether a call that admitted has nothing to give back.
func takesNothing(q *plan.Question, c *plan.Call, a *guard.AdmitResult) bool {
	if a.Duplicate {
		for i := range c.Limits.Rows.All() {
			if q.Plan.Rows[i].Limit.Global {
				return false
			}
		}
		return true
	}
	p := &c.Params
	return p.Limits.Len() == 0 && p.Budgets.Len() == 0 && p.Challenge == "" && p.Receipt == ""
}

// back is what gives back what a call took.
func back(q *plan.Question, c *plan.Call, a *guard.AdmitResult) guard.GiveBackParams {
	p := &c.Params
	back := guard.GiveBackParams{
		Bucket: cmp.Or(p.ReceiptOf, p.Bucket), Limits: p.Limits, LimitsOf: p.LimitsOf, Weight: p.Weight,
		Taken: make([]guard.GiveBackTaken, len(a.Limits)), At: a.At, Age: age(q),
	}
	if back.LimitsOf == nil && back.Bucket != p.Bucket {
		back.LimitsOf = slices.Repeat([]fcall.Subject{p.Bucket}, len(a.Limits))
	}
	for i := range c.Limits.Rows.All() {
		if n := c.Limits.Rows.Place(i); charged(q, c, a, i) {
			back.Taken[n].Left = a.Limits[n].ResetAfter
		}
	}
	if a.Duplicate {
		return back
	}
	back.Receipt, back.Reservation, back.ReservationOf = p.Receipt, a.Reservation, cmp.Or(p.BudgetsOf, p.Bucket)
	if a.Challenge == guard.AdmitChallengeConsumed {
		back.Challenge, back.ChallengeOf, back.Payload = p.Challenge, cmp.Or(p.ChallengeOf, p.Bucket), p.Payload
	}
	return back
}

// backOfRows is what gives back what a call took of some rows alone.
func backOfRows(q *plan.Question, c *plan.Call, a *guard.AdmitResult, rows plan.RowSet, share plan.Share) (back guard.GiveBackParams, any bool) {
	some := plan.RowSet(0)
	for i := range rows.All() {
		if charged(q, c, a, i) {
			some |= 1 << i
			back.Taken = append(back.Taken, guard.GiveBackTaken{Left: a.Limits[c.Limits.Rows.Place(i)].ResetAfter})
			back.LimitsOf = append(back.LimitsOf, fcall.Subject(q.Of[i]))
		}
	}
	back.Bucket, back.Limits, back.Weight = c.Params.Bucket, q.Plan.Limits(&q.Whom, some, share).Pack, c.Params.Weight
	back.At, back.Age = a.At, age(q)
	return back, some != 0
}

func age(q *plan.Question) time.Duration { return moment.Now().Since(q.Sent) }
