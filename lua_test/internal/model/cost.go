package model

import (
	"maps"
	"slices"
	"time"
)

// Cost models reserve, settle, cancel, peek and reset of library cost: every charge, and sums computed for each call.
type Cost struct {
	clock    int64
	subjects map[string]costSubject
}

// A costSubject is what is known of one subject. Its slices are never changed in place.
type costSubject struct {
	charges []charge // by time
	windows []window // that were used last first, 32 at most
	newest  int64    // the newest time stored
	penalty int64    // what the last reservation asked for
	barred  int64    // until when nothing is reserved
	endMS   int64    // the millisecond in which the keys expire
}

// A charge counts from its time, in each window for that window's length; until it is settled, to the end of its hold at
// most, if it has one.
type charge struct {
	receipt string
	at      int64
	amount  int64
	end     int64 // of the hold; 0 without one
	settled bool
}

type window struct{ length, budget int64 }

// A CostLimit is a budget in micros, in a window.
type CostLimit struct {
	Budget int64
	Window time.Duration
}

// A CostRow is what a call tells about one limit.
type CostRow struct {
	Allowed    bool
	Spent      int64
	Remaining  int64
	RetryAfter time.Duration
}

// CostReserve has the arguments of reserve and of reserve_at_most; a zero Hold or Penalty is absent.
type CostReserve struct {
	Receipt  string
	Estimate int64 // of reserve_at_most the least
	Most     int64 // of reserve_at_most
	Limits   []CostLimit
	Hold     time.Duration
	Penalty  time.Duration
}

// CostReserveResult is the answer of reserve.
type CostReserveResult struct {
	Allowed    bool
	Duplicate  bool
	Reason     string
	Charged    int64
	RetryAfter time.Duration
	ResetAfter time.Duration
	Limits     []CostRow
}

// CostSettleResult is the answer of settle.
type CostSettleResult struct {
	Outcome  string
	Charged  int64
	Exceeded bool
	Penalty  time.Duration
	Limits   []CostRow // Spent and Remaining only
}

// CostPeekResult is the answer of peek.
type CostPeekResult struct {
	Allowed    bool
	Reason     string
	Status     string
	Charged    int64
	RetryAfter time.Duration
	ResetAfter time.Duration
	Limits     []CostRow
}

// NewCost returns a model that knows no subject.
func NewCost() *Cost { return &Cost{subjects: map[string]costSubject{}} }

// Reserve answers reserve and reserve_at_most.
func (m *Cost) Reserve(subject string, c CostReserve) (r CostReserveResult, changed bool) {
	s, now := m.open(subject, c.Limits)
	if i, status := s.find(c.Receipt, now); status == "reserved" || status == "settled" {
		rows, _, _ := m.judge(s, now, c.Limits, 0)
		for j := range rows {
			rows[j].Allowed, rows[j].RetryAfter = true, 0
		}
		return CostReserveResult{Allowed: true, Duplicate: true, Reason: "none", Charged: s.charges[i].amount, ResetAfter: m.reset(s, now, c.Limits), Limits: rows}, false
	}
	rows, reason, retry := m.judge(s, now, c.Limits, c.Estimate)
	if reason != "none" {
		return CostReserveResult{Reason: reason, RetryAfter: retry, ResetAfter: m.reset(s, now, c.Limits), Limits: rows}, false
	}
	amount := max(c.Estimate, c.Most)
	for _, row := range rows {
		amount = min(amount, row.Remaining)
	}
	made := charge{receipt: c.Receipt, at: now, amount: amount}
	if hold := s.counted(microseconds(c.Hold), amount, now); hold > 0 {
		made.end = now + hold
	}
	s.penalty = microseconds(c.Penalty)
	s = s.without(c.Receipt).with(made)
	m.store(subject, s, now)
	for i := range rows {
		rows[i].Spent += amount
		rows[i].Remaining -= amount
	}
	return CostReserveResult{Allowed: true, Reason: "none", Charged: amount, ResetAfter: m.reset(s, now, c.Limits), Limits: rows}, true
}

