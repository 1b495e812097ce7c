package decide

import (
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/calendar"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// A packCache holds the packed constants of calls. Clients choose which claimed identities their requests have, so it is bounded.
type packCache struct {
	limits  sync.Map // limitsKey to *Limits
	budgets sync.Map // budgetsKey to *Budgets
	count   atomic.Int64
}

const maxPacks = 1024

func (rules *packCache) store(in *sync.Map, key, p any) {
	if rules.count.Add(1) > maxPacks {
		rules.limits.Clear()
		rules.budgets.Clear()
		rules.count.Store(1)
	}
	in.Store(key, p)
}

// A Share is the part of a limit that the decider enforces: all of it in Redis, a part in this process.
type Share struct {
	Local     bool
	Processes int // number of processes that decide; 0 if unknown
}

// apply returns the enforced part of a limit: the configured share or an even part, whichever is larger. It rounds down, to at least 1.
func (s Share) apply(limit int64, configured float64) int64 {
	if !s.Local || limit == 0 {
		return limit
	}
	if s.Processes > 0 {
		configured = max(configured, 1/float64(s.Processes))
	}
	return max(1, int64(math.Floor(float64(limit)*configured)))
}

type limitsKey struct {
	rows    RowSet
	share   Share
	factors string // by which overrides multiply the rows; "" if they do not
}

// Limits are the rows of an endpoint that one call evaluates.
type Limits struct {
	Rows RowSet
	Pack fcall.Rows[guard.Limit]
	Each []guard.Limit

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

// SetPeriod sets the boundaries of a quota.
func SetPeriod(l *guard.Limit, b calendar.Boundaries) {
	l.Previous, l.Start, l.Next, l.After = b.Previous, b.Start, b.Next, b.After
}

// Limits returns some rows of the endpoint, from the cache if possible.
func (ep *Endpoint) Limits(w *Resolved, rows RowSet, share Share) *Limits {
	key := limitsKey{rows: rows, share: share, factors: encodeFactors(rows, w.Factors)}
	known, ok := ep.packCache.limits.Load(key)
	if ok && known.(*Limits).current(ep.clock) {
		return known.(*Limits)
	}
	p := &Limits{Rows: rows}
	for i := range rows.All() {
		r := &ep.Rows[i]
		limit := r.Limit
		limit.Limit, limit.Burst = share.apply(limit.Limit, r.share), share.apply(limit.Burst, r.share)
		if w.Factors != nil && !limit.Global {
			limit.Limit, limit.Burst = agreed.MultiplyLimit(limit.Kind, limit.Limit, w.Factors[i]), agreed.MultiplyLimit(limit.Kind, limit.Burst, w.Factors[i])
		}
		if r.calendar != nil {
			b := r.calendar.Around(ep.clock())
			SetPeriod(&limit, b)
			p.narrow(b)
		}
		p.Each = append(p.Each, limit)
	}
	p.Pack = guard.PackLimit(p.Each...)
	if ok {
		ep.packCache.limits.Store(key, p) // in place of an ended period
	} else {
		ep.packCache.store(&ep.packCache.limits, key, p)
	}
	return p
}

// encodeFactors returns the factors of the rows as a byte string; "" if all are 1.
func encodeFactors(rows RowSet, times []int64) string {
	if times != nil {
		for i := range rows.All() {
			if times[i] != 1 {
				return encode(rows, times)
			}
		}
	}
	return ""
}

// encode returns numbers of the rows as a byte string; "" if there are none.
func encode(rows RowSet, numbers []int64) string {
	if numbers == nil {
		return ""
	}
	var text []byte
	for i := range rows.All() {
		text = binary.AppendUvarint(text, uint64(numbers[i]))
	}
	return string(text)
}

type budgetsKey struct {
	rows   RowSet
	share  Share
	raised string // what overrides make of the budgets; "" if they raise none
}

// Budgets are the budgets of an endpoint that one call charges.
type Budgets struct {
	Rows RowSet
	Pack fcall.Rows[guard.Budget]
	Each []guard.Budget

	span
}

// Budgets returns some budgets of the endpoint, from the cache if possible.
func (ep *Endpoint) Budgets(w *Resolved, rows RowSet, share Share) *Budgets {
	key := budgetsKey{rows, share, encode(rows, w.Raised)}
	known, ok := ep.packCache.budgets.Load(key)
	if ok && known.(*Budgets).current(ep.clock) {
		return known.(*Budgets)
	}
	p := &Budgets{Rows: rows}
	for i := range rows.All() {
		b := ep.budgets[i].Budget
		if w.Raised != nil {
			b.Budget = fcall.Micros(w.Raised[i])
		}
		b.Budget = fcall.Micros(share.apply(int64(b.Budget), ep.share))
		if c := ep.budgets[i].calendar; c != nil {
			period := c.Around(ep.clock())
			b.Window, b.Previous, b.Start, b.After = period.Next.Sub(period.Start), period.Previous, period.Start, period.After
			p.narrow(period)
		}
		p.Each = append(p.Each, b)
	}
	p.Pack = guard.PackBudget(p.Each...)
	if ok {
		ep.packCache.budgets.Store(key, p) // in place of an ended period
	} else {
		ep.packCache.store(&ep.packCache.budgets, key, p)
	}
	return p
}
