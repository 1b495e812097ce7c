package guard

import (
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// An Explanation describes how guard would decide a request.
type Explanation struct {
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
	// Budgets are the budgets of subject Account. Guard reserves Estimate of each.
	Budgets  []BudgetState
	Account  string
	Estimate fcall.Micros
	// Attempts is the subject whose attempts guard counts; "" if the request is not an attempt.
	Attempts string
	// Challenge is the subject that the challenge was issued to. ChallengeRequired reports whether the request needs one.
	Challenge         string
	ChallengeRequired bool
	// Counted reports whether any limit counts the request. If none does, guard rejects it unless its endpoint is unbounded.
	Counted bool
}

// Explain returns how guard would decide a request. It sends nothing to Redis and charges nothing.
func (g *Guard) Explain(r Request) (*Explanation, error) {
	all, request := g.plans.Load(), (*plan.Request)(&r)
	ps := all.ForSubjects(r.Subjects)
	pl, err := ps.PlanFor(request)
	if err != nil {
		return nil, err
	}
	if err := request.Check(); err != nil {
		return nil, err
	}
	var resolved plan.Resolved
	overrides := ps.Overrides()
	ps.Resolve(&resolved, pl, request, overrides)
	e := &Explanation{
		Subject: resolved.Client, Account: resolved.Account, Attempts: resolved.Attempts, Challenge: resolved.Challenge,
		ChallengeRequired: pl.Params.ChallengeRequired, Counted: resolved.Counted(pl),
		Plan: all.Policy.Plan(r.Subjects), Multiplied: overrides.Multiplied(r.Subjects),
	}
	var d Decision
	if overridden(overrides, &d, request) {
		e.Denied = d.Refused
		if d.Allowed {
			e.Allowed = resolved.Client
		}
	}
	for i := range pl.Rows {
		row := &pl.Rows[i]
		if !resolved.Rows.Has(i) {
			e.Missing = append(e.Missing, row.Name)
			continue
		}
		e.Limits = append(e.Limits, limitState(row, &pl.Limits(&resolved, 1<<i, plan.Share{}).Each[0], resolved.RowSubjects[i]))
	}
	if resolved.Account != "" {
		e.Estimate = pl.Estimate
		for _, b := range pl.Account(&resolved, plan.Share{}).Each {
			e.Budgets = append(e.Budgets, budgetState(b))
		}
	}
	return e, nil
}
