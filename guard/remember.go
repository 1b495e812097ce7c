package guard

import (
	"slices"

	"github.com/rlfunc/rlfunc/guard/internal/moment"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// remember keeps a refusal that waiting ends, or a receipt that passed. Where refused calls are attempts they have to reach Redis, unless a subject is
// blocked by now. The attempt that starts a block is not kept: its wait may be a limit's that outlasts the block, and who comes next is
// blocked.
func (g *Guard) remember(pl *plan.Plan, w *plan.Whom, r *Request, d *Decision, at moment.Moment) {
	switch {
	case g.denied == nil:
	case d.Allowed:
		if r.Receipt != "" && pl.Dedup > 0 {
			g.denied.Admitted(receiptKey(pl, w, r), pl.Dedup)
		}
	case d.Fallback != FallbackNone || !waitHelps(d.Reason) || d.Reason == ReasonAttempts:
	case d.Reason == ReasonBlocked: // whatever it asks for
		block := &Decision{Reason: ReasonBlocked, Refused: d.Refused, RetryAfter: d.block, Strikes: d.Strikes}
		g.denied.Add(blockKey(d.Refused), block, []string{d.Refused}, at, d.block)
	case pl.Attempts:
	case d.Reason == ReasonGlobal:
		g.rememberGlobal(pl, w, r, d, at)
	default:
		g.denied.Add(ownKey(pl, w, r), d.Clone(), concerned(w, d), at, d.RetryAfter)
	}
}

// rememberGlobal keeps for every request which global limits refuse; it says nothing of this one's subjects.
func (g *Guard) rememberGlobal(pl *plan.Plan, w *plan.Whom, r *Request, d *Decision, at moment.Moment) {
	for i := range w.Rows.All() {
		for n := range d.Limits {
			if l := &d.Limits[n]; pl.Rows[i].Limit.Global && l.Subject == w.Of[i] && refuses(l) {
				g.denied.Add(globalKey(&pl.Rows[i], r), &Decision{
					Reason: ReasonGlobal, RetryAfter: l.RetryAfter, Limits: slices.Clone(d.Limits[n : n+1]),
				}, []string{l.Subject}, at, l.RetryAfter)
			}
		}
	}
}

// concerned are the subjects of which something that is given back may make a refusal untrue. Where keys are on several servers each
// refusal by one limit gives back to the subjects of the others, which does not.
func concerned(w *plan.Whom, d *Decision) []string {
	subjects := []string{d.Refused}
	if len(d.Budgets) > 0 {
		subjects = append(subjects, w.Account)
	}
	for i := range d.Limits {
		if l := &d.Limits[i]; refuses(l) && !slices.Contains(subjects, l.Subject) {
			subjects = append(subjects, l.Subject)
		}
	}
	return subjects
}

func refuses(l *LimitState) bool { return !l.Allowed && !l.Shadow }
