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
	refused, decided := o.Decide(r)
	if refused != "" {
		d.Reason, d.Refused = ReasonDenied, refused
	} else if decided {
		d.Allowed = true
	}
	return decided
}

// recall fills in a refusal that is remembered: of these subjects, of a block of one of them, or of a global limit. A receipt that this
// process has admitted lately may pass, so that only Redis can answer.
func (g *Guard) recall(d *Decision, pl *plan.Plan, w *plan.Whom, r *Request, at moment.Moment) bool {
	if g.denied.Empty(at) || r.Receipt != "" && g.denied.Passes(receiptKey(pl, w, r)) {
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
