package guard

import (
	"cmp"
	"strings"
	"time"

	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// compose builds the decision from the results. It skips calls without one.
func (g *Guard) compose(d *Decision, q *ask) {
	d.Allowed = true
	for i := range q.calls {
		if c := &q.calls[i]; c.err == nil {
			d.addCall(q, c)
		}
	}
	d.addLimits(q)
	d.addBudgets(q)
	d.adjustPlaceWait()
}

// addCall adds one call's outcome. If the subject's own limit and a global limit both refuse, the reason is the subject's limit.
func (d *Decision) addCall(q *ask, c *call) {
	a := &c.result
	d.Duplicate = d.Duplicate || a.Duplicate
	if c.params.Tiers.Len() > 0 {
		d.Strikes, d.Tier = int(a.Strikes), int(a.Tier)
	}
	if a.Challenge != genguard.AdmitChallengeNone {
		d.Challenge = string(a.Challenge)
	}
	if a.Allowed {
		return
	}
	if d.Allowed {
		own := refusingOwnRow(q.plan, c)
		d.Reason = reasonOf(a.Reason, own >= 0)
		switch {
		case a.Reason == genguard.AdmitReasonBlocked && a.Refused > 0:
			d.Refused = string(c.params.Blocks[a.Refused-1])
		case own >= 0 && a.Reason == genguard.AdmitReasonLimit:
			d.Refused = q.rowSubjects[own]
		case d.Reason == ReasonGlobal:
		case d.Reason == ReasonChallenge:
			d.Refused = q.challenge
		case d.Reason == ReasonBudget || d.Reason == ReasonPenalty || d.Reason == ReasonTooLarge:
			d.Refused = refusingAccount(q, c)
		default:
			d.Refused = string(c.params.Subject)
		}
		if a.Tier > 0 && a.Refused == 0 {
			d.Block = c.params.Block
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
func (d *Decision) addLimits(q *ask) {
	if d.Limits == nil {
		d.Limits = make([]LimitState, 0, len(q.plan.rows))
	}
	for i := range q.rows.all() {
		for n := range q.calls {
			c := &q.calls[n]
			rank := c.limits.rows.rank(i)
			if !c.limits.rows.has(i) || c.err != nil || rank >= len(c.result.Limits) {
				continue
			}
			state, got := limitState(&q.plan.rows[i], &c.limits.each[rank], q.rowSubjects[i]), &c.result.Limits[rank]
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
func limitState(r *planLimit, l *genguard.Limit, subject string) LimitState {
	s := LimitState{
		Name: r.name, Endpoint: r.endpoint, Subject: subject, Kind: r.kind,
		Limit: l.Limit, Window: l.Window, Burst: l.Burst, Global: l.Global, Shadow: l.Shadow,
	}
	switch r.kind {
	case policy.Concurrency:
		s.Window, s.Lease = 0, l.Window
	case policy.Quota:
		s.Window = l.Next.Sub(l.Start)
	}
	return s
}

// addBudgets adds the budgets in the order of the policy.
func (d *Decision) addBudgets(q *ask) {
	for i := range q.budgets.all() {
		for n := range q.calls {
			c := &q.calls[n]
			if c.budgets == nil || !c.budgets.rows.has(i) || c.err != nil {
				continue
			}
			if rank := c.budgets.rows.rank(i); rank < len(c.result.Budgets) {
				state, got := budgetState(q.plan, &q.whom, i, &c.budgets.each[rank]), &c.result.Budgets[rank]
				state.Allowed, state.RetryAfter = got.Allowed, got.RetryAfter
				state.Spent, state.Remaining = millionths(state.Unit, got.Spent), millionths(state.Unit, got.Remaining)
				warn := q.plan.budgetPolicy(i).Warn
				state.Warned = warn > 0 && float64(state.Spent) >= warn*float64(state.Budget)
				d.Budgets = append(d.Budgets, state)
			}
		}
	}
}

// budgetState returns budget i as a call has it.
func budgetState(plan *plan, w *whom, i int, b *genguard.Budget) BudgetState {
	return BudgetState{
		Name: plan.budgetPolicy(i).Name, Subject: w.budgetSubjects[i], Unit: b.Unit, Budget: millionths(b.Unit, b.Budget), Window: cmp.Or(b.Window, b.Next.Sub(b.Start)),
		Every: plan.budgetPolicy(i).Every,
	}
}

// refusingAccount returns the subject of the account that refuses, or "" if it is that of all requests.
func refusingAccount(q *ask, c *call) string {
	for i := range c.budgets.rows.all() {
		if subject := q.budgetSubjects[i]; c.budgets.rows.rank(i)+1 == int(c.result.Refused) && !strings.HasPrefix(subject, agreed.GlobalPrefix) {
			return subject
		}
	}
	return ""
}

// refusingOwnRow returns the first row that refuses and is not global, or -1.
func refusingOwnRow(plan *plan, c *call) int {
	n := 0
	for i := range c.limits.rows.all() {
		if l := &plan.rows[i].limit; n < len(c.result.Limits) && !c.result.Limits[n].Allowed && !l.Shadow && !l.Global {
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

// placeRetry is the longest RetryAfter of a request that awaits a place.
const placeRetry = time.Second

// adjustPlaceWait replaces the wait for a place, which is when leases end if no request ends or renews.
func (d *Decision) adjustPlaceWait() {
	if d.Allowed || d.Reason != ReasonLimit && d.Reason != ReasonGlobal {
		return
	}
	var places, others time.Duration
	for i := range d.Limits {
		l := &d.Limits[i]
		switch {
		case !l.Refuses():
		case l.Kind == policy.Concurrency:
			places = max(places, l.RetryAfter)
		default:
			others = max(others, l.RetryAfter)
		}
	}
	for i := range d.Budgets {
		others = max(others, d.Budgets[i].RetryAfter)
	}
	if places > 0 && d.RetryAfter <= max(places, others) {
		d.RetryAfter, d.AwaitsPlace = max(others, min(places, placeRetry)), others == 0
	}
}

// needsPlace reports whether a limit of kind concurrency refuses. Such a refusal is not cached.
func (d *Decision) needsPlace() bool {
	for i := range d.Limits {
		if l := &d.Limits[i]; l.Kind == policy.Concurrency && l.Refuses() {
			return true
		}
	}
	return false
}
