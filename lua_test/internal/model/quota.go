package model

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Quota models quota, quota_peek, quota_at_most, quota_refund and quota_reset: what was charged in each period, by all callers.
type Quota struct {
	clock    int64
	subjects map[string]quotaPeriods
}

// quotaPeriods are a subject's, that of the caller that was admitted last first. The zero ones mean that there is no key.
type quotaPeriods struct {
	all   []quotaPeriod
	endMS int64 // the millisecond in which the key expires
}

// A quotaPeriod is from start to end, in microseconds.
type quotaPeriod struct{ start, end, used int64 }

// maxPeriods is how many periods are known of a subject.
const maxPeriods = 8

// QuotaCall has the arguments of quota; the client's absent cost is 1 here.
type QuotaCall struct {
	Limit                        int64
	Previous, Start, Next, After time.Time
	Cost                         int64
}

// NewQuota returns a model that knows no period.
func NewQuota() *Quota { return &Quota{subjects: map[string]quotaPeriods{}} }

// Take answers quota.
func (m *Quota) Take(subject string, c QuotaCall) (r WindowResult, changed bool, err error) {
	r, err = m.Peek(subject, c)
	if err != nil || !r.Allowed || c.Cost == 0 {
		return r, false, err
	}
	own, _, _, _ := m.own(subject, c)
	m.store(subject, own, c.Cost, c.Cost)
	return WindowResult{Allowed: true, Remaining: r.Remaining - c.Cost, ResetAfter: m.until(own.end)}, true, nil
}

// TakeAtMost answers quota_at_most: the call's cost is the most.
func (m *Quota) TakeAtMost(subject string, c QuotaCall) (r AtMostResult, changed bool, err error) {
	some := c
	some.Cost = 1
	there, err := m.Peek(subject, some)
	if err != nil {
		return r, false, err
	}
	some.Cost = max(min(c.Cost, there.Remaining), 1)
	took, changed, err := m.Take(subject, some)
	r = AtMostResult{Allowed: took.Allowed, Remaining: took.Remaining, ResetAfter: took.ResetAfter, RetryAfter: took.RetryAfter}
	if took.Allowed {
		r.Taken, r.Expires = some.Cost, m.Now().Add(took.ResetAfter)
	}
	return r, changed, err
}

// Peek answers quota_peek.
func (m *Quota) Peek(subject string, c QuotaCall) (r WindowResult, err error) {
	own, later, _, err := m.own(subject, c)
	if err != nil || c.Cost > c.Limit {
		return r, ErrArgument
	}
	r = WindowResult{Allowed: own.used+c.Cost <= c.Limit, Remaining: max(c.Limit-own.used, 0)}
	if own.used > 0 {
		r.ResetAfter = m.until(own.end)
	}
	if r.Allowed {
		return r, nil
	}
	// The first time that has room: when a later period begins or another one ends, or when the last one is over.
	times := []int64{}
	for _, next := range later {
		times = append(times, next.start)
	}
	for _, other := range m.subjects[subject].all {
		times = append(times, other.end)
	}
	slices.Sort(times)
	r.RetryAfter = m.until(c.After.UnixMicro())
	for _, at := range slices.Backward(times) {
		for _, p := range append(later, own) {
			if used, _ := m.used(subject, p, at); at > m.clock && p.start <= at && at < p.end && used+c.Cost <= c.Limit {
				r.RetryAfter = m.until(at)
			}
		}
	}
	r.ResetAfter = max(r.ResetAfter, r.RetryAfter)
	return r, nil
}

// Refund answers quota_refund. From expires on nothing is given back, unless that is zero.
func (m *Quota) Refund(subject string, c QuotaCall, expires time.Time) (r WindowRefundResult, changed bool, err error) {
	own, _, known, err := m.own(subject, c)
	if err != nil {
		return r, false, err
	}
	if known && (expires.IsZero() || m.clock < expires.UnixMicro()) {
		r.Refunded = min(own.used, c.Cost)
	}
	if r.Refunded > 0 {
		m.store(subject, own, -r.Refunded, 0)
	}
	own.used -= r.Refunded
	r.Remaining = max(c.Limit-own.used, 0)
	if own.used > 0 {
		r.ResetAfter = m.until(own.end)
	}
	return r, r.Refunded > 0, nil
}

