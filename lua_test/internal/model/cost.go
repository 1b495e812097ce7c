package model

import (
	"maps"
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
)

// Cost models reserve, settle, peek and reset of library cost, which guard's budgets are, too: what counts until when, summed for each call.
type Cost struct {
	clock        int64
	spendings    map[costKey]spending
	reservations map[[2]string]costReservation // by subject and receipt
}

// A costKey is what is spent of a budget.
type costKey struct {
	subject, unit string // "" for money
	window        int64  // 0 with periods
	name          string
}

// A period is one of a calendar; a window that slides has none.
type period struct{ start, end int64 }

// A counted is what counts until a time, in a period.
type counted struct {
	period period
	until  int64
}

// A spending holds amounts. Its map is never changed in place.
type spending struct {
	began     int64 // the earliest time of a write
	amounts   map[counted]int64
	penalty   int64 // when it ends
	penalised int64 // how long it lasts
	endMS     int64 // the millisecond in which the key expires
}

// A costReservation is what a receipt has reserved, or settled.
type costReservation struct {
	settled     bool
	made, until int64 // the estimate counts until then
	amounts     map[costKey]int64
	endMS       int64
}

// A CostLimit is a budget in micros, in a window, or in the periods that start at Previous, Start, Next and After.
type CostLimit struct {
	Budget                       int64
	Window                       time.Duration // 0 with periods
	Previous, Start, Next, After time.Time
	Unit                         string // "" for money
	Name                         string // required with periods
}

// key is what a subject has spent of the budget.
func (l CostLimit) key(subject string) costKey {
	return costKey{subject, l.Unit, microseconds(l.Window), l.Name}
}

// suffix is that of the key.
func (k costKey) suffix() string {
	return fcall.Suffix(fcall.Suffix(fcall.Suffix("spent", k.unit), duration(k.window)), k.name)
}

// length is the window, or the period in the middle.
func (l CostLimit) length() int64 {
	if l.Start.IsZero() {
		return microseconds(l.Window)
	}
	return l.Next.UnixMicro() - l.Start.UnixMicro()
}

// at returns the period in which a charge counts, and until when; ok is false outside of the limit's periods.
func (l CostLimit) at(now int64) (p period, until int64, ok bool) {
	if l.Start.IsZero() {
		return period{}, sliceEnd(now, l.length()), true
	}
	starts := []int64{l.Previous.UnixMicro(), l.Start.UnixMicro(), l.Next.UnixMicro(), l.After.UnixMicro()}
	for i, s := range starts[:3] {
		if s <= now && now < starts[i+1] {
			return period{s, starts[i+1]}, starts[i+1], true
		}
	}
	return period{}, 0, false
}

// sliceEnd is the end of the slice, a sixtieth of a length, in which that length from a time on ends.
func sliceEnd(from, length int64) int64 {
	slice := length / 60
	return (from + length + slice - 1) / slice * slice
}

// A CostRow is what a call tells about one limit.
type CostRow struct {
	Allowed    bool
	Spent      int64
	Remaining  int64
	Charged    int64
	RetryAfter time.Duration
}

// CostReserve has the arguments of reserve and peek; a zero Hold is absent.
type CostReserve struct {
	Receipt    string
	Estimate   int64 // in money
	InUnits    int64 // in each other unit
	Unreserved bool  // what is in other units must only fit
	Limits     []CostLimit
	Hold       time.Duration
	AtMost     bool

	paid map[costKey]int64 // what the receipt of guard's call has paid before, under other names; nil if it is new
}

func (c CostReserve) amount(unit string) int64 {
	if unit == "" {
		return c.Estimate
	}
	return c.InUnits
}

// CostReserveResult is the answer of reserve.
type CostReserveResult struct {
	Allowed    bool
	Duplicate  bool
	Reason     string
	Refused    int64 // the budget that refuses, from 1; 0 if none does
	RetryAfter time.Duration
	ResetAfter time.Duration
	Limits     []CostRow
}

// CostSettleResult is the answer of settle. Of its rows, Spent and Remaining are set.
type CostSettleResult struct {
	Outcome  string
	Exceeded bool
	Penalty  time.Duration
	Limits   []CostRow
}

// CostPeekResult is the answer of peek.
type CostPeekResult struct {
	Allowed    bool
	Reason     string
	Status     string
	RetryAfter time.Duration
	ResetAfter time.Duration
	Limits     []CostRow
}

