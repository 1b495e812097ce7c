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

// A leasedSubject has its leases in the order in which they were granted, ended ones that nothing has removed included.
type leasedSubject struct {
	leases []lease
	fence  int64
	last   int64 // when the last place was acquired
	expiry int64 // when the keys may go, in microseconds
	endMS  int64 // when they do
	until  int64 // until when the number of places in use holds; then no ended lease is stored
	powers int
}

type lease struct {
	holder string
	fence  int64
	ends   int64
	weight int64
	left   int64 // the part of an ended lease's weight that is still stored
	known  bool  // whether the holder is still stored
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

// forever stands for a set without leases.
const forever = int64(1) << 53

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
	s.leases = slices.Clone(s.leases)
	s.forget(c.Holder)
	fresh := inUse == 0 || s.until <= max(m.clock, s.last)
	if s.until <= max(m.clock, s.last) {
		m.sweep(&s)
	}
	for weight >= 1<<max(s.powers, 1) {
		s.powers = max(s.powers, 1) + 1
	}
	s.fence, s.last, s.until = max(s.fence+1, m.clock), m.clock, min(s.until, ends)
	s.leases = append(s.leases, lease{holder: c.Holder, fence: s.fence, ends: ends, weight: weight, left: weight, known: true})
	m.subjects[subject] = m.keep(s, ends, fresh)
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
	s.leases = slices.Delete(slices.Clone(s.leases), i, i+1)
	switch {
	case s.until <= max(m.clock, s.last):
		s.until = 0
	case m.inUse(s) == 0:
		s.until = forever
	}
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
	return l.known && l.ends > max(m.clock, s.last)
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
	m.subjects[subject] = m.keep(s, ends, false)
	return true
}

// keep sets the expiry, if it is less than an hour after the last lease and the time that the last fence is: to two hours after.
func (m *Concurrency) keep(s leasedSubject, ends int64, fresh bool) leasedSubject {
	if needed := max(ends, s.fence) + fenceKept; fresh || needed > s.expiry {
		s.expiry = max(s.expiry, (needed+fenceKept+999)/1000*1000)
		s.endMS = expiry(m.clock, s.expiry-m.clock)
	}
	return s
}

// forget removes a holder's lease that has ended.
func (s *leasedSubject) forget(holder string) {
	s.leases = slices.DeleteFunc(s.leases, func(l lease) bool { return l.holder == holder && l.known })
}

// sweep removes two ended leases of each power of two; all if the clock was set back.
func (m *Concurrency) sweep(s *leasedSubject) {
	if s.last > m.clock {
		s.leases = slices.DeleteFunc(s.leases, func(l lease) bool { return l.ends <= s.last })
	}
	s.until = forever
	for power := range max(s.powers, 1) {
		var ended []int
		for i, l := range s.leases {
			if l.left>>power&1 == 0 {
				continue
			}
			if l.ends <= m.clock {
				ended = append(ended, i)
			} else {
				s.until = min(s.until, l.ends)
			}
		}
		if len(ended) > 2 {
			s.until = 0
		}
		slices.SortFunc(ended, func(a, b int) int {
			return cmp.Or(cmp.Compare(s.leases[a].ends, s.leases[b].ends), cmp.Compare(s.leases[a].holder, s.leases[b].holder))
		})
		for _, i := range ended[:min(len(ended), 2)] {
			s.leases[i].left &^= 1 << power
			s.leases[i].known = false
		}
	}
	s.leases = slices.DeleteFunc(s.leases, func(l lease) bool { return l.left == 0 })
}

// Move sets the clock, and forgets what has expired.
func (m *Concurrency) Move(to time.Time) {
	m.clock = to.UnixMicro()
	maps.DeleteFunc(m.subjects, func(_ string, s leasedSubject) bool { return expired(m.clock, s.endMS) })
}

// Expiries lists the keys of a subject, by suffix.
func (m *Concurrency) Expiries(subject string) map[string]int64 {
	s, ok := m.subjects[subject]
	switch {
	case !ok:
		return map[string]int64{}
	case len(s.leases) == 0:
		return map[string]int64{"holders": s.endMS}
	}
	return map[string]int64{"holders": s.endMS, "leases": s.endMS}
}

// Clone copies the model. The stored state is never changed in place.
func (m *Concurrency) Clone() *Concurrency {
	return &Concurrency{clock: m.clock, subjects: maps.Clone(m.subjects)}
}
