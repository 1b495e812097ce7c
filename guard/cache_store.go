package guard

import (
	"slices"

	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// cacheOutcome caches a refusal that ends by waiting, or a receipt that Redis admitted. If refused requests are attempts, it caches only blocks,
// because further attempts must reach Redis. It does not cache the attempt that starts a block: its wait may come from a limit and outlast
// the block.
func (g *Guard) cacheOutcome(pl *plan.Plan, w *plan.Resolved, r *Request, d *Decision, at monotime.Time) {
	if g.refusals == nil {
		return
	}
	if r.Receipt != "" && !d.Allowed && !d.Duplicate && d.Fallback == FallbackNone && d.Reason != ReasonBlocked {
		g.refusals.ForgetReceipt(receiptKey(pl, w, r)) // its repeats are used up
	}
	switch {
	case d.Allowed:
		if r.Receipt != "" && pl.Dedup > 0 {
			g.refusals.AddReceipt(receiptKey(pl, w, r), pl.Dedup)
		}
	case d.Fallback != FallbackNone || !waitHelps(d.Reason) || d.Reason == ReasonAttempts:
	case d.Reason == ReasonBlocked: // a block refuses every request of its subject
		block := &Decision{Reason: ReasonBlocked, Refused: d.Refused, RetryAfter: d.block, Strikes: d.Strikes}
		g.refusals.Add(blockKey(d.Refused), block, []string{d.Refused}, at, d.block)
	case pl.Attempts || d.needsPlace() && d.Reason != ReasonGlobal:
	case d.Reason == ReasonGlobal:
		g.cacheGlobalRefusals(pl, w, r, d, at)
	default:
		g.refusals.Add(ownKey(pl, w, r), d.Clone(), affectedSubjects(w, d), at, d.RetryAfter)
	}
}

// cacheGlobalRefusals caches the global limits that refuse, for the requests of all subjects.
func (g *Guard) cacheGlobalRefusals(pl *plan.Plan, w *plan.Resolved, r *Request, d *Decision, at monotime.Time) {
	for i := range w.Rows.All() {
		for n := range d.Limits {
			if l := &d.Limits[n]; pl.Rows[i].Limit.Global && l.Subject == w.RowSubjects[i] && refuses(l) && l.Kind != policy.Concurrency {
				g.refusals.Add(globalKey(pl, w, i, r), &Decision{
					Reason: ReasonGlobal, RetryAfter: l.RetryAfter, Limits: slices.Clone(d.Limits[n : n+1]),
				}, []string{l.Subject}, at, l.RetryAfter)
			}
		}
	}
}

// affectedSubjects returns the subjects whose refunds invalidate a refusal. On several servers each refusal by one limit refunds the
// subjects of the others; those refunds do not invalidate it.
func affectedSubjects(w *plan.Resolved, d *Decision) []string {
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