// NewCost returns a model that knows no subject.
func NewCost() *Cost {
	return &Cost{spendings: map[costKey]spending{}, reservations: map[[2]string]costReservation{}}
}

// Covers reports whether the periods of all limits contain the time after a wait, and none begins meanwhile in which a clock that has been
// set back since has charged something.
func (m *Cost) Covers(subject string, limits []CostLimit, wait time.Duration) bool {
	return !slices.ContainsFunc(limits, func(l CostLimit) bool {
		now, _, _ := l.at(m.clock)
		then, _, ok := l.at(m.clock + microseconds(wait))
		return !ok || then != now && m.spendings[l.key(subject)].spent(then) > 0
	})
}

// open returns what is spent as a call sees it: without what has ended, and what a clock that has been set back has stored further ahead than
// a window.
func (m *Cost) open(l CostLimit, subject string) spending {
	s, ok := m.spendings[l.key(subject)]
	if !ok {
		return spending{began: m.clock}
	}
	s.amounts = maps.Clone(s.amounts)
	maps.DeleteFunc(s.amounts, func(c counted, _ int64) bool {
		length := c.period.end - c.period.start
		if length == 0 {
			length = l.length()
		}
		return c.until <= m.clock || c.until > m.clock+2*length+length/60
	})
	if s.penalty > m.clock+2*s.penalised {
		s.penalty = 0
	}
	return s
}

func (s spending) spent(p period) (sum int64) {
	for c, n := range s.amounts {
		if c.period == p {
			sum += n
		}
	}
	return sum
}

func (s spending) last() (last int64) {
	for c := range s.amounts {
		last = max(last, c.until)
	}
	return last
}

func (s *spending) add(p period, until, n int64) {
	if s.amounts == nil {
		s.amounts = map[counted]int64{}
	}
	s.amounts[counted{p, until}] += n
}

// wait is how long until at most that much is spent in a period.
func (m *Cost) wait(s spending, p period, most int64) time.Duration {
	var ends []int64
	for c := range s.amounts {
		if c.period == p {
			ends = append(ends, c.until)
		}
	}
	spent := s.spent(p)
	for _, end := range slices.Sorted(slices.Values(ends)) {
		if spent -= s.amounts[counted{p, end}]; spent <= most {
			return duration(end - m.clock)
		}
	}
	panic("nothing that counts ends")
}

var costReasons = []string{"none", "budget", "penalty", "too_large"}

// A costRow is one budget of a call, before the call charges it.
type costRow struct {
	key     costKey
	spent   spending
	period  period
	amount  int64 // to charge
	paid    int64 // what the call's receipt has paid after it
	skipped bool  // a repeat pays nothing more
}

// A costAnswer is how a call stands, before it reserves.
type costAnswer struct {
	rows []costRow
	free bool // all are skipped
	CostReserveResult
}

// paid is what the call's receipt has paid after it.
func (a *costAnswer) paid() map[costKey]int64 {
	paid := map[costKey]int64{}
	for _, row := range a.rows {
		if row.paid > 0 {
			paid[row.key] = row.paid
		}
	}
	return paid
}

// alike reports whether two budgets would be one.
func alike(subject string, limits []CostLimit) bool {
	seen := map[costKey]bool{}
	for _, l := range limits {
		if seen[l.key(subject)] {
			return true
		}
		seen[l.key(subject)] = true
	}
	return false
}

// judge says how a reservation stands.
func (m *Cost) judge(subject string, c CostReserve) (r costAnswer, err error) {
	r.Reason, r.free = "none", c.paid != nil
	refuse := func(place int, reason string, wait time.Duration) {
		r.RetryAfter = max(r.RetryAfter, wait)
		if slices.Index(costReasons, reason) > slices.Index(costReasons, r.Reason) {
			r.Reason, r.Refused = reason, int64(place+1)
		}
	}
	if alike(subject, c.Limits) {
		return r, ErrArgument
	}
	for i, l := range c.Limits {
		p, _, ok := l.at(m.clock)
		if !ok {
			return r, ErrArgument
		}
		row := costRow{key: l.key(subject), spent: m.open(l, subject), period: p}
		before := c.paid[row.key]
		row.paid = max(c.amount(l.Unit), before)
		row.amount = row.paid - before
		row.skipped = c.paid != nil && row.amount == 0
		r.free = r.free && row.skipped
		r.ResetAfter = max(r.ResetAfter, duration(row.spent.last()-m.clock))

		least, whole := row.amount, row.paid
		if c.AtMost {
			least = min(least, 1)
			whole = least
		}
		spent := row.spent.spent(p)
		answer := CostRow{Allowed: row.skipped || whole <= l.Budget && least+spent <= l.Budget, Spent: spent, Remaining: max(l.Budget-spent, 0)}
		if row.spent.penalty > m.clock && !row.skipped {
			refuse(i, "penalty", duration(row.spent.penalty-m.clock))
		}
		switch {
		case answer.Allowed:
		case whole > l.Budget:
			refuse(i, "too_large", 0)
		default:
			answer.RetryAfter = m.wait(row.spent, p, l.Budget-least)
			refuse(i, "budget", answer.RetryAfter)
		}
		if c.AtMost {
			row.amount = min(row.amount, answer.Remaining)
		}
		r.rows, r.Limits = append(r.rows, row), append(r.Limits, answer)
	}
	if r.Reason == "too_large" {
		r.RetryAfter = 0
	}
	if c.AtMost {
		for i := range r.rows {
			for j := range r.rows {
				if c.Limits[i].Unit == c.Limits[j].Unit {
					r.rows[i].amount = min(r.rows[i].amount, r.rows[j].amount)
				}
			}
		}
	}
	return r, nil
}

