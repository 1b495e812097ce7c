package model

import "time"

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

// ReleasePlaces answers guard's release.
func (m *Guard) ReleasePlaces(subject string, limits []CheckLimit, holder string) (released int64) {
	for _, l := range limits {
		if _, did := m.limits.places.Release(l.of(subject), holder, 0); did {
			released++
		}
	}
	return released
}
