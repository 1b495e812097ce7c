package model

import (
	"slices"
	"time"
)

// RefundCall has the arguments of refund; what is zero is absent.
type RefundCall struct {
	Limits      []CheckLimit
	Left        []time.Duration // what the call answered for each limit
	Weight      int64
	At          time.Time
	Age         time.Duration
	Receipt     string
	Reservation string
	Budgets     []GuardBudget
	Challenge   string
	Payload     string
	Expires     time.Time
	Holder      string
}

// Refund answers refund.
func (m *Guard) Refund(subject string, c RefundCall) (refunded, changed bool, err error) {
	if err := (CheckCall{Limits: c.Limits, Weight: c.Weight, Holder: c.Holder}).together(); err != nil || len(c.Left) != len(c.Limits) {
		return false, false, ErrArgument
	}
	if c.Receipt != "" && !m.Remembers(subject, c.Receipt) {
		return false, false, nil
	}
	if !c.Expires.IsZero() && m.clock >= c.Expires.UnixMicro() {
		return false, false, nil
	}
	limits := CheckCall{Limits: c.Limits, Weight: c.Weight, Holder: c.Holder}
	judged := limits // but for quotas: they forget what was charged in another period
	judged.Limits = slices.DeleteFunc(slices.Clone(c.Limits), func(l CheckLimit) bool { return l.Kind == "quota" })
	if _, err := m.limits.judge(subject, judged, false); err != nil {
		return false, false, err
	}
	for _, a := range accountsOf(subject, c.Budgets) {
		_, _, cancelled := m.costs.Cancel(a.subject, c.Reservation)
		changed = changed || cancelled
	}
	for i, l := range limits.Weighed() {
		if c.Left[i] > 0 && l.Cost > 0 && l.Cost <= l.most() {
			changed = m.refundLimit(subject, l, c.Left[i], c.Age, c.At) || changed
		}
	}
	if c.Challenge != "" {
		changed = m.challenges.reopen(subject, c.Challenge, c.Payload) || changed
	}
	if c.Receipt != "" {
		m.receipts[subject] = m.receipts[subject].forget(c.Receipt)
		changed = true
	}
	return true, changed, nil
}

// refundLimit gives back what counts still, of a call that was sent so long ago and whose limit had so much left.
func (m *Guard) refundLimit(subject string, l CheckLimit, left, age time.Duration, at time.Time) (changed bool) {
	its := l.of(subject)
	if l.Kind == "sliding_log" {
		return !at.IsZero() && m.limits.logs.remove(its, at.UnixMicro()+microseconds(left)-microseconds(l.Window))
	}
	if l.Kind == "concurrency" {
		_, changed = m.limits.places.Release(its, l.holder, 0)
		return changed
	}
	if age >= left {
		return false
	}
	switch l.Kind {
	case "sliding_counter":
		window := time.Duration(milliseconds(l.Window)) * time.Millisecond
		_, changed = m.limits.counters.refund(its, l.window(), age >= left-window)
	case "fixed_window":
		_, changed = m.limits.windows.Refund(its, l.window(), time.Time{})
	case "quota":
		_, changed, _ = m.limits.quotas.Refund(its, l.quota(), time.Time{})
	case "gcra":
		_, changed, _ = m.limits.buckets.Refund(its, l.bucket(), time.Time{})
	}
	return changed
}

// remove takes an admission of that time out of the log. Where more are kept than any caller's limit, the oldest stands for those that
// were not kept: it stays, and takes the place of what goes.
func (m *SlidingLog) remove(subject string, at int64) (removed bool) {
	s := m.subjects[subject]
	i := slices.Index(s.admissions, at)
	more := int64(len(s.admissions)) > s.limit
	if i < 0 || more && i == 0 {
		return false
	}
	s.admissions = slices.Delete(slices.Clone(s.admissions), i, i+1)
	if more {
		s.admissions = slices.Insert(s.admissions, 0, s.admissions[0])
	}
	m.subjects[subject] = s
	return true
}

// reopen lets a challenge be consumed again.
func (m *Challenge) reopen(subject, token, payload string) (reopened bool) {
	ch, i := m.find(subject, token)
	if i < 0 || !ch.used {
		return false
	}
	s := m.subjects[subject]
	s.all = slices.Clone(s.all)
	s.all[i].used, s.all[i].payload = false, payload
	m.subjects[subject] = s
	return true
}

// RefundOf is what gives back now all that a call took: of a duplicate what it took of global limits.
func (a Admitted) RefundOf(now time.Time) RefundCall {
	c := RefundCall{
		Limits: a.Call.Limits, Weight: a.Call.Weight, At: a.Answer.At, Age: duration(min(max(now.UnixMicro()-a.at, 0), longestSpan)), Holder: a.Call.Holder,
	}
	for i, row := range a.Answer.Limits {
		left := min(row.ResetAfter, longestSpan*time.Microsecond) // a clock may be set back by more
		if !row.Allowed || a.Answer.Duplicate && !a.Call.Limits[i].Global {
			left = 0
		}
		c.Left = append(c.Left, left)
	}
	if a.Answer.Duplicate {
		return c
	}
	if c.Receipt = a.Call.Receipt; len(a.Call.Budgets) > 0 {
		c.Reservation, c.Budgets = a.Call.Reservation, a.Call.Budgets
	}
	if a.Answer.Challenge == "consumed" {
		c.Challenge, c.Payload = a.Call.Challenge, a.Call.Payload
	}
	return c
}

// longestSpan is the longest span of any argument: 100 years, in microseconds.
const longestSpan = 100 * 365 * 24 * 3600 * 1_000_000
