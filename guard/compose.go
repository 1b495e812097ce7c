package guard

import (
	"strings"
	"time"

	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/decide"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// compose builds the decision from the results. It skips calls without one.
func (g *Guard) compose(d *Decision, q *decide.Query) {
	d.Allowed = true
	for i := range q.Calls {
		if c := &q.Calls[i]; c.Err == nil {
			d.addCall(q, c)
		}
	}
	d.addLimits(q)
	d.addBudgets(q)
	d.adjustPlaceWait()
}

// addCall adds one call's outcome. If the subject's own limit and a global limit both refuse, the reason is the subject's limit.
func (d *Decision) addCall(q *decide.Query, c *decide.Call) {
	a := &c.Result
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
		own := refusingOwnRow(q.Endpoint, c)
		d.Reason = reasonOf(a.Reason, own >= 0)
		switch {
		case a.Reason == genguard.AdmitReasonBlocked && a.Refused > 0:
			d.Refused = string(c.Params.Blocks[a.Refused-1])
		case own >= 0 && a.Reason == genguard.AdmitReasonLimit:
			d.Refused = q.RowSubjects[own]
		case d.Reason == ReasonGlobal:
		case d.Reason == ReasonChallenge:
			d.Refused = q.Challenge
		case d.Reason == ReasonBudget || d.Reason == ReasonPenalty || d.Reason == ReasonTooLarge:
			d.Refused = refusingAccount(q, c)
		default:
			d.Refused = string(c.Params.Subject)
		}
		if a.Tier > 0 && a.Refused == 0 {
			d.Block = c.Params.Block
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
func (d *Decision) addLimits(q *decide.Query) {
	if d.Limits == nil {
		d.Limits = make([]LimitState, 0, len(q.Endpoint.Rows))
	}
	for i := range q.Rows.All() {
		for n := range q.Calls {
			c := &q.Calls[n]
			rank := c.Limits.Rows.Rank(i)
			if !c.Limits.Rows.Has(i) || c.Err != nil || rank >= len(c.Result.Limits) {
				continue
			}
			state, got := limitState(&q.Endpoint.Rows[i], &c.Limits.Each[rank], q.RowSubjects[i]), &c.Result.Limits[rank]
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
func limitState(r *decide.Row, l *genguard.Limit, subject string) LimitState {
	s := LimitState{
		Name: r.Name, Endpoint: r.Endpoint, Subject: subject, Kind: r.Kind,
		Limit: l.Limit, Window: l.Window, Burst: l.Burst, Global: l.Global, Shadow: l.Shadow,
	}
	switch r.Kind {
	case policy.Concurrency:
		s.Window, s.Lease = 0, l.Window
	case policy.Quota:
		s.Window = l.Next.Sub(l.Start)
	}
	return s
}

// addBudgets adds the budgets in the order of the policy.
func (d *Decision) addBudgets(q *decide.Query) {
	for i := range q.Budgets.All() {
		for n := range q.Calls {
			c := &q.Calls[n]
			if c.Budgets == nil || !c.Budgets.Rows.Has(i) || c.Err != nil {
				continue
			}
			if rank := c.Budgets.Rows.Rank(i); rank < len(c.Result.Budgets) {
				state, got := budgetState(q.Endpoint, &q.Resolved, i, &c.Budgets.Each[rank]), &c.Result.Budgets[rank]
				state.Allowed, state.RetryAfter = got.Allowed, got.RetryAfter
				state.Spent, state.Remaining = decide.Millionths(state.Unit, got.Spent), decide.Millionths(state.Unit, got.Remaining)
				warn := q.Endpoint.Budget(i).Warn
				state.Warned = warn > 0 && float64(state.Spent) >= warn*float64(state.Budget)
				d.Budgets = append(d.Budgets, state)
			}
		}
	}
}

// budgetState returns budget i as a call has it.
func budgetState(ep *decide.Endpoint, w *decide.Resolved, i int, b *genguard.Budget) BudgetState {
	return BudgetState{
		Name: ep.Budget(i).Name, Subject: w.BudgetSubjects[i], Unit: b.Unit, Budget: decide.Millionths(b.Unit, b.Budget), Window: b.Window,
		Every: ep.Budget(i).Every,
	}
}

// refusingAccount returns the subject of the account that refuses, or "" if it is that of all requests.
func refusingAccount(q *decide.Query, c *decide.Call) string {
	for i := range c.Budgets.Rows.All() {
		if subject := q.BudgetSubjects[i]; c.Budgets.Rows.Rank(i)+1 == int(c.Result.Refused) && !strings.HasPrefix(subject, agreed.GlobalPrefix) {
			return subject
		}
	}
	return ""
}

// refusingOwnRow returns the first row that refuses and is not global, or -1.
func refusingOwnRow(ep *decide.Endpoint, c *decide.Call) int {
	n := 0
	for i := range c.Limits.Rows.All() {
		if l := &ep.Rows[i].Limit; n < len(c.Result.Limits) && !c.Result.Limits[n].Allowed && !l.Shadow && !l.Global {
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
