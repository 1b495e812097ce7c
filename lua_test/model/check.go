package model

import (
	"maps"
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
	receipts map[string]receipts
}

// A CheckLimit is a limit of a kind: sliding_log, sliding_counter, fixed_window or gcra. A Burst of zero is absent.
type CheckLimit struct {
	Name   string
	Kind   string
	Limit  int64
	Window time.Duration
	Burst  int64
	Cost   int64
}

// CheckCall has the arguments of check; a zero Receipt or Dedup is absent.
type CheckCall struct {
	Limits  []CheckLimit
	Receipt string
	Dedup   time.Duration
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
	return &Check{logs: NewSlidingLog(), counters: NewSlidingCounter(), windows: NewFixedWindow(), buckets: NewGCRA(), receipts: map[string]receipts{}}
}

// Check answers check.
func (m *Check) Check(subject string, c CheckCall) (r CheckResult, changed bool, err error) {
	r, err = m.Peek(subject, c)
	if err != nil || !r.Allowed || r.Duplicate {
		return r, false, err
	}
	for i, l := range c.Limits {
		if l.Cost > 0 {
			r.Limits[i] = m.take(subject, l)
			changed = true
		}
	}
	if c.Receipt != "" && changed {
		m.receipts[subject] = m.receipts[subject].count(c.Receipt, m.clock, c.known(), m.clock)
	}
	return r, changed, nil
}

// Peek answers check_peek.
func (m *Check) Peek(subject string, c CheckCall) (r CheckResult, err error) {
	r = CheckResult{Allowed: true}
	same := map[[2]string]bool{}
	for _, l := range c.Limits {
		row, err := m.look(subject, l)
		if err != nil || same[[2]string{l.Kind, l.Name}] {
			return CheckResult{}, ErrArgument
		}
		same[[2]string{l.Kind, l.Name}] = true
		r.Limits = append(r.Limits, row)
	}
	if _, ok := m.receipts[subject].known(c.Receipt, m.clock, c.known()); ok {
		r.Duplicate = true
	}
	for i := range r.Limits {
		row := &r.Limits[i]
		switch {
		case r.Duplicate:
			row.Allowed, row.RetryAfter = true, 0
		case !row.Allowed:
			r.Allowed = false
			r.Refused++
			r.RetryAfter = max(r.RetryAfter, row.RetryAfter)
		}
	}
	return r, nil
}

// Reset answers check_reset.
func (m *Check) Reset(subject string, limits []CheckLimit) (existed bool) {
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
		}
	}
	return existed
}

// Remembers tells whether a receipt is stored, known or not, as SlidingLog.Remembers does.
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

// of is the limit as a subject of its kind's model.
func (l CheckLimit) of(subject string) string { return subject + "\x00" + l.Name }

func (l CheckLimit) window() WindowCall { return WindowCall{l.Limit, l.Window, l.Cost} }

func (l CheckLimit) bucket() GCRACall { return GCRACall{l.Limit, l.Window, l.Burst, l.Cost} }

// Tick is the precision of a limit's times.
func (l CheckLimit) Tick() time.Duration {
	switch l.Kind {
	case "sliding_log":
		return time.Microsecond
	case "gcra":
		return l.bucket().Tick()
	}
	return time.Millisecond
}

// look says how one limit stands, as its kind's peek does.
func (m *Check) look(subject string, l CheckLimit) (row CheckRow, err error) {
	if l.Burst != 0 && l.Kind != "gcra" || l.Kind == "sliding_log" && l.Cost > 1 {
		return row, ErrArgument
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
	}
	r, err := m.buckets.Peek(l.of(subject), l.bucket())
	return CheckRow(r), err
}

// take takes from one limit that allows it.
func (m *Check) take(subject string, l CheckLimit) CheckRow {
	switch l.Kind {
	case "sliding_log":
		r, _ := m.logs.Take(l.of(subject), SlidingLogCall{Limit: l.Limit, Window: l.Window})
		return CheckRow{r.Allowed, r.Remaining, r.ResetAfter, r.RetryAfter}
	case "sliding_counter":
		r, _, _ := m.counters.Take(l.of(subject), l.window())
		return CheckRow(r)
	case "fixed_window":
		r, _, _ := m.windows.Take(l.of(subject), l.window())
		return CheckRow(r)
	}
	r, _, _ := m.buckets.Take(l.of(subject), l.bucket())
	return CheckRow(r)
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
	maps.DeleteFunc(m.receipts, func(_ string, r receipts) bool { return expired(m.clock, r.endMS) })
}

// Clone copies the model.
func (m *Check) Clone() *Check {
	return &Check{m.clock, m.logs.Clone(), m.counters.Clone(), m.windows.Clone(), m.buckets.Clone(), maps.Clone(m.receipts)}
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
	return ends
}
