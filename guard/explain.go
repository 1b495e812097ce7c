package guard

import (
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// An Explanation is how a request would be decided: whom each part of the policy counts it for.
type Explanation struct {
	// Subject is the policy's client among the request's subjects.
	Subject string
	// Denied and Allowed are the subject that the policy's overrides deny or allow; "" for none. Such a request costs nothing.
	Denied, Allowed string
	// Plan is the policy's plan that the request has; "" for none.
	Plan string
	// Multiplied are the subjects that have each limit and budget several times by an override, and how many times.
	Multiplied map[string]int64
	// Limits are those that count the request, with their capacity for its subjects.
	Limits []LimitState
	// Absent are the names of limits whose identity the request lacks.
	Absent []string
	// Budgets are those that it is charged to, of Account; Estimate is what it reserves.
	Budgets  []BudgetState
	Account  string
	Estimate fcall.Micros
	// Attempts is the subject whose attempts count; "" where a request is none.
	Attempts string
	// Challenge is the subject of whom a challenge is looked at; ChallengeRequired reports whether one must be there.
	Challenge         string
	ChallengeRequired bool
	// Counted reports whether some limit counts the request. One that is not is refused, unless its endpoint is unbounded.
	Counted bool
}

// Explain says how a request would be decided. It sends nothing, and counts nothing.
func (g *Guard) Explain(r Request) (*Explanation, error) {
	all, request := g.plans.Load(), (*plan.Request)(&r)
	ps := all.For(r.Subjects)
	pl, err := ps.Of(request)
	if err != nil {
		return nil, err
	}
	if err := request.Check(); err != nil {
		return nil, err
	}
	var whom plan.Whom
	overrides := ps.Overrides()
	ps.Resolve(&whom, pl, r.Subjects, overrides)
	e := &Explanation{
		Subject: whom.Client, Account: whom.Account, Attempts: whom.Attempts, Challenge: whom.Challenge,
		ChallengeRequired: pl.Params.ChallengeRequired, Counted: whom.Counted(pl),
		Plan: all.Policy.Plan(r.Subjects), Multiplied: overrides.Multiplied(r.Subjects),
	}
	var d Decision
	if overridden(overrides, &d, request) {
		e.Denied = d.Refused
		if d.Allowed {
			e.Allowed = whom.Client
		}
	}
	for i := range pl.Rows {
		row := &pl.Rows[i]
		if !whom.Rows.Has(i) {
			e.Absent = append(e.Absent, row.Name)
			continue
		}
		e.Limits = append(e.Limits, limitState(row, &pl.Limits(&whom, 1<<i, plan.Share{}).Each[0], whom.Of[i]))
	}
	if whom.Account != "" {
		e.Estimate = pl.Estimate
		for _, b := range pl.Account(&whom, plan.Share{}).Each {
			e.Budgets = append(e.Budgets, budgetState(b))
		}
	}
	return e, nil
}
