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
	ps, request := g.plans.Load(), (*plan.Request)(&r)
	pl, err := ps.Of(request)
	if err != nil {
		return nil, err
	}
	if err := request.Check(); err != nil {
		return nil, err
	}
	var whom plan.Whom
	ps.Resolve(&whom, pl, r.Subjects)
	e := &Explanation{
		Subject: whom.Client, Account: whom.Account, Attempts: whom.Attempts, Challenge: whom.Challenge,
		ChallengeRequired: pl.Params.ChallengeRequired, Counted: whom.Counted(pl),
	}
	var d Decision
	if ps.Overrides != nil && overridden(ps.Overrides, &d, &r) {
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
