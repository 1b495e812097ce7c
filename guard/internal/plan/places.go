package plan

import (
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/places"
)

// Charged returns the rows that an admitted call charged. A known receipt is charged for global limits only.
func (c *Call) Charged(pl *Plan, a *guard.AdmitResult) RowSet {
	charged := RowSet(0)
	for i := range c.Limits.Rows.All() {
		n := c.Limits.Rows.Rank(i)
		if n < len(a.Limits) && a.Limits[n].Allowed && (pl.Rows[i].Limit.Global || !a.Duplicate) {
			charged |= 1 << i
		}
	}
	return charged
}

// Places returns the places that some rows of a call charged. ok is false if none is of kind concurrency.
func (q *Query) Places(c *Call, rows RowSet, share Share) (p places.Places, ok bool) {
	rows &= c.Limits.Rows & q.Plan.Concurrent
	if rows == 0 {
		return p, false
	}
	limits := q.Plan.Limits(&q.Resolved, rows, share)
	p = places.Places{Subject: c.Params.Subject, Rows: limits.Each, Limits: limits.Pack, Holder: c.Params.Holder, Lease: places.ShortestLease(limits.Each)}
	for i := range rows.All() {
		p.Of = append(p.Of, fcall.Subject(q.RowSubjects[i]))
	}
	return p, true
}
