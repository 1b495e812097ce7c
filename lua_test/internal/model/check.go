package model

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Check models check, check_peek and check_reset: each limit is a subject of its kind's model, and the receipts are here.
type Check struct {
	clock    int64
	logs     *SlidingLog
	counters *SlidingCounter
	windows  *FixedWindow
	buckets  *GCRA
	quotas   *Quota
	places   *Concurrency
	receipts map[string]receipts
}

// A CheckLimit is a limit of a kind: sliding_log, sliding_counter, fixed_window, gcra, quota or concurrency. A Burst of zero is absent.
type CheckLimit struct {
	Name   string
	Kind   string
	Limit  int64
	Window time.Duration
	Burst  int64
	Cost   int64
	Shadow bool
	Global bool

	Previous, Start, After time.Time // of a quota; its next period starts a Window after Start

	holder string // of the call, if the limit is a concurrency
}

// CheckCall has the arguments of check; a zero Weight, Receipt or Dedup is absent. Only guard's calls have a Holder.
type CheckCall struct {
	Limits  []CheckLimit
	Weight  int64
	Receipt string
	Dedup   time.Duration
	Holder  string
}

// A CheckRow is what a call tells about one limit.
type CheckRow struct {
	Allowed    bool
	Remaining  int64
	ResetAfter time.Duration
	RetryAfter time.Duration
}

// CheckResult is the answer of check and of check_peek.
type CheckResult struct {
	Allowed    bool
	Duplicate  bool
	Refused    int64
	RetryAfter time.Duration
	Limits     []CheckRow
}

// NewCheck returns a model that knows no subject.
func NewCheck() *Check {
	return &Check{logs: NewSlidingLog(), counters: NewSlidingCounter(), windows: NewFixedWindow(), buckets: NewGCRA(), quotas: NewQuota(), places: NewConcurrency(), receipts: map[string]receipts{}}
}

// Check answers check.
func (m *Check) Check(subject string, c CheckCall) (r CheckResult, changed bool, err error) {
	r, err = m.Peek(subject, c)
	if err != nil || !r.Allowed {
		return r, false, err
	}
	costs, changed := m.takeAll(subject, c, r)
	if c.Receipt != "" && costs && !r.Duplicate {
		m.receipts[subject] = m.receipts[subject].count(c.Receipt, m.clock, c.known(), m.clock)
		changed = true
	}
	return r, changed, nil
}

// takeAll takes from each limit that allows, as all do but shadows: of a duplicate from global ones. It reports whether any limit
// costs, and whether anything was taken.
func (m *Check) takeAll(subject string, c CheckCall, r CheckResult) (costs, took bool) {
	for i, l := range c.Weighed() {
		costs = costs || l.Cost > 0
		if l.Cost > 0 && r.Limits[i].Allowed && (l.Global || !r.Duplicate) {
			row, changed := m.take(subject, l)
			r.Limits[i], took = row, took || changed
		}
	}
	return costs, took
}

// Peek answers check_peek.
func (m *Check) Peek(subject string, c CheckCall) (r CheckResult, err error) {
	_, known := m.receipts[subject].known(c.Receipt, m.clock, c.known())
	return m.judge(subject, c, known)
}

// judge answers check_peek for a receipt that is known, or not: a duplicate passes all but global limits.
func (m *Check) judge(subject string, c CheckCall, known bool) (r CheckResult, err error) {
	r = CheckResult{Allowed: true, Duplicate: known}
	same := map[[2]string]bool{}
	for _, l := range c.Weighed() {
		never := l.Shadow && l.Cost > l.most() // a shadow limit refuses what is an error in any other
		if never {
			l.Cost = l.most()
		}
		row, err := m.look(subject, l)
		if never {
			row.Allowed, row.RetryAfter = false, 0
		}
		if err != nil || same[[2]string{l.Kind, l.Name}] {
			return CheckResult{}, ErrArgument
		}
		same[[2]string{l.Kind, l.Name}] = true
		r.Limits = append(r.Limits, row)
	}
	for i := range r.Limits {
		row := &r.Limits[i]
		switch {
		case known && !c.Limits[i].Global:
			row.Allowed, row.RetryAfter = true, 0
		case !row.Allowed && !c.Limits[i].Shadow:
			r.Allowed = false
			r.Refused++
			r.RetryAfter = max(r.RetryAfter, row.RetryAfter)
		}
	}
	return r, nil
}

