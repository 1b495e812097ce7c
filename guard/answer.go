package guard

import (
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/ask"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// compose makes the decision of what the calls answered; an answer with an error is left out.
func (g *Guard) compose(d *Decision, q *plan.Question, answers []ask.Answer) {
	d.Allowed = true
	for i := range answers {
		if answers[i].Err == nil {
			d.take(q, &q.Calls[i], &answers[i].Result)
		}
	}
	d.takeLimits(q, answers)
	if d.Allowed && q.Plan.Counting {
		d.counting = &counting{guard: g, backend: &g.asker.Backend, question: q, answers: answers}
	}
	for i := range answers {
		c, a := &q.Calls[i], &answers[i]
		if c.Account == nil || a.Err != nil {
			continue
		}
		d.takeBudgets(c.Account, &a.Result)
		if d.Allowed {
			d.charge = &charge{
				guard: g, subject: q.Account, reservation: a.Result.Reservation, estimate: c.Params.Estimate, budgets: c.Account.Settling, duplicate: a.Result.Duplicate,
			}
		}
	}
}

// take adds to the decision whether a call refuses, and why. A refusal by a limit that is not global names the reason, also where a global
// one refuses.
func (d *Decision) take(q *plan.Question, c *plan.Call, a *genguard.AdmitResult) {
	d.Duplicate = d.Duplicate || a.Duplicate
	if c.Params.Tiers.Len() > 0 {
		d.Strikes, d.Tier = int(a.Strikes), int(a.Tier)
	}
	if a.Challenge != genguard.AdmitChallengeNone {
		d.Challenge = string(a.Challenge)
	}
	if a.Allowed {
		return
	}
	if d.Allowed {
		own := ownRefuses(q.Plan, c, a)
		d.Reason = reasonOf(a.Reason, own >= 0)
		switch {
		case a.Reason == genguard.AdmitReasonBlocked && a.Blocked > 0:
			d.Refused = string(c.Params.Blocks[a.Blocked-1])
		case own >= 0 && a.Reason == genguard.AdmitReasonLimit:
			d.Refused = q.Of[own]
		case d.Reason == ReasonGlobal:
		case d.Reason == ReasonChallenge:
			d.Refused = q.Challenge
		case d.Reason == ReasonBudget || d.Reason == ReasonPenalty || d.Reason == ReasonTooLarge:
			d.Refused = q.Account
		default:
			d.Refused = string(c.Params.Bucket)
		}
		if a.Reason == genguard.AdmitReasonBlocked {
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
func (d *Decision) takeLimits(q *plan.Question, answers []ask.Answer) {
	if d.Limits == nil {
		d.Limits = make([]LimitState, 0, len(q.Plan.Rows))
	}
	for i := range q.Rows.All() {
		for n := range q.Calls {
			c, a := &q.Calls[n], &answers[n]
			place := c.Limits.Rows.Place(i)
			if !c.Limits.Rows.Has(i) || a.Err != nil || place >= len(a.Result.Limits) {
				continue
			}
			state, got := limitState(&q.Plan.Rows[i], &c.Limits.Each[place], q.Of[i]), &a.Result.Limits[place]
			state.Allowed, state.Remaining = got.Allowed, got.Remaining
			state.RetryAfter, state.ResetAfter = got.RetryAfter, got.ResetAfter
			d.Limits = append(d.Limits, state)
		}
	}
}

// limitState is what the policy says of a limit.
func limitState(r *plan.Row, l *genguard.Limit, subject string) LimitState {
	return LimitState{
		Name: r.Name, Endpoint: r.Endpoint, Subject: subject, Kind: r.Kind,
		Limit: l.Limit, Window: l.Window, Burst: l.Burst, Global: l.Global, Shadow: l.Shadow,
	}
}

func (d *Decision) takeBudgets(account *plan.Account, a *genguard.AdmitResult) {
	for i := range a.Budgets {
		state, got := budgetState(account.Each[i]), &a.Budgets[i]
		state.Allowed, state.Spent, state.Remaining, state.RetryAfter = got.Allowed, got.Spent, got.Remaining, got.RetryAfter
		d.Budgets = append(d.Budgets, state)
	}
}

func budgetState(b plan.Budget) BudgetState {
	return BudgetState{Name: b.Name, Budget: b.Budget, Window: b.Window}
}

// ownRefuses returns the first row that refuses and is not global; -1 for none.
func ownRefuses(pl *plan.Plan, c *plan.Call, a *genguard.AdmitResult) int {
	n := 0
	for i := range c.Limits.Rows.All() {
		if l := &pl.Rows[i].Limit; n < len(a.Limits) && !a.Limits[n].Allowed && !l.Shadow && !l.Global {
			return i
		}
		n++
	}
	return -1
}

// waitHelps reports whether a request of that reason passes after some time.
func waitHelps(r Reason) bool {
	return r != ReasonTooLarge && r != ReasonChallenge && r != ReasonDenied
}

func reasonOf(r genguard.AdmitReason, own bool) Reason {
	switch r {
	case genguard.AdmitReasonBlocked:
		return ReasonBlocked
	case genguard.AdmitReasonTier:
		return ReasonAttempts
	case genguard.AdmitReasonLimit:
		if !own {
			return ReasonGlobal
		}
		return ReasonLimit
	case genguard.AdmitReasonPenalty:
		return ReasonPenalty
	case genguard.AdmitReasonBudget:
		return ReasonBudget
	case genguard.AdmitReasonTooLarge:
		return ReasonTooLarge
	case genguard.AdmitReasonChallenge:
		return ReasonChallenge
	}
	return ReasonLimit
}