// paid reports whether a receipt has paid for a call before.
func (m *Cost) paid(subject string, c CostReserve) bool {
	v, ok := m.reservations[[2]string{subject, c.Receipt}]
	for _, l := range c.Limits {
		before, charged := v.amounts[l.key(subject)]
		counts := v.settled || v.until > m.clock && m.open(l, subject).began <= v.made
		ok = ok && charged && c.amount(l.Unit) <= before && counts
	}
	return ok
}

// Reserve answers reserve.
func (m *Cost) Reserve(subject string, c CostReserve) (r CostReserveResult, changed bool, err error) {
	a, err := m.judge(subject, c)
	if err != nil {
		return r, false, err
	}
	switch {
	case m.paid(subject, c):
		return m.free(subject, c, a), false, nil
	case a.Reason != "none":
		return a.CostReserveResult, false, nil
	}
	return m.charge(subject, c, a), true, nil
}

// free is the answer to a call that charges nothing.
func (m *Cost) free(subject string, c CostReserve, a costAnswer) CostReserveResult {
	r := a.CostReserveResult
	r.Allowed, r.Duplicate, r.Reason, r.Refused, r.RetryAfter = true, true, "none", 0, 0
	for i, l := range c.Limits {
		r.Limits[i].Allowed, r.Limits[i].RetryAfter = true, 0
		r.Limits[i].Charged = m.reservations[[2]string{subject, c.Receipt}].amounts[l.key(subject)]
	}
	return r
}

// charge reserves what was judged.
func (m *Cost) charge(subject string, c CostReserve, a costAnswer) CostReserveResult {
	v := costReservation{made: m.clock, amounts: map[costKey]int64{}}
	longest, held := int64(0), int64(1)<<60
	if c.Hold > 0 {
		held = sliceEnd(m.clock, microseconds(c.Hold))
	}
	r := a.CostReserveResult
	r.Allowed, r.ResetAfter = true, 0
	for i, l := range c.Limits {
		longest = max(longest, l.length())
		row, answer := a.rows[i], &r.Limits[i]
		if !row.skipped && (!c.Unreserved || l.Unit == "") {
			p, until, _ := l.at(m.clock)
			row.spent.add(p, min(until, held), row.amount)
			v.amounts[row.key], v.until = row.amount, max(v.until, min(until, held))
			m.write(row.key, row.spent)
			answer.Charged, answer.Spent = row.amount, row.spent.spent(p)
			answer.Remaining = max(l.Budget-answer.Spent, 0)
		}
		r.ResetAfter = max(r.ResetAfter, duration(row.spent.last()-m.clock))
	}
	if len(v.amounts) > 0 {
		m.record(subject, c.Receipt, v, longest)
	}
	return r
}

// write stores what is spent, and record a reservation.
func (m *Cost) write(key costKey, s spending) {
	s.began = min(s.began, m.clock)
	s.endMS = (max(s.last(), s.penalty) + 999) / 1000
	m.spendings[key] = s
}

func (m *Cost) record(subject, receipt string, v costReservation, longest int64) {
	v.endMS = max(v.endMS, expiry(m.clock, 2*longest))
	m.reservations[[2]string{subject, receipt}] = v
}

