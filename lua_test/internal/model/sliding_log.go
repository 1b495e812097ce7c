package model

import (
	"maps"
	"slices"
	"time"
)

// SlidingLog models sliding_log, sliding_log_peek, sliding_log_refund and sliding_log_reset: the times of all admissions that a
// caller needs.
type SlidingLog struct {
	clock    int64
	subjects map[string]logSubject
}

// A logSubject is what is known of one subject.
type logSubject struct {
	admissions []int64 // ascending
	// window is the longest and limit the highest of the calls that were admitted since the key is there, 0 without it: only one
	// admission more is kept.
	window, limit int64
	endMS         int64 // the millisecond in which the log expires
	receipts      receipts
}

// SlidingLogCall has the arguments of sliding_log; zero is absent.
type SlidingLogCall struct {
	Limit   int64
	Window  time.Duration
	Receipt string
	Dedup   time.Duration
	Refresh bool
}

// SlidingLogResult is the answer of sliding_log.
type SlidingLogResult struct {
	Allowed    bool
	Duplicate  bool
	Count      int64
	Remaining  int64
	ResetAfter time.Duration
	RetryAfter time.Duration
}

// SlidingLogPeekResult is the answer of sliding_log_peek.
type SlidingLogPeekResult struct {
	Allowed    bool
	Count      int64
	Remaining  int64
	ResetAfter time.Duration
	RetryAfter time.Duration
}

// NewSlidingLog returns a model that knows no subject.
func NewSlidingLog() *SlidingLog { return &SlidingLog{subjects: map[string]logSubject{}} }

// Take answers sliding_log.
func (m *SlidingLog) Take(subject string, c SlidingLogCall) (r SlidingLogResult, changed bool) {
	s := m.subjects[subject]
	window := microseconds(c.Window)
	dedup := window
	if c.Dedup > 0 {
		dedup = microseconds(c.Dedup)
	}
	needed, now := s.needed(m.clock, window)
	r = m.judge(after(needed, now-window), c.Limit, window, 1)

	if _, known := s.receipts.known(c.Receipt, now, dedup); known {
		r.Allowed, r.Duplicate, r.RetryAfter = true, true, 0
		if c.Refresh {
			s.receipts = s.receipts.renew(c.Receipt, now, dedup, m.clock)
			m.subjects[subject] = s
		}
		return r, c.Refresh
	}
	if !r.Allowed {
		return r, false
	}

	s.window, s.limit = max(s.window, window), max(s.limit, c.Limit)
	s.admissions = append(slices.Clone(needed), now)
	s.admissions = s.admissions[max(int64(len(s.admissions))-s.limit-1, 0):]
	s.endMS = expiry(m.clock, s.window+now-m.clock)
	if c.Receipt != "" {
		s.receipts = s.receipts.count(c.Receipt, now, dedup, m.clock)
	}
	m.subjects[subject] = s
	return m.judge(after(s.admissions, now-window), c.Limit, window, 0), true
}

// Peek answers sliding_log_peek.
func (m *SlidingLog) Peek(subject string, limit int64, window time.Duration) SlidingLogPeekResult {
	return m.look(subject, limit, window, 1)
}

// look answers sliding_log_peek for one request or none.
func (m *SlidingLog) look(subject string, limit int64, window time.Duration, cost int64) SlidingLogPeekResult {
	needed, now := m.subjects[subject].needed(m.clock, microseconds(window))
	r := m.judge(after(needed, now-microseconds(window)), limit, microseconds(window), cost)
	return SlidingLogPeekResult{r.Allowed, r.Count, r.Remaining, r.ResetAfter, r.RetryAfter}
}

// Refund answers sliding_log_refund. The receipt's admission may have left the log.
func (m *SlidingLog) Refund(subject, receipt string) (refunded bool) {
	s := m.subjects[subject]
	seen, ok := s.receipts.seen[receipt]
	if !ok || seen.renewed {
		return false
	}
	s.receipts = s.receipts.forget(receipt)
	m.subjects[subject] = s
	m.remove(subject, seen.at)
	return true
}

// Reset answers sliding_log_reset.
func (m *SlidingLog) Reset(subject string) (existed bool) {
	_, existed = m.subjects[subject]
	delete(m.subjects, subject)
	return existed
}

// Remembers reports whether a receipt is stored, known or not: one from a clock that was set back is known again when the
// clock has caught up.
func (m *SlidingLog) Remembers(subject, receipt string) bool {
	_, ok := m.subjects[subject].receipts.seen[receipt]
	return ok
}

// needed returns the admissions that a call with that window or another caller needs, and now: time does not run backwards for
// a key, so it is the later of the clock and the newest admission. One further ahead than the longest window is from a wrong clock,
// and no caller needs any.
func (s logSubject) needed(clock, window int64) (admissions []int64, now int64) {
	if len(s.admissions) == 0 {
		return nil, clock
	}
	longest, newest := max(s.window, window), s.admissions[len(s.admissions)-1]
	if newest > clock+longest {
		return nil, clock
	}
	now = max(clock, newest)
	return after(s.admissions, now-longest), now
}

// after returns the times that are later than the horizon.
func after(times []int64, horizon int64) []int64 {
	for i, at := range times {
		if at > horizon {
			return times[i:]
		}
	}
	return nil
}

// judge decides a call that sees these admissions and asks for one more or none.
func (m *SlidingLog) judge(inside []int64, limit, window, cost int64) SlidingLogResult {
	n := int64(len(inside))
	r := SlidingLogResult{Allowed: n+cost <= limit, Count: n, Remaining: max(limit-n, 0)}
	if n > 0 {
		r.ResetAfter = duration(inside[n-1] + window - m.clock)
	}
	if leave := n + cost - limit; leave > 0 {
		r.RetryAfter = duration(inside[leave-1] + window - m.clock)
	}
	return r
}

// Move sets the clock, and forgets what has expired.
func (m *SlidingLog) Move(to time.Time) {
	m.clock = to.UnixMicro()
	for name, s := range m.subjects {
		if s.window > 0 && expired(m.clock, s.endMS) {
			s = logSubject{receipts: s.receipts}
		}
		if s.receipts.longest > 0 && expired(m.clock, s.receipts.endMS) {
			s.receipts = receipts{}
		}
		m.subjects[name] = s
		if s.window == 0 && s.receipts.longest == 0 {
			delete(m.subjects, name)
		}
	}
}

// Expiries lists the keys of a subject, by suffix.
func (m *SlidingLog) Expiries(subject string) map[string]int64 {
	s, ends := m.subjects[subject], map[string]int64{}
	if s.window > 0 {
		ends["log"] = s.endMS
	}
	if s.receipts.longest > 0 {
		ends["receipts"] = s.receipts.endMS
	}
	return ends
}

// Clone copies the model. What Take has stored is never changed in place.
func (m *SlidingLog) Clone() *SlidingLog {
	return &SlidingLog{clock: m.clock, subjects: maps.Clone(m.subjects)}
}
