package guard

import (
	"context"

	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// Refused returns the decision about a request that is refused whatever other identities it has: an override denies one of its subjects, or
// this process knows a block of one, or that only limits refuse which count one alone. It returns nil for any other request, and sends nothing.
// Middleware asks it for the client's address before it verifies tokens and keys, so that a refused client costs no signatures. request
// returns the request; Refused does not call it while this process knows of no refusal.
func (g *Guard) Refused(ctx context.Context, request func() Request) *Decision {
	start := monotime.Now()
	ps := g.plans.Load()
	overrides := ps.Overrides()
	if overrides == nil && g.refusals.Empty(start) {
		return nil
	}
	r := request()
	asked := (*plan.Request)(&r)
	pl, err := ps.PlanFor(asked)
	if err != nil || asked.Check() != nil {
		return nil
	}
	if r.Weight == 0 {
		r.Weight = 1
	}
	var resolved plan.Resolved
	ps.Resolve(&resolved, pl, asked, overrides)
	d := &Decision{Endpoint: r.Endpoint, Subject: resolved.Client}
	if overridden(overrides, d, asked) {
		if d.Allowed {
			return nil
		}
	} else if overrides.Lifts() || ps.HasTariffs() || pl.Dedup > 0 || !g.refusedAlone(d, pl, &resolved, &r, start) {
		return nil
	}
	if len(g.hooks) > 0 || g.shadow != nil {
		shown := r.clone()
		ctx = g.hooks.deciding(ctx, &shown)
		g.report(ctx, Event{Request: r.clone(), Duration: monotime.Now().Since(start)}, d)
	}
	return d
}

// refusedAlone fills in a cached refusal by a block, or by a limit that counts one of the subjects alone.
func (g *Guard) refusedAlone(d *Decision, pl *plan.Plan, w *plan.Resolved, r *Request, at monotime.Time) bool {
	for _, s := range r.Subjects {
		if g.fillFromCache(d, blockKey(s), at) {
			return true
		}
	}
	if pl.Attempts || !g.fillFromCache(d, ownKey(pl, w, r), at) {
		return false
	}
	for i := range d.Limits {
		if l := &d.Limits[i]; !l.Allowed && !l.Shadow && !pl.CountsAlone(l.Endpoint, l.Name) {
			return false
		}
	}
	return d.Reason == ReasonLimit
}
