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
	past    int64    // the longest period that has ended, while its charges are kept
	pastEnd int64    // until when they are
	expiry  int64    // when the keys expire at the earliest; a call that needs them for longer sets it an eighth later than that
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

// A window slides, or is the period that begins at start, which has no charges from before.
type window struct{ length, budget, start int64 }

func (w window) end() int64 {
	if w.start == 0 {
		return 1 << 62
	}
	return w.start + w.length
}

// from is the last time whose charges a window does not contain.
func (w window) from(now int64) int64 {
	if w.start != 0 {
		return w.start - 1
	}
	return now - w.length
}

// A CostLimit is a budget in micros, in a window, or in the periods that start at Previous, Start, Start+Window and After.
type CostLimit struct {
	Budget                 int64
	Window                 time.Duration
	Previous, Start, After time.Time
}

// at is the limit's window at a time; ok is false where its periods do not contain it.
func (l CostLimit) at(now int64) (w window, ok bool) {
	if l.Start.IsZero() {
		return window{microseconds(l.Window), l.Budget, 0}, true
	}
	start := l.Start.UnixMicro()
	starts := []int64{l.Previous.UnixMicro(), start, start + microseconds(l.Window), l.After.UnixMicro()}
	for i, s := range starts[:3] {
		if s <= now && now < starts[i+1] {
			return window{starts[i+1] - s, l.Budget, s}, true
		}
	}
	return window{}, false
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

// Covers reports whether the periods of all limits contain the time after a wait.
func (m *Cost) Covers(limits []CostLimit, wait time.Duration) bool {
	return !slices.ContainsFunc(limits, func(l CostLimit) bool {
		_, ok := l.at(m.clock + microseconds(wait))
		return !ok
	})
}

// NewCost returns a model that knows no subject.
func NewCost() *Cost { return &Cost{subjects: map[string]costSubject{}} }

// Reserve answers reserve and reserve_at_most.
func (m *Cost) Reserve(subject string, c CostReserve) (r CostReserveResult, changed bool, err error) {
	s, now, err := m.open(subject, c.Limits)
	if err != nil {
		return r, false, err
	}
	if i, status := s.find(c.Receipt, now); status == "reserved" || status == "settled" {
		rows, _, _ := m.judge(s, now, c.Limits, 0)
		for j := range rows {
			rows[j].Allowed, rows[j].RetryAfter = true, 0
		}
		return CostReserveResult{Allowed: true, Duplicate: true, Reason: "none", Charged: s.charges[i].amount, ResetAfter: m.reset(s, now, c.Limits), Limits: rows}, false, nil
	}
	rows, reason, retry := m.judge(s, now, c.Limits, c.Estimate)
	if reason != "none" {
		return CostReserveResult{Reason: reason, RetryAfter: retry, ResetAfter: m.reset(s, now, c.Limits), Limits: rows}, false, nil
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
	return CostReserveResult{Allowed: true, Reason: "none", Charged: amount, ResetAfter: m.reset(s, now, c.Limits), Limits: rows}, true, nil
}

// Settle answers settle.
func (m *Cost) Settle(subject, receipt string, actual int64, limits []CostLimit) (r CostSettleResult, changed bool, err error) {
	s, now, err := m.open(subject, limits)
	if err != nil {
		return r, false, err
	}
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
		r.Exceeded = r.Exceeded || s.spent(w, now) > w.budget
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
		w, _ := l.at(now)
		spent := s.spent(w, now)
		r.Limits = append(r.Limits, CostRow{Spent: spent, Remaining: max(l.Budget-spent, 0)})
	}
	return r, changed, nil
}

// Cancel answers cancel.
func (m *Cost) Cancel(subject, receipt string) (outcome string, givenBack int64, changed bool) {
	s, now, _ := m.open(subject, nil)
	i, status := s.find(receipt, now)
	if status != "reserved" {
		return status, 0, false
	}
	givenBack = s.charges[i].amount
	m.store(subject, s.without(receipt), now)
	return "cancelled", givenBack, true
}

// Peek answers peek.
func (m *Cost) Peek(subject string, limits []CostLimit, estimate int64, receipt string) (r CostPeekResult, err error) {
	s, now, err := m.open(subject, limits)
	if err != nil {
		return r, err
	}
	i, status := s.find(receipt, now)
	r.Status = status
	if status == "reserved" || status == "settled" {
		r.Charged = s.charges[i].amount
	}
	r.Limits, r.Reason, r.RetryAfter = m.judge(s, now, limits, estimate)
	r.Allowed = r.Reason == "none"
	r.ResetAfter = m.reset(s, now, limits)
	return r, nil
}

// Reset answers reset.
func (m *Cost) Reset(subject string) (existed bool) {
	_, existed = m.subjects[subject]
	delete(m.subjects, subject)
	return existed
}

// open returns the subject as a call with these limits sees it, and now: time does not run backwards for a key. A time that
// is further ahead than the longest window is from a wrong clock: the subject is reset. Periods that have ended are dropped.
func (m *Cost) open(subject string, limits []CostLimit) (costSubject, int64, error) {
	s := m.subjects[subject]
	if s.newest > m.clock+s.longest() {
		s = costSubject{}
	}
	now := max(m.clock, s.newest)
	s.drop(now)
	if len(limits) > 0 && len(s.windows) == 0 && len(s.charges) > 0 && s.past == 0 { // settled before any window was known
		s.windows = []window{{s.longest(), 1 << 53, 0}}
	}
	used := make([]window, 0, len(limits)+len(s.windows))
	for _, l := range limits {
		w, ok := l.at(now)
		if !ok {
			return s, now, ErrArgument
		}
		used = append(used, w)
	}
	type identity struct{ length, start int64 }
	seen := map[identity]bool{}
	s.windows = slices.DeleteFunc(append(used, s.windows...), func(w window) bool {
		again := seen[identity{w.length, w.start}]
		seen[identity{w.length, w.start}] = true
		return again
	})
	s.windows = s.windows[:min(len(s.windows), 32)]
	return s, now, nil
}

// drop drops the periods that have ended. Their charges are kept for twice their length.
func (s *costSubject) drop(now int64) {
	if s.pastEnd <= now {
		s.past, s.pastEnd = 0, 0
	}
	s.windows = slices.DeleteFunc(slices.Clone(s.windows), func(w window) bool {
		if w.end() > now {
			return false
		}
		if until := w.end() + 2*w.length; until > now {
			s.past, s.pastEnd = max(s.past, w.length), max(s.pastEnd, until)
		}
		return true
	})
}

// longest is the longest window or period, also of those that were dropped; or a day where none is known.
func (s costSubject) longest() int64 {
	longest := s.past
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

// spent sums what counts in a window at a time.
func (s costSubject) spent(w window, now int64) (micros int64) {
	if w.end() <= now {
		return 0
	}
	for _, c := range s.charges {
		if c.at > w.from(now) && !c.ended(now) {
			micros += c.amount
		}
	}
	return micros
}

// changes lists the times after now at which less is spent in a window, if nothing else happens.
func (s costSubject) changes(w window, now int64) (times []int64) {
	for _, c := range s.charges {
		leaves := c.at + w.length
		if w.start != 0 {
			leaves = w.end()
		}
		if c.at <= w.from(now) {
			continue
		}
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
		w, _ := l.at(now)
		spent := s.spent(w, now)
		row := CostRow{Allowed: spent+estimate <= l.Budget, Spent: spent, Remaining: max(l.Budget-spent, 0)}
		switch {
		case estimate > l.Budget:
			reason = "too_large"
		case !row.Allowed:
			times := s.changes(w, now)
			i := slices.IndexFunc(times, func(at int64) bool { return s.spent(w, at)+estimate <= l.Budget })
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
		w, _ := l.at(now)
		if times := s.changes(w, now); len(times) > 0 {
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
	keep := 2 * s.longest()
	if s.past > 0 {
		if len(s.windows) == 0 {
			s.pastEnd = now + keep
		}
		living := s
		living.past = 0
		if keep = s.pastEnd - now; len(s.windows) > 0 {
			keep = max(keep, 2*living.longest())
		}
	}
	if until := max(now+keep, s.barred); until > s.expiry {
		s.expiry = until + (keep+7)/8
		s.endMS = expiry(m.clock, s.expiry-m.clock)
	}
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
