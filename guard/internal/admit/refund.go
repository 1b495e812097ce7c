package admit

import (
	"cmp"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// An Answer is the result of one call.
type Answer struct {
	Result guard.AdmitResult
	Err    error
}

// NoAnswers returns n answers with an error.
func NoAnswers(n int, cause error) []Answer {
	answers := make([]Answer, n)
	for i := range answers {
		answers[i].Err = cause
	}
	return answers
}

// Mixed reports whether some calls admitted a request that another refused.
func Mixed(answers []Answer) bool {
	admitted, refused := false, false
	for i := range answers {
		a := &answers[i]
		admitted = admitted || a.Err == nil && a.Result.Allowed
		refused = refused || a.Err == nil && !a.Result.Allowed
	}
	return admitted && refused
}

// chargesNothing reports whether a call that admitted has nothing to refund.
func chargesNothing(q *plan.Query, c *plan.Call, a *guard.AdmitResult) bool {
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

// refundRows refunds what a call charged of some rows. A known receipt is charged for global limits only.
func refundRows(q *plan.Query, c *plan.Call, a *guard.AdmitResult, rows plan.RowSet, share plan.Share) (refund guard.RefundParams, limits []guard.Limit) {
	refund = guard.RefundParams{Subject: c.Params.Subject, Weight: c.Params.Weight, At: a.At, Age: monotime.Now().Since(q.Sent), Holder: c.Params.Holder}
	charged := rows & c.Charged(q.Plan, a)
	for i := range charged.All() {
		refund.Taken = append(refund.Taken, guard.RefundTaken{Left: a.Limits[c.Limits.Rows.Rank(i)].ResetAfter})
		refund.LimitsOf = append(refund.LimitsOf, fcall.Subject(q.RowSubjects[i]))
	}
	packed := q.Plan.Limits(&q.Resolved, charged, share)
	refund.Limits = packed.Pack
	return refund, packed.Each
}

// refundCall refunds all that a call charged.
func refundCall(q *plan.Query, c *plan.Call, a *guard.AdmitResult, share plan.Share) (guard.RefundParams, []guard.Limit) {
	p := &c.Params
	refund, limits := refundRows(q, c, a, c.Limits.Rows, share)
	refund.Subject = cmp.Or(p.ReceiptOf, p.Subject)
	if a.Duplicate {
		return refund, limits
	}
	refund.Receipt, refund.Reservation, refund.ReservationOf = p.Receipt, a.Reservation, cmp.Or(p.BudgetsOf, p.Subject)
	if a.Challenge == guard.AdmitChallengeConsumed {
		refund.Challenge, refund.ChallengeOf, refund.Payload = p.Challenge, cmp.Or(p.ChallengeOf, p.Subject), p.Payload
	}
	return refund, limits
}

// A Charge is what one call charged, with the rows of its limits, so that another process can refund it.
type Charge struct {
	Limits []guard.Limit
	Refund guard.RefundParams // without the pack of Limits
}

// Charges returns what the calls of an admitted query charged.
func Charges(q *plan.Query, answers []Answer, share plan.Share) []Charge {
	var charges []Charge
	for i := range answers {
		a, c := &answers[i], &q.Calls[i]
		if a.Err == nil && a.Result.Allowed && !chargesNothing(q, c, &a.Result) {
			refund, limits := refundCall(q, c, &a.Result, share)
			refund.Limits = guard.LimitPack{}
			charges = append(charges, Charge{limits, refund})
		}
	}
	return charges
}
