package model

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	gen "github.com/rlfunc/rlfunc/gen/concurrency"
)

// Concurrency models acquire, renew, release and peek.
type Concurrency struct {
	clock    int64
	subjects map[string]leasedSubject
}

// A leasedSubject has its leases in the order in which they were granted, ended ones included.
type leasedSubject struct {
	leases []lease
	fence  int64
	endMS  int64 // the milliseconds in which the keys of holders and of fences expire
	fences int64
	weighs bool // whether a holder has had several places
}

type lease struct {
	holder string
	fence  int64
	ends   int64
	weight int64
}

const fenceKept = int64(time.Hour / time.Microsecond)

// NewConcurrency returns a model that knows no subject.
func NewConcurrency() *Concurrency { return &Concurrency{subjects: map[string]leasedSubject{}} }

// Acquire answers acquire.
func (m *Concurrency) Acquire(c gen.AcquireParams) (r gen.AcquireResult, changed bool, err error) {
	subject, weight := string(c.Subject), max(c.Weight, 1)
	if weight > c.Limit {
		return r, false, ErrArgument
	}
	s := m.subjects[subject]
	inUse, ends := m.inUse(s), m.clock+microseconds(c.Lease)
	if i := m.find(s, c.Holder); i >= 0 {
		changed = m.extend(subject, i, ends)
		return gen.AcquireResult{Allowed: true, Held: true, Fence: s.leases[i].fence, InUse: inUse, Remaining: max(c.Limit-inUse, 0)}, changed, nil
	}
	if inUse+weight > c.Limit {
		return gen.AcquireResult{InUse: inUse, Remaining: max(c.Limit-inUse, 0), RetryAfter: duration(m.free(s, inUse+weight-c.Limit) - m.clock)}, false, nil
	}
	s.leases = slices.DeleteFunc(slices.Clone(s.leases), func(l lease) bool { return !m.holds(l) })
	s.fence = max(s.fence+1, m.clock)
	s.weighs = s.weighs || weight > 1
	s.leases = append(s.leases, lease{holder: c.Holder, fence: s.fence, ends: ends, weight: weight})
	if inUse == 0 {
		s.endMS = 0
	}
	m.subjects[subject] = m.keep(s, ends)
	return gen.AcquireResult{Allowed: true, Fence: s.fence, InUse: inUse + weight, Remaining: c.Limit - inUse - weight}, true, nil
}

// Renew answers renew; fence 0 is any.
func (m *Concurrency) Renew(c gen.RenewParams) (r gen.RenewResult, changed bool, err error) {
	subject := string(c.Subject)
	i, outcome := m.owned(m.subjects[subject], c.Holder, c.Fence)
	if outcome != "" {
		return gen.RenewResult{Outcome: gen.RenewOutcome(outcome)}, false, nil
	}
	changed = m.extend(subject, i, m.clock+microseconds(c.Lease))
	return gen.RenewResult{Outcome: gen.RenewOutcomeRenewed, ExpiresAfter: duration(m.subjects[subject].leases[i].ends - m.clock)}, changed, nil
}

// Release answers release; fence 0 is any.
func (m *Concurrency) Release(c gen.ReleaseParams) (r gen.ReleaseResult, changed bool, err error) {
	s := m.subjects[string(c.Subject)]
	i, outcome := m.owned(s, c.Holder, c.Fence)
	if outcome != "" {
		return gen.ReleaseResult{Outcome: gen.ReleaseOutcome(outcome)}, false, nil
	}
	s.leases = slices.Delete(slices.Clone(s.leases), i, i+1)
	m.subjects[string(c.Subject)] = s
	return gen.ReleaseResult{Outcome: gen.ReleaseOutcomeReleased}, true, nil
}

// Peek answers peek.
func (m *Concurrency) Peek(c gen.PeekParams) (r gen.PeekResult, changed bool, err error) {
	s, places := m.subjects[string(c.Subject)], []gen.PeekHoldersResult{}
	for _, l := range s.leases {
		if m.holds(l) {
			places = append(places, gen.PeekHoldersResult{Holder: l.holder, Fence: l.fence, Weight: l.weight, ExpiresAfter: duration(l.ends - m.clock)})
		}
	}
	slices.SortFunc(places, func(a, b gen.PeekHoldersResult) int {
		return cmp.Or(cmp.Compare(a.ExpiresAfter, b.ExpiresAfter), cmp.Compare(a.Holder, b.Holder))
	})
	return gen.PeekResult{InUse: m.inUse(s), Fence: s.fence, Holders: places[:min(len(places), 100)]}, false, nil
}

func (m *Concurrency) holds(l lease) bool { return l.ends > m.clock }

