package model

import (
	"maps"
	"slices"
	"time"
)

// SlidingLog models sliding_log, sliding_log_peek, sliding_log_refund and sliding_log_reset: the times of all admissions.
type SlidingLog struct {
	clock    int64
	subjects map[string]logSubject
}

// A logSubject is what is known of one subject. Each half is kept for the window, or the dedup, of the last call that wrote
// to it.
type logSubject struct {
	admissions   []int64 // ascending
	admissionsMS int64   // the millisecond in which they expire
	receipts     map[string]seenReceipt
	receiptsMS   int64
}

// A seenReceipt was counted at a time, or renewed then by a duplicate.
type seenReceipt struct {
	at      int64
	renewed bool
}

// From 2112 on a time is stored to the microsecond and no finer: that a receipt was renewed can not be told from it.
const renewalsEnd = 1 << 52

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
	RetryAfter time.Duration
	ResetAfter time.Duration
}

// SlidingLogPeekResult is the answer of sliding_log_peek.
type SlidingLogPeekResult struct {
	Allowed    bool
	Count      int64
	Remaining  int64
	RetryAfter time.Duration
	ResetAfter time.Duration
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
	inside, now := s.inside(m.clock, window)
	r = m.judge(inside, c.Limit, window, 1)

	if seen, ok := s.receipts[c.Receipt]; ok && c.Receipt != "" && now-dedup < seen.at && seen.at <= now+dedup {
		r.Allowed, r.Duplicate, r.RetryAfter = true, true, 0
		if c.Refresh {
			s.receipts = maps.Clone(s.receipts)
			s.receipts[c.Receipt] = seenReceipt{at: now, renewed: now < renewalsEnd}
			s.receiptsMS = expiry(m.clock, dedup+now-m.clock)
			m.subjects[subject] = s
		}
		return r, c.Refresh
	}
	if !r.Allowed {
		return r, false
	}

	s.admissions = append(slices.Clone(inside), now)
	s.admissionsMS = expiry(m.clock, window+now-m.clock)
	if c.Receipt != "" {
		s.receipts = maps.Clone(s.receipts)
		if s.receipts == nil {
			s.receipts = map[string]seenReceipt{}
		}
		maps.DeleteFunc(s.receipts, func(_ string, seen seenReceipt) bool { return seen.at <= now-dedup })
		s.receipts[c.Receipt] = seenReceipt{at: now}
		s.receiptsMS = expiry(m.clock, dedup+now-m.clock)
	}
	m.subjects[subject] = s
	r = m.judge(s.admissions, c.Limit, window, 0)
	return r, true
}

// Peek answers sliding_log_peek.
func (m *SlidingLog) Peek(subject string, limit int64, window time.Duration) SlidingLogPeekResult {
	return m.look(subject, limit, window, 1)
}

// look answers sliding_log_peek for so many requests, one or none.
func (m *SlidingLog) look(subject string, limit int64, window time.Duration, cost int64) SlidingLogPeekResult {
	inside, _ := m.subjects[subject].inside(m.clock, microseconds(window))
	r := m.judge(inside, limit, microseconds(window), cost)
	return SlidingLogPeekResult{r.Allowed, r.Count, r.Remaining, r.RetryAfter, r.ResetAfter}
}

// Refund answers sliding_log_refund. The receipt's admission may have left the log.
func (m *SlidingLog) Refund(subject, receipt string) (refunded bool) {
	s := m.subjects[subject]
	seen, ok := s.receipts[receipt]
	if !ok || seen.renewed {
		return false
	}
	s.receipts = maps.Clone(s.receipts)
	delete(s.receipts, receipt)
	if i := slices.Index(s.admissions, seen.at); i >= 0 {
		s.admissions = slices.Delete(slices.Clone(s.admissions), i, i+1)
	}
	m.keep(subject, s)
	return true
}

// keep stores a subject, less what is empty: so does Redis.
func (m *SlidingLog) keep(subject string, s logSubject) {
	if len(s.admissions) == 0 {
		s.admissions, s.admissionsMS = nil, 0
	}
	if len(s.receipts) == 0 {
		s.receipts, s.receiptsMS = nil, 0
	}
	m.subjects[subject] = s
	if s.admissions == nil && s.receipts == nil {
		delete(m.subjects, subject)
	}
}

// Reset answers sliding_log_reset.
func (m *SlidingLog) Reset(subject string) (existed bool) {
	_, existed = m.subjects[subject]
	delete(m.subjects, subject)
	return existed
}

// Remembers tells whether a receipt is stored, known or not: one from a clock that was set back is known again when the
// clock has caught up.
func (m *SlidingLog) Remembers(subject, receipt string) bool {
	_, ok := m.subjects[subject].receipts[receipt]
	return ok
}

// inside returns the admissions in the window that ends now, and now: time does not run backwards for a key, so it is the
// later of the clock and the newest admission. One further ahead than the window is a broken clock's, and none counts.
func (s logSubject) inside(clock, window int64) (admissions []int64, now int64) {
	if len(s.admissions) == 0 {
		return nil, clock
	}
	newest := s.admissions[len(s.admissions)-1]
	if newest > clock+window {
		return nil, clock
	}
	now = max(clock, newest)
	for _, at := range s.admissions {
		if at > now-window {
			admissions = append(admissions, at)
		}
	}
	return admissions, now
}

// judge says how a call stands that sees these admissions, and asks for so many more, one or none.
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
		if expired(m.clock, s.admissionsMS) {
			s.admissions = nil
		}
		if expired(m.clock, s.receiptsMS) {
			s.receipts = nil
		}
		m.keep(name, s)
	}
}

// Expiries lists the keys of a subject, by suffix.
func (m *SlidingLog) Expiries(subject string) map[string]int64 {
	s, ends := m.subjects[subject], map[string]int64{}
	if s.admissions != nil {
		ends["log"] = s.admissionsMS
	}
	if s.receipts != nil {
		ends["receipts"] = s.receiptsMS
	}
	return ends
}

// Clone copies the model. What Take has stored is never changed in place.
func (m *SlidingLog) Clone() *SlidingLog {
	return &SlidingLog{clock: m.clock, subjects: maps.Clone(m.subjects)}
}
