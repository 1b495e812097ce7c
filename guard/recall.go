package guard

import (
	"slices"

	"github.com/rlfunc/rlfunc/guard/internal/denied"
	"github.com/rlfunc/rlfunc/guard/internal/moment"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// blocks stands for all plans where a block is remembered.
var blocks = new(plan.Plan)

func ownKey(pl *plan.Plan, w *plan.Whom, r *Request) denied.Key {
	return denied.Key{Of: pl, Subject: w.Own(pl), Weight: r.Weight, Estimate: r.Estimate, Times: w.Factors()}
}

func blockKey(subject string) denied.Key { return denied.Key{Of: blocks, Subject: subject} }

func globalKey(row *plan.Row, r *Request) denied.Key { return denied.Key{Of: row, Weight: r.Weight} }

func receiptKey(pl *plan.Plan, w *plan.Whom, r *Request) denied.Key {
	return denied.Key{Of: pl, Subject: w.Client, Receipt: r.Receipt}
}

// overridden fills in what the overrides decide.
func overridden(o *plan.Overrides, d *Decision, r *plan.Request) bool {
	denied, decided := o.Decide(r)
	if denied != "" {
		d.Reason, d.Refused = ReasonDenied, denied
	} else if decided {
		d.Allowed = true
	}
	return decided
}

// recall fills in a refusal that is remembered: of these subjects, of a block of one of them, or of a global limit. A receipt that this
// process has admitted lately may pass, so that only Redis can answer.
func (g *Guard) recall(d *Decision, pl *plan.Plan, w *plan.Whom, r *Request, at moment.Moment) bool {
	if g.denied == nil || r.Receipt != "" && g.denied.Passes(receiptKey(pl, w, r)) {
		return false
	}
	if !pl.Attempts && g.found(d, ownKey(pl, w, r), at) {
		return true
	}
	for _, s := range r.Subjects {
		if g.found(d, blockKey(s), at) {
			return true
		}
	}
	if pl.Attempts {
		return false
	}
	for i := range w.Rows.All() {
		if row := &pl.Rows[i]; row.Limit.Global && g.found(d, globalKey(row, r), at) {
			return true
		}
	}
	return false
}

// found fills in a refusal, as it is at a moment.
func (g *Guard) found(d *Decision, key denied.Key, at moment.Moment) bool {
	kept, age, ok := g.denied.Find(key, at)
	if !ok {
		return false
	}
	endpoint, subject := d.Endpoint, d.Subject
	*d = *kept
	d.Limits, d.Budgets = slices.Clone(kept.Limits), slices.Clone(kept.Budgets)
	d.Endpoint, d.Subject = endpoint, subject
	d.Cached, d.Age = true, age
	d.RetryAfter -= age
	return true
}

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
