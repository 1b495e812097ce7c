package model

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Override models set, clear and list.
type Override struct {
	clock   int64
	buckets map[string]overrides
}

type overrides struct {
	rows    []OverrideRow
	version int64
	endMS   int64 // the millisecond in which the key expires
}

// An OverrideRow is the override of one subject, or the top-up of one of its budgets.
type OverrideRow struct {
	Subject, Effect, By, Reason, Budget, Unit string
	Factor, Amount                            int64
	set, ends                                 int64
}

// Set is when it was set.
func (r OverrideRow) Set() time.Time { return time.UnixMicro(r.set) }

// Ends is when it ends.
func (r OverrideRow) Ends() time.Time { return time.UnixMicro(r.ends) }

// SetResult is the answer of set.
type SetResult struct {
	Replaced  bool
	Version   int64
	Ends      time.Time
	Overrides int64
}

// NewOverride returns a model without overrides.
func NewOverride() *Override { return &Override{buckets: map[string]overrides{}} }

// Set answers set. A zero next is absent.
func (m *Override) Set(bucket string, row OverrideRow, holds time.Duration, next time.Time) (SetResult, error) {
	if row.Effect != "multiply" || row.Factor == 0 {
		row.Factor = 1
	}
	row.set, row.ends = m.clock, m.clock+microseconds(holds)
	if !next.IsZero() {
		row.ends = min(row.ends, next.UnixMicro())
	}
	if row.ends <= row.set {
		return SetResult{}, ErrArgument
	}
	rows, replaced := m.without(bucket, row.Subject, &row.Budget)
	m.store(bucket, append(rows, row))
	return SetResult{replaced, m.buckets[bucket].version, time.UnixMicro(row.ends), int64(len(rows) + 1)}, nil
}

// Clear answers clear. A budget of nil stands for all overrides of the subject.
func (m *Override) Clear(bucket, subject string, budget *string) (existed bool, left int64, changed bool) {
	rows, existed := m.without(bucket, subject, budget)
	if changed = len(rows) < len(m.buckets[bucket].rows); changed {
		m.store(bucket, rows)
	}
	return existed, int64(len(rows)), changed
}

// ClearAll answers clear of all.
func (m *Override) ClearAll(bucket string) (existed bool) {
	_, existed = m.buckets[bucket]
	delete(m.buckets, bucket)
	return existed
}

// List answers list: all that hold, by subject and budget.
func (m *Override) List(bucket string, known *int64) (changed bool, version int64, rows []OverrideRow) {
	version = m.buckets[bucket].version
	if known != nil && *known == version {
		return false, version, nil
	}
	rows, _ = m.without(bucket, "", nil)
	slices.SortFunc(rows, func(a, b OverrideRow) int {
		return cmp.Or(strings.Compare(a.Subject, b.Subject), strings.Compare(a.Budget, b.Budget))
	})
	return true, version, rows
}

// Left is how long an override holds now. A clock that was set back gives it no more than it was set for.
func (m *Override) Left(r OverrideRow) time.Duration {
	return duration(min(r.ends-m.clock, r.ends-r.set))
}

// without returns the overrides that hold but those of a subject, of one budget unless it is nil, and whether any of these holds.
func (m *Override) without(bucket, subject string, budget *string) (rows []OverrideRow, held bool) {
	for _, r := range m.buckets[bucket].rows {
		switch {
		case m.Left(r) <= 0:
		case r.Subject == subject && (budget == nil || r.Budget == *budget):
			held = true
		default:
			rows = append(rows, r)
		}
	}
	return rows, held
}

func (m *Override) store(bucket string, rows []OverrideRow) {
	if len(rows) == 0 {
		delete(m.buckets, bucket)
		return
	}
	o := overrides{rows: rows, version: max(m.buckets[bucket].version+1, m.clock)}
	for _, r := range rows {
		o.endMS = max(o.endMS, expiry(m.clock, microseconds(m.Left(r))))
	}
	m.buckets[bucket] = o
}

// Move sets the clock, and forgets what has expired.
func (m *Override) Move(to time.Time) {
	m.clock = to.UnixMicro()
	maps.DeleteFunc(m.buckets, func(_ string, o overrides) bool { return expired(m.clock, o.endMS) })
}

// Expiries lists the keys of a bucket, by suffix.
func (m *Override) Expiries(bucket string) map[string]int64 {
	if o, ok := m.buckets[bucket]; ok {
		return map[string]int64{"overrides": o.endMS}
	}
	return map[string]int64{}
}

// Clone copies the model. Stored values are never changed in place.
func (m *Override) Clone() *Override {
	return &Override{clock: m.clock, buckets: maps.Clone(m.buckets)}
}
