package guard

import (
	"github.com/rlfunc/rlfunc/fcall"
)

// An Explanation describes how guard would decide a request.
type Explanation struct {
	// Exempt reports whether the policy exempts what a middleware was asked, so that guard is not asked; then the rest is empty.
	Exempt bool
	// Request is what guard is asked. Its Endpoint is "" if no endpoint of the policy matches what a middleware was asked; then the rest is empty.
	Request Request
	// Subject is the request's client by the policy.
	Subject string
	// Denied and Allowed are the subjects that overrides deny or allow; "" for none. Such a request is not charged.
	Denied, Allowed string
	// Plan is the policy's plan for the client; "" for none.
	Plan string
	// Multiplied maps subjects to the factor by which overrides multiply their limits and budgets.
	Multiplied map[string]int64
	// Limits are the limits that count the request, with their capacity for its subjects.
	Limits []LimitState
	// Missing names the limits that do not apply, because the request lacks their identity.
	Missing []string
	// Budgets are the budgets that the request is charged to. Guard reserves Estimate in those of money, and Units in the others
	// except those of Request.Unreserved.
	Budgets  []BudgetState
	Estimate fcall.Micros
	Units    []Amount
	// Attempts is the subject whose attempts the endpoint's block counts, and Block its name; both are "" if the request is not an attempt.
	Attempts, Block string
	// Challenge is the subject that the challenge was issued to. ChallengeRequired reports whether the request needs one.
	Challenge         string
	ChallengeRequired bool
	// Counted reports whether any limit counts the request. If none does, guard rejects it unless its endpoint is unbounded.
	Counted, Unbounded bool
}

// Explain returns how guard would decide a request. It sends nothing to Redis and charges nothing.
func (g *Guard) Explain(r Request) (*Explanation, error) {
	all := g.snapshot.Load()
	snapshot, plan, err := all.plan(&r)
	if err != nil {
		return nil, err
	}
	r.At = nil // keeps a policy
	var resolved whom
	overrides := snapshot.current()
	if err := snapshot.resolve(&resolved, plan, &r, overrides); err != nil {
		return nil, err
	}
	e := &Explanation{
		Request: r,
		Subject: resolved.client, Attempts: resolved.attempts, Challenge: resolved.challenge,
		ChallengeRequired: plan.params.ChallengeRequired, Counted: resolved.counted(plan), Unbounded: plan.unbounded,
		Plan: all.policy.Plan(r.Subjects), Multiplied: overrides.multiplied(r.Subjects),
	}
	if e.Attempts != "" {
		e.Block = plan.block.Name
	}
	var d Decision
	if overridden(overrides, &d, &r) {
		e.Denied = d.Refused
		if d.Allowed {
			e.Allowed = resolved.client
		}
	}
	for i := range plan.rows {
		row := &plan.rows[i]
		if !resolved.rows.has(i) {
			e.Missing = append(e.Missing, row.name)
			continue
		}
		e.Limits = append(e.Limits, limitState(row, &plan.limitShape(&resolved, 1<<i, share{}).each[0], resolved.rowSubjects[i]))
	}
	if resolved.budgets != 0 {
		e.Estimate, e.Units = plan.estimate, resolved.units
	}
	for i := range resolved.budgets.all() {
		e.Budgets = append(e.Budgets, budgetState(plan, &resolved, i, &plan.budgetShape(&resolved, 1<<i, share{}).each[0]))
	}
	return e, nil
}
