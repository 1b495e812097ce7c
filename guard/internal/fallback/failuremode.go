package fallback

import (
	"slices"

	"github.com/rlfunc/rlfunc/guard/internal/admit"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A Verdict is the result of the failure modes of all undecided parts of a query.
type Verdict struct {
	FailClosed    []string // undecided parts whose failure mode is closed
	LocalFallback plan.LocalPart
	Err           error // of a call to which failure modes do not apply
}

// ApplyFailureModes applies the policy's failure modes to the calls that Redis did not decide.
func ApplyFailureModes(q *plan.Query, answers []admit.Answer) Verdict {
	var v Verdict
	pl := q.Plan
	apply := func(f policy.OnFailure, name string, decideLocally func()) {
		switch f {
		case policy.Closed:
			if !slices.Contains(v.FailClosed, name) {
				v.FailClosed = append(v.FailClosed, name)
			}
		case policy.Local:
			decideLocally()
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
			apply(pl.Rows[n].OnFailure, pl.Rows[n].Name, func() { v.LocalFallback.Rows |= 1 << n })
		}
		if c.Account != nil {
			apply(pl.OnCost, "cost", func() { v.LocalFallback.Account = true })
		}
		if !c.OnlyGlobal() {
			apply(pl.OnAbuse, "abuse", func() {
				v.LocalFallback.Blocks, v.LocalFallback.Attempts = true, v.LocalFallback.Attempts || c.Params.Tiers.Len() > 0
			})
		}
		if c.Challenge {
			apply(pl.OnChallenge, "challenge", func() {})
		}
	}
	return v
}
