package guard

import (
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/calendar"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// A shapeCache holds the packed constants of calls. Clients choose which claimed identities their requests have, so it is bounded.
type shapeCache struct {
	limits  sync.Map // limitsKey to *Limits
	budgets sync.Map // budgetsKey to *Budgets
	count   atomic.Int64
}

const maxShapes = 1024

func (snapshot *shapeCache) store(in *sync.Map, key, p any) {
	if snapshot.count.Add(1) > maxShapes {
		snapshot.limits.Clear()
		snapshot.budgets.Clear()
		snapshot.count.Store(1)
	}
	in.Store(key, p)
}

// A share is the part of a limit that the decider enforces: all of it in Redis, a part in this process.
type share struct {
	local     bool
	processes int // number of processes that decide; 0 if unknown
}

// apply returns the enforced part of a limit: the configured share or an even part, whichever is larger. It rounds down, to at least 1.
func (s share) apply(limit int64, configured float64) int64 {
	if !s.local || limit == 0 {
		return limit
	}
	if s.processes > 0 {
		configured = max(configured, 1/float64(s.processes))
	}
	return max(1, int64(math.Floor(float64(limit)*configured)))
}

type limitsKey struct {
	rows    rowSet
	share   share
	factors string // by which overrides multiply the rows; "" if they do not
}

// limitShape are the rows of an endpoint that one call evaluates.
type limitShape struct {
	rows rowSet
	pack fcall.Rows[genguard.Limit]
	each []genguard.Limit

	span
}

// A span is when all rows of a pack are in their periods; it is zero without periods.
type span struct{ from, until time.Time }

// current reports whether the rows are in their periods.
func (s *span) current(clock func() time.Time) bool {
	if s.until.IsZero() {
		return true
	}
	now := clock()
	return !now.Before(s.from) && now.Before(s.until)
}

// narrow cuts off what is outside of a period.
func (s *span) narrow(b calendar.Boundaries) {
	if s.until.IsZero() || b.Next.Before(s.until) {
		s.until = b.Next
	}
	if b.Start.After(s.from) {
		s.from = b.Start
	}
}

// setPeriod sets the boundaries of a quota.
func setPeriod(l *genguard.Limit, b calendar.Boundaries) {
	l.Previous, l.Start, l.Next, l.After = b.Previous, b.Start, b.Next, b.After
}

// limitShape returns some rows of the endpoint, from the cache if possible.
func (plan *plan) limitShape(w *whom, rows rowSet, share share) *limitShape {
	key := limitsKey{rows: rows, share: share, factors: encodeFactors(rows, w.factors)}
	known, ok := plan.shapes.limits.Load(key)
	if ok && known.(*limitShape).current(plan.clock) {
		return known.(*limitShape)
	}
	p := &limitShape{rows: rows}
	for i := range rows.all() {
		r := &plan.rows[i]
		limit := r.limit
		limit.Limit, limit.Burst = share.apply(limit.Limit, plan.share), share.apply(limit.Burst, plan.share)
		if w.factors != nil && !limit.Global {
			limit.Limit, limit.Burst = agreed.MultiplyLimit(limit.Kind, limit.Limit, w.factors[i]), agreed.MultiplyLimit(limit.Kind, limit.Burst, w.factors[i])
		}
		if r.calendar != nil {
			b := r.calendar.Around(plan.clock())
			setPeriod(&limit, b)
			p.narrow(b)
		}
		p.each = append(p.each, limit)
	}
	p.pack = genguard.PackLimit(p.each...)
	if ok {
		plan.shapes.limits.Store(key, p) // in place of an ended period
	} else {
		plan.shapes.store(&plan.shapes.limits, key, p)
	}
	return p
}

// encodeFactors returns the factors of the rows as a byte string; "" if all are 1.
func encodeFactors(rows rowSet, times []int64) string {
	if times != nil {
		for i := range rows.all() {
			if times[i] != 1 {
				return encode(rows, times)
			}
		}
	}
	return ""
}

// encode returns numbers of the rows as a byte string; "" if there are none.
func encode(rows rowSet, numbers []int64) string {
	if numbers == nil {
		return ""
	}
	var text []byte
	for i := range rows.all() {
		text = binary.AppendUvarint(text, uint64(numbers[i]))
	}
	return string(text)
}

type budgetsKey struct {
	rows   rowSet
	share  share
	raised string // what overrides make of the budgets; "" if they raise none
}

// budgetShape are the budgets of an endpoint that one call charges.
type budgetShape struct {
	rows rowSet
	pack fcall.Rows[genguard.Budget]
	each []genguard.Budget

	span
}

// budgetShape returns some budgets of the endpoint, from the cache if possible.
func (plan *plan) budgetShape(w *whom, rows rowSet, share share) *budgetShape {
	key := budgetsKey{rows, share, encode(rows, w.raised)}
	known, ok := plan.shapes.budgets.Load(key)
	if ok && known.(*budgetShape).current(plan.clock) {
		return known.(*budgetShape)
	}
	p := &budgetShape{rows: rows}
	for i := range rows.all() {
		b := plan.budgets[i].Budget
		if w.raised != nil {
			b.Budget = fcall.Micros(w.raised[i])
		}
		b.Budget = fcall.Micros(share.apply(int64(b.Budget), plan.share))
		if c := plan.budgets[i].calendar; c != nil {
			period := c.Around(plan.clock())
			b.Previous, b.Start, b.Next, b.After = period.Previous, period.Start, period.Next, period.After
			p.narrow(period)
		}
		p.each = append(p.each, b)
	}
	p.pack = genguard.PackBudget(p.each...)
	if ok {
		plan.shapes.budgets.Store(key, p) // in place of an ended period
	} else {
		plan.shapes.store(&plan.shapes.budgets, key, p)
	}
	return p
}
