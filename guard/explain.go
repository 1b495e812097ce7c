package guard

import (
	"github.com/rlfunc/rlfunc/fcall"
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
	ps := g.plans.Load()
	pl, err := ps.plan(&r)
	if err != nil {
		return nil, err
	}
	if err := checkSubjects("Subjects", r.Subjects, mostSubjects); err != nil {
		return nil, err
	}
	var res resolved
	ps.resolve(&res, pl, r.Subjects)
	e := &Explanation{
		Subject: res.client, Account: res.account, Attempts: res.attempts, Challenge: res.challenge,
		ChallengeRequired: pl.params.ChallengeRequired, Counted: res.counted(pl),
	}
	var d Decision
	if ps.overrides != nil && ps.overridden(&d, &r) {
		e.Denied = d.Refused
		if d.Allowed {
			e.Allowed = res.client
		}
	}
	for i := range pl.rows {
		if !res.rows.has(i) {
			e.Absent = append(e.Absent, pl.rows[i].state.Name)
			continue
		}
		row := pl.pack(1<<i, false, res.times).states[0]
		row.Subject = res.of[i]
		e.Limits = append(e.Limits, row)
	}
	if res.account != "" {
		e.Budgets, e.Estimate = pl.packAccount(false, res.budgets).states, pl.estimate
	}
	return e, nil
}