// Reset answers check_reset.
func (m *Check) Reset(subject string, limits []CheckLimit) (existed bool, err error) {
	for _, l := range limits {
		if err := l.alone(); err != nil {
			return false, err
		}
	}
	_, existed = m.receipts[subject]
	delete(m.receipts, subject)
	for _, l := range limits {
		its := l.of(subject)
		switch l.Kind {
		case "sliding_log":
			existed = m.logs.Reset(its) || existed
		case "sliding_counter":
			existed = m.counters.Reset(its) || existed
		case "fixed_window":
			existed = m.windows.Reset(its) || existed
		case "gcra":
			existed = m.buckets.Reset(its) || existed
		case "quota":
			existed = m.quotas.Reset(its) || existed
		}
	}
	return existed, nil
}

// Remembers reports whether a receipt is stored, known or not, as SlidingLog.Remembers does.
func (m *Check) Remembers(subject, receipt string) bool {
	_, ok := m.receipts[subject].seen[receipt]
	return ok
}

// known is how long a receipt is known.
func (c CheckCall) known() int64 {
	if c.Dedup > 0 {
		return microseconds(c.Dedup)
	}
	longest := int64(0)
	for _, l := range c.Limits {
		longest = max(longest, microseconds(l.Window))
	}
	return longest
}

// Weighed are the limits with what a call of this weight costs: a log counts requests.
func (c CheckCall) Weighed() []CheckLimit {
	limits := slices.Clone(c.Limits)
	for i := range limits {
		if limits[i].Kind != "sliding_log" {
			limits[i].Cost = times(limits[i].Cost, max(c.Weight, 1))
		}
		limits[i].holder = c.Holder
	}
	return limits
}

// times is a cost's multiple, or what no limit allows if that is too large for a number.
func times(cost, weight int64) int64 {
	if cost > math.MaxInt64/2/weight {
		return math.MaxInt64 / 2
	}
	return cost * weight
}

// most is the highest cost that the limit can allow. A cost above 1 is always an error in a sliding_log.
func (l CheckLimit) most() int64 {
	switch l.Kind {
	case "sliding_log":
		return l.Cost
	case "concurrency":
		return min(l.Limit, 1000)
	}
	return cmp.Or(l.Burst, l.Limit)
}

// alone reports whether a limit can be, whatever a call does with it.
func (l CheckLimit) alone() error {
	if (l.Kind == "sliding_log" || l.Kind == "concurrency") && l.Limit > 1_000_000 {
		return ErrArgument
	}
	if l.Burst != 0 && l.Kind != "gcra" || l.Kind == "sliding_log" && l.Cost > 1 || l.Kind == "sliding_counter" && l.Window > longestCounted {
		return ErrArgument
	}
	if l.Kind == "gcra" && l.bucket().capacity().Cmp(longest) > 0 {
		return ErrArgument
	}
	return nil
}

// together reports whether a call can have its limits, whatever a subject has used: the client checks it before it sends.
func (c CheckCall) together() error {
	same := map[[2]string]bool{}
	for _, l := range c.Weighed() {
		key := [2]string{l.Kind, l.Name}
		if l.alone() != nil || same[key] || l.Cost > l.most() && !l.Shadow || l.Kind == "concurrency" && l.holder == "" {
			return ErrArgument
		}
		same[key] = true
	}
	return nil
}

// timed reports whether deciding takes the clock: where an expiry alone decides about a key it does not.
func (l CheckLimit) timed() bool { return l.Tick() < time.Millisecond }

// of is the limit as a subject of its kind's model.
func (l CheckLimit) of(subject string) string { return subject + "\x00" + l.Name }

func (l CheckLimit) window() WindowCall { return WindowCall{l.Limit, l.Window, l.Cost} }

func (l CheckLimit) bucket() GCRACall { return GCRACall{l.Limit, l.Window, l.Burst, l.Cost} }

func (l CheckLimit) quota() QuotaCall {
	return QuotaCall{l.Limit, l.Previous, l.Start, l.Start.Add(l.Window), l.After, l.Cost}
}

// Tick is the precision of a limit's times.
func (l CheckLimit) Tick() time.Duration {
	switch l.Kind {
	case "sliding_log", "quota", "concurrency":
		return time.Microsecond
	case "gcra":
		return l.bucket().Tick()
	}
	return time.Millisecond
}

// Estimates reports whether a quota's use may be estimated from charges of callers with other periods. The estimate grows with time.
func (m *Check) Estimates(subject string, l CheckLimit) bool {
	own, _, _, err := m.quotas.own(l.of(subject), l.quota())
	return err == nil && slices.ContainsFunc(m.quotas.subjects[l.of(subject)].all, func(p quotaPeriod) bool {
		return p.end > m.clock && (p.start != own.start || p.end != own.end)
	})
}

