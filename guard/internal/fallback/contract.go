package fallback

import (
	"slices"

	"github.com/rlfunc/rlfunc/guard/internal/ask"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A Verdict is what the failure contracts of a policy say where some calls have no answer.
type Verdict struct {
	Closed []string // what can not be decided, and has to be
	Alone  plan.Alone
	Err    error // of a call that is no matter of contracts
}

// Contract holds the calls that have no answer against the policy.
func Contract(q *plan.Question, answers []ask.Answer) Verdict {
	var v Verdict
	pl := q.Plan
	contract := func(f policy.OnFailure, name string, alone func()) {
		switch f {
		case policy.Closed:
			if !slices.Contains(v.Closed, name) {
				v.Closed = append(v.Closed, name)
			}
		case policy.Local:
			alone()
		}
	}
	for i := range answers {
		err := answers[i].Err
		if err == nil {
			continue
		}
		if !Undecided(err) {
			v.Err = err
			return v
		}
		c := &q.Calls[i]
		for n := range c.Limits.Rows.All() {
			contract(pl.Rows[n].OnFailure, pl.Rows[n].Name, func() { v.Alone.Rows |= 1 << n })
		}
		if c.Account != nil {
			contract(pl.OnCost, "cost", func() { v.Alone.Account = true })
		}
		if !c.OnlyGlobal() {
			contract(pl.OnAbuse, "abuse", func() { v.Alone.Blocks, v.Alone.Attempts = true, v.Alone.Attempts || c.Params.Tiers.Len() > 0 })
		}
		if c.Challenge {
			contract(pl.OnChallenge, "challenge", func() {})
		}
	}
	return v
}