// Settle answers settle; a zero penalty is absent.
func (m *Cost) Settle(subject, receipt string, actual, inUnits int64, limits []CostLimit, penalty time.Duration) (r CostSettleResult, changed bool, err error) {
	v, known := m.reservations[[2]string{subject, receipt}]
	made, until := m.clock, m.clock
	if known {
		made, until = v.made, v.until
	}
	if alike(subject, limits) {
		return r, false, ErrArgument
	}
	after := costReservation{settled: true, made: made, until: until, endMS: v.endMS, amounts: map[costKey]int64{}}
	written, longest := map[costKey]spending{}, int64(0)
	for _, l := range limits {
		longest = max(longest, l.length())
		key, ahead := l.key(subject), made > m.clock+l.length() // by a clock that has been set back since
		p, end, ok := l.at(made)
		if ahead {
			p, end, ok = l.at(m.clock)
		}
		if !ok && (made == m.clock || ahead) {
			return r, false, ErrArgument
		}
		s, amount, added := m.open(l, subject), CostReserve{Estimate: actual, InUnits: inUnits}.amount(l.Unit), false
		shown, _, _ := l.at(m.clock)
		before := s.spent(shown)
		estimate, reserved := v.amounts[key]
		after.amounts[key] = amount
		if reserved && amount > 0 {
			after.amounts[key] = estimate
		}
		if ok && !v.settled {
			held := counted{p, min(end, until)}
			if n := min(estimate, s.amounts[held]); reserved && !ahead && s.began <= made && s.amounts[held] > 0 {
				s.amounts[held] -= n
				added = true
			}
			if end > m.clock {
				s.add(p, end, amount)
				added = true
			}
		}
		row := CostRow{Spent: s.spent(shown)}
		row.Remaining = max(l.Budget-row.Spent, 0)
		r.Exceeded = r.Exceeded || row.Spent > l.Budget
		if end := m.clock + microseconds(penalty); penalty > 0 && row.Spent > l.Budget && row.Spent > before && end > s.penalty {
			s.penalty, s.penalised = end, microseconds(penalty)
		}
		r.Penalty = max(r.Penalty, duration(s.penalty-m.clock))
		r.Limits = append(r.Limits, row)
		if added {
			written[key] = s
		}
	}
	r.Outcome = map[bool]string{true: "settled", false: "unknown"}[known]
	if v.settled {
		r.Outcome = "repeated"
		return r, false, nil
	}
	for key, s := range written {
		m.write(key, s)
	}
	m.record(subject, receipt, after, longest)
	return r, true, nil
}

// Peek answers peek.
func (m *Cost) Peek(subject string, c CostReserve) (r CostPeekResult, err error) {
	a, err := m.judge(subject, c)
	if err != nil {
		return r, err
	}
	r = CostPeekResult{Allowed: a.Reason == "none", Reason: a.Reason, Status: "unknown", RetryAfter: a.RetryAfter, ResetAfter: a.ResetAfter, Limits: a.Limits}
	if v, ok := m.reservations[[2]string{subject, c.Receipt}]; ok {
		switch {
		case v.settled:
			r.Status = "settled"
		case v.until > m.clock:
			r.Status = "reserved"
		default:
			r.Status = "lapsed"
		}
	}
	return r, nil
}

// Reset answers reset.
func (m *Cost) Reset(subject string, limits []CostLimit) (existed bool) {
	for _, l := range limits {
		_, was := m.spendings[l.key(subject)]
		existed = existed || was
		delete(m.spendings, l.key(subject))
	}
	return existed
}

// Move sets the clock, and forgets what has expired.
func (m *Cost) Move(to time.Time) {
	m.clock = to.UnixMicro()
	maps.DeleteFunc(m.spendings, func(_ costKey, s spending) bool { return expired(m.clock, s.endMS) })
	maps.DeleteFunc(m.reservations, func(_ [2]string, v costReservation) bool { return expired(m.clock, v.endMS) })
}

// Expiries lists the keys of a subject, by suffix.
func (m *Cost) Expiries(subject string) map[string]int64 {
	ends := map[string]int64{}
	for key, s := range m.spendings {
		if key.subject == subject {
			ends[key.suffix()] = s.endMS
		}
	}
	for key, v := range m.reservations {
		if key[0] == subject {
			ends["reservation:"+fcall.Tag(fcall.Subject(key[1]))] = v.endMS
		}
	}
	return ends
}

// Clone copies the model.
func (m *Cost) Clone() *Cost {
	return &Cost{clock: m.clock, spendings: maps.Clone(m.spendings), reservations: maps.Clone(m.reservations)}
}