func (m *Concurrency) find(s leasedSubject, holder string) int {
	return slices.IndexFunc(s.leases, func(l lease) bool { return l.holder == holder && m.holds(l) })
}

func (m *Concurrency) owned(s leasedSubject, holder string, fence int64) (i int, outcome string) {
	i = m.find(s, holder)
	switch {
	case i < 0 || fence > s.leases[i].fence:
		return i, "not_held"
	case fence > 0 && fence < s.leases[i].fence:
		return i, "superseded"
	}
	return i, ""
}

func (m *Concurrency) inUse(s leasedSubject) (sum int64) {
	for _, l := range s.leases {
		if m.holds(l) {
			sum += l.weight
		}
	}
	return sum
}

// free is the time by which that number of places is free.
func (m *Concurrency) free(s leasedSubject, wanted int64) int64 {
	var held []lease
	for _, l := range s.leases {
		if m.holds(l) {
			held = append(held, l)
		}
	}
	slices.SortFunc(held, func(a, b lease) int { return cmp.Compare(a.ends, b.ends) })
	for _, l := range held {
		if wanted -= l.weight; wanted <= 0 {
			return l.ends
		}
	}
	return 0
}

func (m *Concurrency) extend(subject string, i int, ends int64) bool {
	s := m.subjects[subject]
	if ends <= s.leases[i].ends {
		return false
	}
	s.leases = slices.Clone(s.leases)
	s.leases[i].ends = ends
	m.subjects[subject] = m.keep(s, ends)
	return true
}

// keep keeps both keys for an hour after a lease, and the fences for an hour after the last one.
func (m *Concurrency) keep(s leasedSubject, ends int64) leasedSubject {
	s.endMS = max(s.endMS, expiry(m.clock, ends+fenceKept-m.clock))
	s.fences = max(s.fences, expiry(m.clock, max(ends, s.fence)+fenceKept-m.clock))
	return s
}

// Move sets the clock, and forgets what has expired.
func (m *Concurrency) Move(to time.Time) {
	m.clock = to.UnixMicro()
	for subject, s := range m.subjects {
		if expired(m.clock, s.endMS) {
			s.leases, s.weighs = nil, false
		}
		if expired(m.clock, s.fences) {
			s.fence, s.fences = 0, 0
		}
		m.subjects[subject] = s
	}
}

// Expiries lists the keys of a subject, by suffix.
func (m *Concurrency) Expiries(subject string) map[string]int64 {
	s, ends := m.subjects[subject], map[string]int64{}
	if len(s.leases) > 0 || s.weighs {
		ends["holders"] = s.endMS
	}
	if s.fence > 0 {
		ends["fences"] = s.fences
	}
	return ends
}

// Clone copies the model. The stored state is never changed in place.
func (m *Concurrency) Clone() *Concurrency {
	return &Concurrency{clock: m.clock, subjects: maps.Clone(m.subjects)}
}

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
	r, changed, _ := m.Acquire(gen.AcquireParams{Subject: fcall.Subject(subject), Holder: holder, Limit: max(limit, cost), Lease: lease, Weight: cost})
	s := m.subjects[subject]
	return CheckRow{Allowed: true, Remaining: r.Remaining, ResetAfter: duration(s.leases[m.find(s, holder)].ends - m.clock)}, changed
}

// release releases what a holder has, and reports whether that is anything.
func (m *Concurrency) release(subject, holder string) bool {
	_, released, _ := m.Release(gen.ReleaseParams{Subject: fcall.Subject(subject), Holder: holder})
	return released
}

// RenewPlaces answers guard's renew.
func (m *Guard) RenewPlaces(subject string, limits []CheckLimit, holder string) (lost int64, changed bool) {
	for _, l := range limits {
		r, extended, _ := m.limits.places.Renew(gen.RenewParams{Subject: fcall.Subject(l.of(subject)), Holder: holder, Lease: l.Window})
		if r.Outcome == gen.RenewOutcomeNotHeld {
			lost++
		}
		changed = changed || extended
	}
	return lost, changed
}

// ReleasePlaces answers guard's release; a zero mark is absent.
func (m *Guard) ReleasePlaces(subject string, limits []CheckLimit, holder string, mark time.Duration) (released int64, changed bool) {
	for _, l := range limits {
		if m.limits.places.release(l.of(subject), holder) {
			released++
		}
	}
	id := [2]string{subject, holder}
	if _, has := m.left[id]; mark > 0 && released < int64(len(limits)) && !has {
		m.left[id] = expiry(m.clock, microseconds(mark))
		return released, true
	}
	return released, released > 0
}
