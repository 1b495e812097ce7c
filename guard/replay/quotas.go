package replay

import (
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/decide"
)

// quotas are the limits of a plan, with the periods that its quotas are in.
type quotas struct {
	limits []guard.Limit
	packed guard.LimitPack
}

// limits returns the limits of a plan for a call at a time in microseconds.
func (e *engine) limits(p *plan, at int64) guard.LimitPack {
	if !p.hasQuota {
		return p.params.Limits
	}
	q := e.quotas[p]
	if q == nil {
		q = &quotas{slices.Clone(p.limits), p.params.Limits}
		e.quotas[p] = q
	}
	now, moved := time.UnixMicro(at), false
	for i, c := range p.calendars {
		if l := &q.limits[i]; c != nil && (now.Before(l.Start) || !now.Before(l.Start.Add(l.Window))) {
			decide.SetPeriod(l, c.Around(now))
			moved = true
		}
	}
	if moved {
		q.packed = guard.MustPackLimit(q.limits...)
	}
	return q.packed
}
