package guard

import (
	"cmp"
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
)

// compose makes the decision of what the calls answered; an answer with an error is left out.
func (g *Guard) compose(d *Decision, q *question, answers []answer) {
	d.Allowed = true
	for i := range answers {
		if answers[i].err == nil {
			d.take(q, &q.calls[i], &answers[i].result)
		}
	}
	d.takeLimits(q, answers)
	if d.Allowed && q.plan.counting {
		d.counting = &counting{guard: g, backend: g.remote, asked: q, answers: answers}
	}
	for i := range answers {
		c, a := &q.calls[i], &answers[i]
		if c.account == nil || a.err != nil {
			continue
		}
		d.takeBudgets(c.account, &a.result)
		if d.Allowed {
			d.charge = &charge{
				guard: g, subject: q.account, reservation: a.result.Reservation, estimate: c.params.Estimate, duplicate: a.result.Duplicate,
			}
		}
	}
}

// take adds to the decision whether a call refuses, and why. A refusal by a limit that is not global names the reason, also where a global
// one refuses.
func (d *Decision) take(q *question, c *call, a *guard.AdmitResult) {
	d.Duplicate = d.Duplicate || a.Duplicate
	if c.params.Tiers.Len() > 0 {
		d.Strikes, d.Tier = int(a.Strikes), int(a.Tier)
	}
	if a.Challenge != guard.AdmitChallengeNone {
		d.Challenge = string(a.Challenge)
	}
	if a.Allowed {
		return
	}
	if d.Allowed {
		own := ownRefuses(q.plan, c, a)
		d.Reason = reasonOf(a.Reason, own >= 0)
		switch {
		case a.Reason == guard.AdmitReasonBlocked && a.Blocked > 0:
			d.Refused = string(c.params.Blocks[a.Blocked-1])
		case own >= 0 && a.Reason == guard.AdmitReasonLimit:
			d.Refused = q.of[own]
		case d.Reason == ReasonGlobal:
		case d.Reason == ReasonChallenge:
			d.Refused = q.challenge
		case d.Reason == ReasonBudget || d.Reason == ReasonPenalty || d.Reason == ReasonTooLarge:
			d.Refused = q.account
		default:
			d.Refused = string(c.params.Bucket)
		}
		if a.Reason == guard.AdmitReasonBlocked {
			d.block, d.Tier = a.RetryAfter, int(a.Tier)
		}
	}
	d.Allowed = false
	if !waitHelps(d.Reason) {
		d.RetryAfter = 0
	} else {
		d.RetryAfter = max(d.RetryAfter, a.RetryAfter)
	}
}

// takeLimits adds the limits in the policy's order.
func (d *Decision) takeLimits(q *question, answers []answer) {
	for i := range q.rows.all() {
		for n := range q.calls {
			c, a := &q.calls[n], &answers[n]
			place := c.rows.place(i)
			if !c.rows.has(i) || a.err != nil || place >= len(a.result.Limits) {
				continue
			}
			row, got := c.limits.states[place], &a.result.Limits[place]
			row.Allowed, row.Remaining = got.Allowed, got.Remaining
			row.RetryAfter, row.ResetAfter = got.RetryAfter, got.ResetAfter
			row.Subject = q.of[i]
			d.Limits = append(d.Limits, row)
		}
	}
}

func (d *Decision) takeBudgets(account *packedAccount, a *guard.AdmitResult) {
	for i := range a.Budgets {
		row := account.states[i]
		row.Allowed, row.Spent, row.Remaining = a.Budgets[i].Allowed, a.Budgets[i].Spent, a.Budgets[i].Remaining
		row.RetryAfter = a.Budgets[i].RetryAfter
		d.Budgets = append(d.Budgets, row)
	}
}

// ownRefuses returns the first row that refuses and is not global; -1 for none.
func ownRefuses(pl *plan, c *call, a *guard.AdmitResult) int {
	n := 0
	for i := range c.rows.all() {
		if n < len(a.Limits) && !a.Limits[n].Allowed && !pl.rows[i].limit.Shadow && !pl.rows[i].limit.Global {
			return i
		}
		n++
	}
	return -1
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

// charged reports whether a call has taken of one of its rows.
func (c *call) charged(pl *plan, a *guard.AdmitResult, row int) bool {
	n := c.rows.place(row)
	return n < len(a.Limits) && a.Limits[n].Allowed && (pl.rows[row].limit.Global || !a.Duplicate)
}

// backOf is what gives back what a call took, age after it was sent. A repeat of a known receipt has taken of global limits
// alone.
func backOf(pl *plan, c *call, a *guard.AdmitResult, age time.Duration) guard.GiveBackParams {
	p := &c.params
	back := guard.GiveBackParams{
		Bucket: cmp.Or(p.ReceiptOf, p.Bucket), Limits: p.Limits, LimitsOf: p.LimitsOf, Weight: p.Weight,
		Taken: make([]guard.GiveBackTaken, len(a.Limits)), At: a.At, Age: age,
	}
	if back.LimitsOf == nil && back.Bucket != p.Bucket {
		back.LimitsOf = slices.Repeat([]fcall.Subject{p.Bucket}, len(a.Limits))
	}
	for i := range c.rows.all() {
		if n := c.rows.place(i); c.charged(pl, a, i) {
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