// Reset answers quota_reset.
func (m *Quota) Reset(subject string) (existed bool) {
	_, existed = m.subjects[subject]
	delete(m.subjects, subject)
	return existed
}

// own returns the caller's period that the clock is in, those after it, and whether the subject has it.
func (m *Quota) own(subject string, c QuotaCall) (own quotaPeriod, later []quotaPeriod, known bool, err error) {
	times := []int64{c.Previous.UnixMicro(), c.Start.UnixMicro(), c.Next.UnixMicro(), c.After.UnixMicro()}
	for i := range 3 {
		if times[i] >= times[i+1] {
			return own, nil, false, ErrArgument
		}
		p := quotaPeriod{start: times[i], end: times[i+1]}
		switch {
		case p.start <= m.clock && m.clock < p.end:
			own = p
		case p.start > m.clock:
			later = append(later, p)
		}
	}
	if own.end == 0 || time.Duration(times[3]-times[0])*time.Microsecond > 3650*24*time.Hour {
		return own, nil, false, ErrArgument
	}
	own.used, known = m.used(subject, own, m.clock)
	return own, later, known, nil
}

// used returns what counts in a period at a time. One that the subject does not have begins with the greatest use of those that have not
// ended: of one that began before, with the part since its own start, as if that was used steadily.
func (m *Quota) used(subject string, p quotaPeriod, at int64) (used int64, known bool) {
	for _, other := range m.subjects[subject].all {
		if other.start == p.start && other.end == p.end {
			return other.used, true
		}
	}
	for _, other := range m.subjects[subject].all {
		switch {
		case other.end <= at:
		case other.start >= p.start:
			used = max(used, other.used)
		default:
			used = max(used, int64(math.Ceil(float64(other.used)*(float64(at-p.start)/float64(at-other.start)))))
		}
	}
	return used, false
}

// store charges the caller's own period, and others that have not ended.
func (m *Quota) store(subject string, own quotaPeriod, cost, othersCost int64) {
	stored := quotaPeriods{all: []quotaPeriod{own}}
	for _, p := range m.subjects[subject].all {
		if p.end > m.clock && (p.start != own.start || p.end != own.end) && len(stored.all) < maxPeriods {
			p.used += othersCost
			stored.all = append(stored.all, p)
		}
	}
	stored.all[0].used += cost
	for _, p := range stored.all {
		stored.endMS = max(stored.endMS, (p.end+999)/1000)
	}
	m.subjects[subject] = stored
	if len(stored.all) == 1 && stored.all[0].used == 0 {
		delete(m.subjects, subject)
	}
}

// until is the time until a later one, in microseconds.
func (m *Quota) until(at int64) time.Duration { return time.Duration(at-m.clock) * time.Microsecond }

// Move sets the clock, and forgets what has expired.
func (m *Quota) Move(to time.Time) {
	m.clock = to.UnixMicro()
	maps.DeleteFunc(m.subjects, func(_ string, p quotaPeriods) bool { return expired(m.clock, p.endMS) })
}

// Expiries lists the keys of a subject, by suffix.
func (m *Quota) Expiries(subject string) map[string]int64 {
	if p, ok := m.subjects[subject]; ok {
		return map[string]int64{"quota": p.endMS}
	}
	return map[string]int64{}
}

// Clone copies the model.
func (m *Quota) Clone() *Quota { return &Quota{clock: m.clock, subjects: maps.Clone(m.subjects)} }

// Now is the clock's time.
func (m *Quota) Now() time.Time { return time.UnixMicro(m.clock) }
