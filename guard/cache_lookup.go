package guard

import (
	"slices"

	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
	"github.com/rlfunc/rlfunc/guard/internal/refusals"
)

// blockScope is the scope of cached blocks, which hold for all plans.
var blockScope = new(plan.Plan)

func ownKey(pl *plan.Plan, w *plan.Resolved, r *Request) refusals.Key {
	return refusals.Key{Scope: pl.Scope, Subject: w.OwnSubjects(pl), Weight: r.Weight, Estimate: r.Estimate, Variant: w.Variant()}
}

func blockKey(subject string) refusals.Key { return refusals.Key{Scope: blockScope, Subject: subject} }

func globalKey(pl *plan.Plan, w *plan.Resolved, i int, r *Request) refusals.Key {
	return refusals.Key{Scope: pl.Rows[i].Scope, Weight: r.Weight, Variant: w.RowVariant(i)}
}

func receiptKey(pl *plan.Plan, w *plan.Resolved, r *Request) refusals.Key {
	return refusals.Key{Scope: pl.Scope, Subject: w.Client, Receipt: r.Receipt}
}

// cachedRefusal fills in a cached refusal: of the request's subjects, of a block, or of a global limit. The subjects' own limits do not refuse
// a receipt that this process admitted, because Redis may admit it again.
func (g *Guard) cachedRefusal(d *Decision, pl *plan.Plan, w *plan.Resolved, r *Request, at monotime.Time) bool {
	if g.refusals.Empty(at) {
		return false
	}
	known := r.Receipt != "" && g.refusals.HasReceipt(receiptKey(pl, w, r))
	if !known && !pl.Attempts && g.fillFromCache(d, ownKey(pl, w, r), at) {
		return true
	}
	for _, s := range r.Subjects {
		if g.fillFromCache(d, blockKey(s), at) {
			return true
		}
	}
	if pl.Attempts {
		return false
	}
	for i := range w.Rows.All() {
		if pl.Rows[i].Limit.Global && g.fillFromCache(d, globalKey(pl, w, i, r), at) {
			return true
		}
	}
	return false
}

// fillFromCache fills in the refusal that is cached under a key.
func (g *Guard) fillFromCache(d *Decision, key refusals.Key, at monotime.Time) bool {
	kept, age, ok := g.refusals.Find(key, at)
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