// Settle answers settle.
func (m *Cost) Settle(subject, receipt string, actual int64, limits []CostLimit) (r CostSettleResult, changed bool) {
	s, now := m.open(subject, limits)
	i, status := s.find(receipt, now)
	r = CostSettleResult{Outcome: "unknown", Charged: actual}
	more := actual
	switch status {
	case "settled":
		r.Outcome, r.Charged = "repeated", s.charges[i].amount
	case "reserved":
		r.Outcome = "settled"
		more = actual - s.charges[i].amount
		s.charges = slices.Clone(s.charges)
		s.charges[i].amount, s.charges[i].settled = actual, true
	case "lapsed":
		r.Outcome = "late"
	}
	if r.Outcome == "late" || r.Outcome == "unknown" {
		s = s.without(receipt).with(charge{receipt: receipt, at: now, amount: actual, settled: true})
	}
	for _, w := range s.windows {
		r.Exceeded = r.Exceeded || s.spent(w.length, now) > w.budget
	}
	if changed = r.Outcome != "repeated"; changed {
		if more > 0 && r.Exceeded && s.penalty > 0 {
			s.barred = max(s.barred, now+s.penalty)
		}
		m.store(subject, s, now)
	}
	if s.barred > now {
		r.Penalty = duration(s.barred - m.clock)
	}
	for _, l := range limits {
		spent := s.spent(microseconds(l.Window), now)
		r.Limits = append(r.Limits, CostRow{Spent: spent, Remaining: max(l.Budget-spent, 0)})
	}
	return r, changed
}

// Cancel answers cancel.
func (m *Cost) Cancel(subject, receipt string) (outcome string, givenBack int64, changed bool) {
	s, now := m.open(subject, nil)
	i, status := s.find(receipt, now)
	if status != "reserved" {
		return status, 0, false
	}
	givenBack = s.charges[i].amount
	m.store(subject, s.without(receipt), now)
	return "cancelled", givenBack, true
}

// Peek answers peek.
func (m *Cost) Peek(subject string, limits []CostLimit, estimate int64, receipt string) (r CostPeekResult) {
	s, now := m.open(subject, limits)
	i, status := s.find(receipt, now)
	r.Status = status
	if status == "reserved" || status == "settled" {
		r.Charged = s.charges[i].amount
	}
	r.Limits, r.Reason, r.RetryAfter = m.judge(s, now, limits, estimate)
	r.Allowed = r.Reason == "none"
	r.ResetAfter = m.reset(s, now, limits)
	return r
}

// Reset answers reset.
func (m *Cost) Reset(subject string) (existed bool) {
	_, existed = m.subjects[subject]
	delete(m.subjects, subject)
	return existed
}

// open returns the subject as a call with these limits sees it, and now: time does not run backwards for a key. A time that
// is further ahead than the longest window is from a wrong clock: the subject is reset.
func (m *Cost) open(subject string, limits []CostLimit) (costSubject, int64) {
	s := m.subjects[subject]
	if s.newest > m.clock+s.longest() {
		s = costSubject{}
	}
	if len(limits) > 0 && len(s.windows) == 0 && len(s.charges) > 0 { // settled before any window was known
		s.windows = []window{{s.longest(), 1 << 53}}
	}
	used := make([]window, 0, len(limits)+len(s.windows))
	for _, l := range limits {
		used = append(used, window{microseconds(l.Window), l.Budget})
	}
	seen := map[int64]bool{}
	s.windows = slices.DeleteFunc(append(used, s.windows...), func(w window) bool {
		again := seen[w.length]
		seen[w.length] = true
		return again
	})
	s.windows = s.windows[:min(len(s.windows), 32)]
	return s, max(m.clock, s.newest)
}

// longest is the longest window, or a day where none is known.
func (s costSubject) longest() int64 {
	longest := int64(0)
	for _, w := range s.windows {
		longest = max(longest, w.length)
	}
	if longest == 0 {
		return (24 * time.Hour).Microseconds()
	}
	return longest
}

// find returns the receipt's charge and how it stands. It is known for twice the longest window.
func (s costSubject) find(receipt string, now int64) (i int, status string) {
	i = slices.IndexFunc(s.charges, func(c charge) bool { return c.receipt == receipt })
	switch {
	case i < 0 || s.charges[i].at <= now-2*s.longest():
		return i, "unknown"
	case s.charges[i].settled:
		return i, "settled"
	case s.charges[i].at <= now-s.longest() || s.charges[i].ended(now):
		return i, "lapsed"
	}
	return i, "reserved"
}

func (c charge) ended(now int64) bool { return !c.settled && c.end > 0 && c.end <= now }