// look says how one limit stands, as its kind's peek does.
func (m *Check) look(subject string, l CheckLimit) (row CheckRow, err error) {
	if err := l.alone(); err != nil {
		return row, err
	}
	switch l.Kind {
	case "sliding_log":
		r := m.logs.look(l.of(subject), l.Limit, l.Window, l.Cost)
		return CheckRow{r.Allowed, r.Remaining, r.ResetAfter, r.RetryAfter}, nil
	case "sliding_counter":
		r, err := m.counters.Peek(l.of(subject), l.window())
		return CheckRow(r), err
	case "fixed_window":
		r, err := m.windows.Peek(l.of(subject), l.window())
		return CheckRow(r), err
	case "quota":
		r, err := m.quotas.Peek(l.of(subject), l.quota())
		return CheckRow(r), err
	case "concurrency":
		if l.holder == "" || l.Cost > l.Limit {
			return row, ErrArgument
		}
		return m.places.look(l.of(subject), l.holder, l.Limit, l.Cost), nil
	}
	r, err := m.buckets.Peek(l.of(subject), l.bucket())
	return CheckRow(r), err
}

// take takes from one limit that allows it. It reports whether that changes anything.
func (m *Check) take(subject string, l CheckLimit) (row CheckRow, changed bool) {
	switch l.Kind {
	case "concurrency":
		return m.places.take(l.of(subject), l.holder, l.Limit, l.Cost, l.Window)
	case "sliding_log":
		r, _ := m.logs.Take(l.of(subject), SlidingLogCall{Limit: l.Limit, Window: l.Window})
		return CheckRow{r.Allowed, r.Remaining, r.ResetAfter, r.RetryAfter}, true
	case "sliding_counter":
		r, _, _ := m.counters.Take(l.of(subject), l.window())
		return CheckRow(r), true
	case "fixed_window":
		r, _, _ := m.windows.Take(l.of(subject), l.window())
		return CheckRow(r), true
	case "quota":
		r, _, _ := m.quotas.Take(l.of(subject), l.quota())
		return CheckRow(r), true
	}
	r, _, _ := m.buckets.Take(l.of(subject), l.bucket())
	return CheckRow(r), true
}

// Now is the clock.
func (m *Check) Now() time.Time { return time.UnixMicro(m.clock) }

// Move sets the clock, and forgets what has expired.
func (m *Check) Move(to time.Time) {
	m.clock = to.UnixMicro()
	m.logs.Move(to)
	m.counters.Move(to)
	m.windows.Move(to)
	m.buckets.Move(to)
	m.quotas.Move(to)
	m.places.Move(to)
	maps.DeleteFunc(m.receipts, func(_ string, r receipts) bool { return expired(m.clock, r.endMS) })
}

// Clone copies the model.
func (m *Check) Clone() *Check {
	return &Check{m.clock, m.logs.Clone(), m.counters.Clone(), m.windows.Clone(), m.buckets.Clone(), m.quotas.Clone(), m.places.Clone(), maps.Clone(m.receipts)}
}

// Expiries lists the keys of a subject, by suffix: checked, and <kind>:<name> of each limit.
func (m *Check) Expiries(subject string) map[string]int64 {
	ends := map[string]int64{}
	if r, ok := m.receipts[subject]; ok {
		ends["checked"] = r.endMS
	}
	name := func(its string) (name string, ok bool) { return strings.CutPrefix(its, subject+"\x00") }
	for its, s := range m.logs.subjects {
		if n, ok := name(its); ok {
			ends["sliding_log:"+n] = s.endMS
		}
	}
	for its, p := range m.counters.subjects {
		if n, ok := name(its); ok {
			ends["sliding_counter:"+n] = p.endMS
		}
	}
	for its, w := range m.windows.subjects {
		if n, ok := name(its); ok {
			ends["fixed_window:"+n] = w.endMS
		}
	}
	for its, b := range m.buckets.buckets {
		if n, ok := name(its); ok {
			ends["gcra:"+n] = b.endMS
		}
	}
	for its, p := range m.quotas.subjects {
		if n, ok := name(its); ok {
			ends["quota:"+n] = p.endMS
		}
	}
	for its, p := range m.places.subjects {
		if n, ok := name(its); ok {
			ends["concurrency:"+n] = p.endMS
		}
	}
	return ends
}
