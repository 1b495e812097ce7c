package guard

import (
	"context"

	"github.com/rlfunc/rlfunc/guard/internal/decide"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

// Refused returns the decision about a request that is refused whatever other identities it has: an override denies one of its subjects, or
// this process knows a block of one, or that only limits refuse which count one alone. It returns nil for any other request, and sends nothing.
// Middleware asks it for the client's address before it verifies tokens and keys, so that a refused client costs no signatures. request
// returns the request; Refused does not call it while this process knows of no refusal.
func (g *Guard) Refused(ctx context.Context, request func() Request) *Decision {
	start := monotime.Now()
	rules := g.rules.Load()
	overrides := rules.Overrides()
	if overrides == nil && g.refusals.Empty(start) {
		return nil
	}
	r := request()
	asked := (*decide.Request)(&r)
	ep, err := rules.EndpointFor(asked)
	if err != nil || asked.Check() != nil {
		return nil
	}
	if r.Weight == 0 {
		r.Weight = 1
	}
	var resolved decide.Resolved
	rules.Resolve(&resolved, ep, asked, overrides)
	d := &Decision{Endpoint: r.Endpoint, Subject: resolved.Client}
	if overridden(overrides, d, asked) {
		if d.Allowed {
			return nil
		}
	} else if overrides.Lifts() || rules.HasTariffs() || ep.Dedup > 0 || !g.refusedAlone(d, ep, &resolved, &r, start) {
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
func (g *Guard) refusedAlone(d *Decision, ep *decide.Endpoint, w *decide.Resolved, r *Request, at monotime.Time) bool {
	for _, s := range r.Subjects {
		if g.fillFromCache(d, blockKey(s), at) {
			return true
		}
	}
	if ep.Attempts || !g.fillFromCache(d, ownKey(ep, w, r), at) {
		return false
	}
	for i := range d.Limits {
		if l := &d.Limits[i]; !l.Allowed && !l.Shadow && !ep.CountsAlone(l.Endpoint, l.Name) {
			return false
		}
	}
	return d.Reason == ReasonLimit
}
