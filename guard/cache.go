package guard

import (
	"slices"

	"github.com/rlfunc/rlfunc/guard/internal/decide"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/guard/internal/refusals"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// blockScope is the scope of cached blocks, which hold for all endpoints.
var blockScope = new(decide.Endpoint)

func ownKey(ep *decide.Endpoint, w *decide.Resolved, r *Request) refusals.Key {
	return refusals.Key{Scope: ep.Scope, Subject: w.OwnSubjects(ep), Weight: r.Weight, Estimate: r.Estimate, Variant: w.Variant()}
}

func blockKey(subject string) refusals.Key { return refusals.Key{Scope: blockScope, Subject: subject} }

func globalKey(ep *decide.Endpoint, w *decide.Resolved, i int, r *Request) refusals.Key {
	return refusals.Key{Scope: ep.Rows[i].Scope, Weight: r.Weight, Variant: w.RowVariant(i)}
}

func receiptKey(ep *decide.Endpoint, w *decide.Resolved, r *Request) refusals.Key {
	return refusals.Key{Scope: ep.Scope, Subject: w.Client, Receipt: r.Receipt}
}

// cachedRefusal fills in a cached refusal: of the request's subjects, of a block, or of a global limit. The subjects' own limits do not refuse
// a receipt that this process admitted, because Redis may admit it again.
func (g *Guard) cachedRefusal(d *Decision, ep *decide.Endpoint, w *decide.Resolved, r *Request, at monotime.Time) bool {
	if g.refusals.Empty(at) {
		return false
	}
	known := r.Receipt != "" && g.refusals.HasReceipt(receiptKey(ep, w, r))
	if !known && !ep.Attempts && g.fillFromCache(d, ownKey(ep, w, r), at) {
		return true
	}
	for _, s := range r.Subjects {
		if g.fillFromCache(d, blockKey(s), at) {
			return true
		}
	}
	if ep.Attempts {
		return false
	}
	for i := range w.Rows.All() {
		if ep.Rows[i].Limit.Global && g.fillFromCache(d, globalKey(ep, w, i, r), at) {
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

// cacheOutcome caches a refusal that ends by waiting, or a receipt that Redis admitted. If refused requests are attempts, it caches only blocks,
// because further attempts must reach Redis. It does not cache the attempt that starts a block: its wait may come from a limit and outlast
// the block.
func (g *Guard) cacheOutcome(ep *decide.Endpoint, w *decide.Resolved, r *Request, d *Decision, at monotime.Time) {
	if g.refusals == nil {
		return
	}
	if r.Receipt != "" && !d.Allowed && !d.Duplicate && d.Fallback == FallbackNone && d.Reason != ReasonBlocked {
		g.refusals.ForgetReceipt(receiptKey(ep, w, r)) // its repeats are used up
	}
	switch {
	case d.Allowed:
		if r.Receipt != "" && ep.Dedup > 0 {
			g.refusals.AddReceipt(receiptKey(ep, w, r), ep.Dedup)
		}
	case d.Fallback != FallbackNone || !waitHelps(d.Reason) || d.Reason == ReasonAttempts:
	case d.Reason == ReasonBlocked: // a block refuses every request of its subject
		block := &Decision{Reason: ReasonBlocked, Refused: d.Refused, RetryAfter: d.block, Strikes: d.Strikes}
		g.refusals.Add(blockKey(d.Refused), block, []string{d.Refused}, at, d.block)
	case ep.Outbound && slices.ContainsFunc(d.Budgets, func(b BudgetState) bool { return !b.Allowed }): // others may settle less than they reserved
	case ep.Attempts || d.needsPlace() && d.Reason != ReasonGlobal:
	case d.Reason == ReasonGlobal:
		g.cacheGlobalRefusals(ep, w, r, d, at)
	default:
		g.refusals.Add(ownKey(ep, w, r), d.Clone(), affectedSubjects(d), at, d.RetryAfter)
	}
}

// cacheGlobalRefusals caches the global limits that refuse, for the requests of all subjects.
func (g *Guard) cacheGlobalRefusals(ep *decide.Endpoint, w *decide.Resolved, r *Request, d *Decision, at monotime.Time) {
	for i := range w.Rows.All() {
		for n := range d.Limits {
			if l := &d.Limits[n]; ep.Rows[i].Limit.Global && l.Subject == w.RowSubjects[i] && refuses(l) && l.Kind != policy.Concurrency {
				g.refusals.Add(globalKey(ep, w, i, r), &Decision{
					Reason: ReasonGlobal, RetryAfter: l.RetryAfter, Limits: slices.Clone(d.Limits[n : n+1]),
				}, []string{l.Subject}, at, l.RetryAfter)
			}
		}
	}
}

// affectedSubjects returns the subjects whose refunds invalidate a refusal. On several servers each refusal by one limit refunds the
// subjects of the others; those refunds do not invalidate it.
func affectedSubjects(d *Decision) []string {
	subjects := []string{d.Refused}
	for i := range d.Budgets {
		if b := &d.Budgets[i]; !slices.Contains(subjects, b.Subject) {
			subjects = append(subjects, b.Subject)
		}
	}
	for i := range d.Limits {
		if l := &d.Limits[i]; refuses(l) && !slices.Contains(subjects, l.Subject) {
			subjects = append(subjects, l.Subject)
		}
	}
	return subjects
}

func refuses(l *LimitState) bool { return !l.Allowed && !l.Shadow }
