package guard

import (
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/admit"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// compose builds the decision from the answers. It skips answers with an error.
func (g *Guard) compose(d *Decision, q *plan.Query, answers []admit.Answer) {
	d.Allowed = true
	for i := range answers {
		if answers[i].Err == nil {
			d.addCall(q, &q.Calls[i], &answers[i].Result)
		}
	}
	d.addLimits(q, answers)
	if d.Allowed && (q.Plan.Counting || q.Request.Refundable) {
		d.pendingResponse = &pendingResponse{guard: g, backend: &g.sender.Backend, query: q, answers: answers}
	}
	for i := range answers {
		c, a := &q.Calls[i], &answers[i]
		if c.Account == nil || a.Err != nil {
			continue
		}
		d.addBudgets(c.Account, &a.Result)
		if d.Allowed {
			d.charge = &charge{
				guard: g, subject: q.Account, reservation: a.Result.Reservation, estimate: c.Params.Estimate, budgets: c.Account.SettleLimits, duplicate: a.Result.Duplicate,
			}
		}
	}
	d.adjustPlaceWait()
}

// addCall adds one call's outcome. If the subject's own limit and a global limit both refuse, the reason is the subject's limit.
func (d *Decision) addCall(q *plan.Query, c *plan.Call, a *genguard.AdmitResult) {
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
		own := refusingOwnRow(q.Plan, c, a)
		d.Reason = reasonOf(a.Reason, own >= 0)
		switch {
		case a.Reason == genguard.AdmitReasonBlocked && a.Blocked > 0:
			d.Refused = string(c.Params.Blocks[a.Blocked-1])
		case own >= 0 && a.Reason == genguard.AdmitReasonLimit:
			d.Refused = q.RowSubjects[own]
		case d.Reason == ReasonGlobal:
		case d.Reason == ReasonChallenge:
			d.Refused = q.Challenge
		case d.Reason == ReasonBudget || d.Reason == ReasonPenalty || d.Reason == ReasonTooLarge:
			d.Refused = q.Account
		default:
			d.Refused = string(c.Params.Subject)
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

// addLimits adds the limits in the order of the policy.
func (d *Decision) addLimits(q *plan.Query, answers []admit.Answer) {
	if d.Limits == nil {
		d.Limits = make([]LimitState, 0, len(q.Plan.Rows))
	}
	for i := range q.Rows.All() {
		for n := range q.Calls {
			c, a := &q.Calls[n], &answers[n]
			rank := c.Limits.Rows.Rank(i)
			if !c.Limits.Rows.Has(i) || a.Err != nil || rank >= len(a.Result.Limits) {
				continue
			}
			state, got := limitState(&q.Plan.Rows[i], &c.Limits.Each[rank], q.RowSubjects[i]), &a.Result.Limits[rank]
			state.Allowed, state.Remaining = got.Allowed, got.Remaining
			state.RetryAfter = got.RetryAfter
			if state.Kind != policy.Concurrency {
				state.ResetAfter = got.ResetAfter
			}
			d.Limits = append(d.Limits, state)
		}
	}
}

// limitState returns a limit as the policy defines it.
func limitState(r *plan.Row, l *genguard.Limit, subject string) LimitState {
	s := LimitState{
		Name: r.Name, Endpoint: r.Endpoint, Subject: subject, Kind: r.Kind,
		Limit: l.Limit, Window: l.Window, Burst: l.Burst, Global: l.Global, Shadow: l.Shadow,
	}
	if r.Kind == policy.Concurrency {
		s.Window, s.Lease = 0, l.Window
	}
	return s
}

func (d *Decision) addBudgets(account *plan.Account, a *genguard.AdmitResult) {
	for i := range a.Budgets {
		state, got := budgetState(account.Each[i]), &a.Budgets[i]
		state.Allowed, state.Spent, state.Remaining, state.RetryAfter = got.Allowed, got.Spent, got.Remaining, got.RetryAfter
		d.Budgets = append(d.Budgets, state)
	}
}

func budgetState(b plan.Budget) BudgetState {
	return BudgetState{Name: b.Name, Budget: b.Budget, Window: b.Window}
}

// refusingOwnRow returns the first row that refuses and is not global, or -1.
func refusingOwnRow(pl *plan.Plan, c *plan.Call, a *genguard.AdmitResult) int {
	n := 0
	for i := range c.Limits.Rows.All() {
		if l := &pl.Rows[i].Limit; n < len(a.Limits) && !a.Limits[n].Allowed && !l.Shadow && !l.Global {
			return i
		}
		n++
	}
	return -1
}

// waitHelps reports whether a request that is refused for r may pass later.
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
