package model

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// look says how a limit of kind concurrency stands for a call that charges nothing yet.
func (m *Concurrency) look(subject, holder string, limit, cost int64) CheckRow {
	s := m.subjects[subject]
	inUse := m.inUse(s)
	row := CheckRow{Allowed: true, Remaining: max(limit-inUse, 0)}
	if i := m.find(s, holder); i >= 0 {
		row.ResetAfter = duration(s.leases[i].ends - m.clock)
	} else if inUse+cost > limit {
		row.Allowed, row.RetryAfter = false, duration(m.free(s, inUse+cost-limit)-m.clock)
	}
	return row
}

// take charges the places that look allowed. The same holder keeps its own.
func (m *Concurrency) take(subject, holder string, limit, cost int64, lease time.Duration) (row CheckRow, changed bool) {
	r, changed, _ := m.Acquire(subject, AcquireCall{Holder: holder, Limit: max(limit, cost), Lease: lease, Weight: cost})
	s := m.subjects[subject]
	return CheckRow{Allowed: true, Remaining: r.Remaining, ResetAfter: duration(s.leases[m.find(s, holder)].ends - m.clock)}, changed
}

// RenewPlaces answers guard's renew.
func (m *Guard) RenewPlaces(subject string, limits []CheckLimit, holder string) (lost int64, changed bool) {
	for _, l := range limits {
		outcome, _, extended := m.limits.places.Renew(l.of(subject), holder, l.Window, 0)
		if outcome == "not_held" {
			lost++
		}
		changed = changed || extended
	}
	return lost, changed
}

// ReleasePlaces answers guard's release; a zero mark is absent.
func (m *Guard) ReleasePlaces(subject string, limits []CheckLimit, holder string, mark time.Duration) (released int64, changed bool) {
	for _, l := range limits {
		if _, did := m.limits.places.Release(l.of(subject), holder, 0); did {
			released++
		}
	}
	marked := mark > 0 && released < int64(len(limits)) && !m.left[subject].has(holder)
	if marked {
		m.left[subject] = m.left[subject].add(holder, m.clock, microseconds(mark))
	}
	return released, released > 0 || marked
}

// marks are a subject's holders that release has marked, by the time from which each may be forgotten. The zero one means that there is
// no key.
type marks struct {
	until map[string]int64
	endMS int64 // the millisecond in which they expire
}

func (l marks) has(holder string) bool {
	_, ok := l.until[holder]
	return ok
}

// add marks a holder, after the first 100 of those that may be forgotten are. The key ends with the last one.
func (l marks) add(holder string, now, length int64) marks {
	l.until = maps.Clone(l.until)
	var over []string
	for one, until := range l.until {
		if until <= now {
			over = append(over, one)
		}
	}
	slices.SortFunc(over, func(a, b string) int { return cmp.Or(cmp.Compare(l.until[a], l.until[b]), cmp.Compare(a, b)) })
	for _, one := range over[:min(len(over), 100)] {
		delete(l.until, one)
	}
	if len(l.until) == 0 {
		l = marks{until: map[string]int64{}}
	}
	l.until[holder] = now + length
	l.endMS = max(l.endMS, expiry(now, length))
	return l
}
