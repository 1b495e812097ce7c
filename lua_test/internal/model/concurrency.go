package model

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Concurrency models acquire, renew, release, evict and peek.
type Concurrency struct {
	clock    int64
	subjects map[string]leasedSubject
}

// A leasedSubject has its leases in the order in which they were granted, ended ones included.
type leasedSubject struct {
	leases []lease
	fence  int64
	last   int64 // when it was last changed
	endMS  int64 // when the key expires
}

type lease struct {
	holder string
	fence  int64
	ends   int64
	weight int64
}

// A Place is what Peek lists.
type Place struct {
	Holder       string
	Fence        int64
	Weight       int64
	ExpiresAfter time.Duration
}

// AcquireCall has the arguments of acquire; zero is absent.
type AcquireCall struct {
	Holder string
	Limit  int64
	Lease  time.Duration
	Weight int64
}

// AcquireResult is the answer of acquire.
type AcquireResult struct {
	Allowed, Held    bool
	Fence            int64
	InUse, Remaining int64
	RetryAfter       time.Duration
}

const fenceKept = int64(time.Hour / time.Microsecond)

// NewConcurrency returns a model that knows no subject.
func NewConcurrency() *Concurrency { return &Concurrency{subjects: map[string]leasedSubject{}} }

// Acquire answers acquire.
func (m *Concurrency) Acquire(subject string, c AcquireCall) (r AcquireResult, changed bool, err error) {
	weight := max(c.Weight, 1)
	if weight > c.Limit {
		return r, false, ErrArgument
	}
	s := m.subjects[subject]
	inUse, ends := m.inUse(s), m.clock+microseconds(c.Lease)
	if i := m.find(s, c.Holder); i >= 0 {
		changed = m.extend(subject, i, ends)
		return AcquireResult{Allowed: true, Held: true, Fence: s.leases[i].fence, InUse: inUse, Remaining: max(c.Limit-inUse, 0)}, changed, nil
	}
	if inUse+weight > c.Limit {
		return AcquireResult{InUse: inUse, Remaining: max(c.Limit-inUse, 0), RetryAfter: duration(m.free(s, inUse+weight-c.Limit) - m.clock)}, false, nil
	}
	s.leases = slices.DeleteFunc(slices.Clone(s.leases), func(l lease) bool { return !m.holds(s, l) })
	s.fence, s.last = max(s.fence+1, m.clock), m.clock
	s.leases = append(s.leases, lease{holder: c.Holder, fence: s.fence, ends: ends, weight: weight})
	m.subjects[subject] = m.keep(s, ends)
	return AcquireResult{Allowed: true, Fence: s.fence, InUse: inUse + weight, Remaining: c.Limit - inUse - weight}, true, nil
}

// Renew answers renew; fence 0 is any.
func (m *Concurrency) Renew(subject, holder string, length time.Duration, fence int64) (outcome string, expiresAfter time.Duration, changed bool) {
	s := m.subjects[subject]
	i, outcome := m.owned(s, holder, fence)
	if outcome != "" {
		return outcome, 0, false
	}
	changed = m.extend(subject, i, m.clock+microseconds(length))
	return "renewed", duration(m.subjects[subject].leases[i].ends - m.clock), changed
}

// Release answers release; fence 0 is any.
func (m *Concurrency) Release(subject, holder string, fence int64) (outcome string, changed bool) {
	s := m.subjects[subject]
	i, outcome := m.owned(s, holder, fence)
	if outcome != "" {
		return outcome, false
	}
	s.leases, s.last = slices.Delete(slices.Clone(s.leases), i, i+1), max(s.last, m.clock)
	m.subjects[subject] = s
	return "released", true
}

// Evict answers evict.
func (m *Concurrency) Evict(subject, holder string) (evicted bool, fence int64) {
	i := m.find(m.subjects[subject], holder)
	if i < 0 {
		return false, 0
	}
	fence = m.subjects[subject].leases[i].fence
	m.Release(subject, holder, 0)
	return true, fence
}

// Peek answers peek.
func (m *Concurrency) Peek(subject string) (inUse, fence int64, places []Place) {
	s := m.subjects[subject]
	for _, l := range s.leases {
		if m.holds(s, l) {
			places = append(places, Place{Holder: l.holder, Fence: l.fence, Weight: l.weight, ExpiresAfter: duration(l.ends - m.clock)})
		}
	}
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.ExpiresAfter, b.ExpiresAfter), cmp.Compare(a.Holder, b.Holder))
	})
	return m.inUse(s), s.fence, places[:min(len(places), 100)]
}

func (m *Concurrency) holds(s leasedSubject, l lease) bool {
	return l.ends > max(m.clock, s.last)
}

func (m *Concurrency) find(s leasedSubject, holder string) int {
	return slices.IndexFunc(s.leases, func(l lease) bool { return l.holder == holder && m.holds(s, l) })
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
		if m.holds(s, l) {
			sum += l.weight
		}
	}
	return sum
}

// free is the time by which that number of places is free.
func (m *Concurrency) free(s leasedSubject, wanted int64) int64 {
	var held []lease
	for _, l := range s.leases {
		if m.holds(s, l) {
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
	s.last = max(s.last, m.clock)
	m.subjects[subject] = m.keep(s, ends)
	return true
}

// keep sets the expiry, if it is less than an hour after the last lease and the time that the last fence is: to two hours after.
func (m *Concurrency) keep(s leasedSubject, ends int64) leasedSubject {
	if needed := max(ends, s.fence) + fenceKept; needed > 1000*s.endMS {
		s.endMS = expiry(m.clock, needed+fenceKept-m.clock)
	}
	return s
}

// Move sets the clock, and forgets what has expired.
func (m *Concurrency) Move(to time.Time) {
	m.clock = to.UnixMicro()
	maps.DeleteFunc(m.subjects, func(_ string, s leasedSubject) bool { return expired(m.clock, s.endMS) })
}

// Expiries lists the keys of a subject, by suffix.
func (m *Concurrency) Expiries(subject string) map[string]int64 {
	if s, ok := m.subjects[subject]; ok {
		return map[string]int64{"holders": s.endMS}
	}
	return map[string]int64{}
}

// Clone copies the model. The stored state is never changed in place.
func (m *Concurrency) Clone() *Concurrency {
	return &Concurrency{clock: m.clock, subjects: maps.Clone(m.subjects)}
}
