package guard

import (
	"time"

	"github.com/rlfunc/rlfunc/gen/guard"
)

// compose makes the decision of what the parts answered; an answer with an error is left out.
func (g *Guard) compose(d *Decision, q *question, answers []answer) {
	d.Allowed = true
	for i := range answers {
		if answers[i].err == nil {
			d.take(q.parts[i], q.times, &answers[i].result)
		}
	}
	if own := &answers[0]; d.Allowed && own.err == nil && len(q.parts[0].budgets) > 0 {
		d.charge = &charge{
			guard: g, subject: q.request.Subject, reservation: own.result.Reservation, estimate: q.params[0].Estimate,
			duplicate: own.result.Duplicate,
		}
	}
}

// take adds a part's answer to the decision. A refusal of the subject itself names the reason, also where a global limit refuses.
func (d *Decision) take(pt *part, times int64, a *guard.AdmitResult) {
	own := pt.global == ""
	if own {
		d.Duplicate = a.Duplicate
		d.Strikes = int(a.Strikes)
		d.Tier = int(a.Tier)
		if a.Challenge != guard.AdmitChallengeNone {
			d.Challenge = string(a.Challenge)
		}
	}
	if !a.Allowed {
		if d.Allowed {
			d.Reason = reasonOf(a.Reason, ownRefuses(pt, a))
		}
		d.Allowed = false
		if !waitHelps(d.Reason) {
			d.RetryAfter = 0
		} else {
			d.RetryAfter = max(d.RetryAfter, a.RetryAfter)
		}
		if own && a.Reason == guard.AdmitReasonBlocked {
			d.block = a.RetryAfter
		}
	}
	rows := pt.times(times)
	for i := range a.Limits {
		row := rows.limits[i]
		row.Allowed, row.Remaining = a.Limits[i].Allowed, a.Limits[i].Remaining
		row.RetryAfter, row.ResetAfter = a.Limits[i].RetryAfter, a.Limits[i].ResetAfter
		d.Limits = append(d.Limits, row)
	}
	for i := range a.Budgets {
		row := rows.budgets[i]
		row.Allowed, row.Spent, row.Remaining = a.Budgets[i].Allowed, a.Budgets[i].Spent, a.Budgets[i].Remaining
		row.RetryAfter = a.Budgets[i].RetryAfter
		d.Budgets = append(d.Budgets, row)
	}
}

// ownRefuses reports whether a limit that is not global refuses.
func ownRefuses(pt *part, a *guard.AdmitResult) bool {
	for i := range a.Limits {
		if l := &pt.limits[i]; !a.Limits[i].Allowed && !l.Shadow && !l.Global {
			return true
		}
	}
	return false
}

// waitHelps tells that a request of that reason passes some time.
func waitHelps(r Reason) bool {
	return r != ReasonTooLarge && r != ReasonChallenge && r != ReasonDenied
}

func reasonOf(r guard.AdmitReason, own bool) Reason {
	switch r {
	case guard.AdmitReasonBlocked:
		return ReasonBlocked
	case guard.AdmitReasonTier:
		return ReasonAttempts
	case guard.AdmitReasonLimit:
		if !own {
			return ReasonGlobal
		}
		return ReasonLimit
	case guard.AdmitReasonPenalty:
		return ReasonPenalty
	case guard.AdmitReasonBudget:
		return ReasonBudget
	case guard.AdmitReasonTooLarge:
		return ReasonTooLarge
	case guard.AdmitReasonChallenge:
		return ReasonChallenge
	}
	return ReasonLimit
}

// backOf is what gives back what a part's call took, age after it was sent. A repeat of a known receipt has taken of global limits
// alone.
func backOf(pt *part, p *guard.AdmitParams, a *guard.AdmitResult, age time.Duration) guard.GiveBackParams {
	back := guard.GiveBackParams{
		Bucket: p.Bucket, Limits: p.Limits, LimitsOf: p.LimitsOf, Weight: p.Weight, Taken: make([]guard.GiveBackTaken, len(a.Limits)),
		At: a.At, Age: age,
	}
	for i := range a.Limits {
		if a.Limits[i].Allowed && (pt.limits[i].Global || !a.Duplicate) {
			back.Taken[i].Left = a.Limits[i].ResetAfter
		}
	}
	if a.Duplicate {
		return back
	}
	back.Receipt, back.Reservation = p.Receipt, a.Reservation
	if a.Challenge == guard.AdmitChallengeConsumed {
		back.Challenge, back.Payload = p.Challenge, p.Payload
	}
	return back
}