// counted is the hold that an estimate of that hold is counted for: its own one if it costs nothing, or if fewer than eight
// different ones are open; else the next longer one of those, or none.
func (s costSubject) counted(hold, estimate, now int64) int64 {
	open := map[int64]bool{}
	for _, c := range s.charges {
		if !c.settled && c.end > now && c.amount > 0 {
			open[c.end-c.at] = true
		}
	}
	if hold == 0 || estimate == 0 || open[hold] || len(open) < 8 {
		return hold
	}
	longer := int64(0)
	for h := range open {
		if h > hold && (longer == 0 || h < longer) {
			longer = h
		}
	}
	return longer
}

func (s costSubject) with(c charge) costSubject {
	s.charges = append(slices.Clip(s.charges), c)
	return s
}

func (s costSubject) without(receipt string) costSubject {
	s.charges = slices.DeleteFunc(slices.Clone(s.charges), func(c charge) bool { return c.receipt == receipt })
	return s
}

// spent sums what counts at a time, in a window that ends then.
func (s costSubject) spent(length, now int64) (micros int64) {
	for _, c := range s.charges {
		if c.at > now-length && !c.ended(now) {
			micros += c.amount
		}
	}
	return micros
}

// changes lists the times after now at which less is spent in a window, if nothing else happens.
func (s costSubject) changes(length, now int64) (times []int64) {
	for _, c := range s.charges {
		leaves := c.at + length
		if !c.settled && c.end > 0 {
			leaves = min(leaves, c.end)
		}
		if leaves > now && c.amount > 0 {
			times = append(times, leaves)
		}
	}
	slices.Sort(times)
	return times
}

// judge says how a reservation of the estimate stands.
func (m *Cost) judge(s costSubject, now int64, limits []CostLimit, estimate int64) (rows []CostRow, reason string, retry time.Duration) {
	reason = "none"
	if s.barred > now {
		reason, retry = "penalty", duration(s.barred-m.clock)
	}
	for _, l := range limits {
		length := microseconds(l.Window)
		spent := s.spent(length, now)
		row := CostRow{Allowed: spent+estimate <= l.Budget, Spent: spent, Remaining: max(l.Budget-spent, 0)}
		switch {
		case estimate > l.Budget:
			reason = "too_large"
		case !row.Allowed:
			times := s.changes(length, now)
			i := slices.IndexFunc(times, func(at int64) bool { return s.spent(length, at)+estimate <= l.Budget })
			row.RetryAfter = duration(times[i] - m.clock)
			retry = max(retry, row.RetryAfter)
			if reason == "none" {
				reason = "budget"
			}
		}
		rows = append(rows, row)
	}
	if reason == "too_large" {
		retry = 0
	}
	return rows, reason, retry
}

// reset is the wait until nothing is spent in any of the limits' windows.
func (m *Cost) reset(s costSubject, now int64, limits []CostLimit) time.Duration {
	last := int64(0)
	for _, l := range limits {
		if times := s.changes(microseconds(l.Window), now); len(times) > 0 {
			last = max(last, times[len(times)-1]-m.clock)
		}
	}
	return duration(last)
}

// store keeps a subject after a call that writes, and forgets what is older than twice the longest window.
func (m *Cost) store(subject string, s costSubject, now int64) {
	s.newest = now
	s.charges = slices.DeleteFunc(slices.Clone(s.charges), func(c charge) bool { return c.at <= now-2*s.longest() })
	for i, c := range s.charges {
		if c.ended(now) {
			s.charges[i].amount = 0
		}
	}
	s.endMS = expiry(m.clock, max(2*s.longest(), s.barred-now)+now-m.clock)
	m.subjects[subject] = s
}

// Move sets the clock, and forgets what has expired.
func (m *Cost) Move(to time.Time) {
	m.clock = to.UnixMicro()
	maps.DeleteFunc(m.subjects, func(_ string, s costSubject) bool { return expired(m.clock, s.endMS) })
}

// Expiries lists the keys of a subject, by suffix.
func (m *Cost) Expiries(subject string) map[string]int64 {
	ends := map[string]int64{}
	if s, ok := m.subjects[subject]; ok {
		ends["charges"] = s.endMS
	}
	return ends
}

// Clone copies the model.
func (m *Cost) Clone() *Cost { return &Cost{clock: m.clock, subjects: maps.Clone(m.subjects)} }
