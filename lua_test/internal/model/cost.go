package model

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
)

// Cost models reserve, settle, peek and reset of library cost, which guard's budgets are, too: what counts until when, summed for each call.
type Cost struct {
	clock        int64
	accounts     map[costKey]costAccount
	reservations map[[2]string]costReservation // by subject and receipt
}

// A costKey is an account: the budgets of a subject and a unit, "" for money.
type costKey struct{ subject, unit string }

// A span is a window, which slides, or the period that begins at start.
type span struct{ length, start int64 }

// A counted is what counts in a span until a time.
type counted struct {
	span  span
	until int64
}

// A costAccount holds amounts. Its map is never changed in place.
type costAccount struct {
	began, at int64 // the earliest and the last time of a write
	amounts   map[counted]int64
	penalty   int64 // when it ends
	punished  int64 // when it began
	endMS     int64 // the millisecond in which the key expires
}

// A costReservation is what a receipt has reserved, or settled.
type costReservation struct {
	settled     bool
	made, until int64 // the estimate counts until then
	amounts     map[costKey]int64
	spans       map[costKey][]span
	endMS       int64
}

// A CostLimit is a budget in micros, in a window, or in the periods that start at Previous, Start, Start+Window and After.
type CostLimit struct {
	Budget                 int64
	Window                 time.Duration
	Previous, Start, After time.Time
	Unit                   string // "" for money
}

// at returns the span in which a charge counts, and until when; ok is false outside of the limit's periods.
func (l CostLimit) at(now int64) (s span, until int64, ok bool) {
	length := microseconds(l.Window)
	if l.Start.IsZero() {
		return span{length: length}, sliceEnd(now, length), true
	}
	start := l.Start.UnixMicro()
	starts := []int64{l.Previous.UnixMicro(), start, start + length, l.After.UnixMicro()}
	for i, s := range starts[:3] {
		if s <= now && now < starts[i+1] {
			return span{starts[i+1] - s, s}, starts[i+1], true
		}
	}
	return span{}, 0, false
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
	Refused    int64 // the first budget of the account that refuses, from 1; 0 if none does
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
	return &Cost{accounts: map[costKey]costAccount{}, reservations: map[[2]string]costReservation{}}
}

// Covers reports whether the periods of all limits contain the time after a wait, and none begins meanwhile in which a clock that has been
// set back since has charged something.
func (m *Cost) Covers(subject string, limits []CostLimit, wait time.Duration) bool {
	return !slices.ContainsFunc(limits, func(l CostLimit) bool {
		now, _, _ := l.at(m.clock)
		then, _, ok := l.at(m.clock + microseconds(wait))
		return !ok || then != now && m.accounts[costKey{subject, l.Unit}].spent(then) > 0
	})
}

// open returns an account as a call sees it: without what has ended, and what a clock that has been set back has stored further ahead than
// a window.
func (m *Cost) open(key costKey) costAccount {
	a, ok := m.accounts[key]
	if !ok {
		return costAccount{began: m.clock, at: m.clock}
	}
	a.amounts = maps.Clone(a.amounts)
	maps.DeleteFunc(a.amounts, func(c counted, _ int64) bool {
		return c.until <= m.clock || c.until > m.clock+2*c.span.length+c.span.length/60
	})
	if a.penalty > m.clock+2*(a.penalty-a.punished) {
		a.penalty = 0
	}
	return a
}

func (a costAccount) spent(s span) (sum int64) {
	for c, n := range a.amounts {
		if c.span == s {
			sum += n
		}
	}
	return sum
}

func (a costAccount) last() (last int64) {
	for c := range a.amounts {
		last = max(last, c.until)
	}
	return last
}

func (a *costAccount) add(s span, until, n int64) {
	if a.amounts == nil {
		a.amounts = map[counted]int64{}
	}
	a.amounts[counted{s, until}] += n
}

// wait is how long until at most that much is spent in a span.
func (m *Cost) wait(a costAccount, s span, most int64) time.Duration {
	var ends []int64
	for c := range a.amounts {
		if c.span == s {
			ends = append(ends, c.until)
		}
	}
	spent := a.spent(s)
	for _, end := range slices.Sorted(slices.Values(ends)) {
		if spent -= a.amounts[counted{s, end}]; spent <= most {
			return duration(end - m.clock)
		}
	}
	panic("nothing that counts ends")
}

// keysOf returns the accounts of limits, in order.
func keysOf(subject string, limits []CostLimit) (keys []costKey) {
	for _, l := range limits {
		if k := (costKey{subject, l.Unit}); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

var costReasons = []string{"none", "budget", "penalty", "too_large"}

// A costAnswer is how a call stands, before it reserves.
type costAnswer struct {
	accounts map[costKey]costAccount
	amounts  map[costKey]int64 // to charge
	paid     map[costKey]int64 // what the call's receipt has paid after it
	skipped  map[costKey]bool  // accounts that a repeat pays nothing more
	free     bool              // it skips all
	CostReserveResult
}

// judge says how a reservation stands.
func (m *Cost) judge(subject string, c CostReserve) (r costAnswer, err error) {
	r = costAnswer{accounts: map[costKey]costAccount{}, amounts: map[costKey]int64{}, paid: map[costKey]int64{}, skipped: map[costKey]bool{}}
	r.Reason, r.free = "none", c.paid != nil
	refuse := func(key costKey, reason string, wait time.Duration) {
		r.RetryAfter = max(r.RetryAfter, wait)
		rank, above := slices.Index(costReasons, reason), slices.Index(costReasons, r.Reason)
		place := int64(1 + slices.IndexFunc(c.Limits, func(l CostLimit) bool { return l.Unit == key.unit }))
		if rank > above || rank == above && place < r.Refused { // the first account, also where another's budget is before its own
			r.Reason, r.Refused = reason, place
		}
	}
	for _, l := range c.Limits {
		if _, _, ok := l.at(m.clock); !ok {
			return r, ErrArgument
		}
	}
	for _, key := range keysOf(subject, c.Limits) {
		a := m.open(key)
		whole := max(c.amount(key.unit), c.paid[key])
		r.accounts[key], r.amounts[key], r.paid[key] = a, whole-c.paid[key], whole
		r.skipped[key] = c.paid != nil && whole == c.paid[key]
		r.free = r.free && r.skipped[key]
		if a.penalty > m.clock && !r.skipped[key] {
			refuse(key, "penalty", duration(a.penalty-m.clock))
		}
	}
	for _, l := range c.Limits {
		key := costKey{subject, l.Unit}
		a, least, whole := r.accounts[key], r.paid[key]-c.paid[key], r.paid[key]
		if c.AtMost {
			least = min(least, 1)
			whole = least
		}
		s, _, _ := l.at(m.clock)
		spent := a.spent(s)
		row := CostRow{Allowed: r.skipped[key] || whole <= l.Budget && least+spent <= l.Budget, Spent: spent, Remaining: max(l.Budget-spent, 0)}
		switch {
		case row.Allowed:
		case whole > l.Budget:
			refuse(key, "too_large", 0)
		default:
			row.RetryAfter = m.wait(a, s, l.Budget-least)
			refuse(key, "budget", row.RetryAfter)
		}
		if c.AtMost {
			r.amounts[key] = min(r.amounts[key], row.Remaining)
		}
		r.Limits = append(r.Limits, row)
	}
	if r.Reason == "too_large" {
		r.RetryAfter = 0
	}
	r.ResetAfter = m.reset(r.accounts)
	return r, nil
}

// reset is how long until nothing counts in the accounts.
func (m *Cost) reset(accounts map[costKey]costAccount) (wait time.Duration) {
	for _, a := range accounts {
		wait = max(wait, duration(a.last()-m.clock))
	}
	return wait
}

// paid reports whether a receipt has paid for a call before.
func (m *Cost) paid(subject string, c CostReserve) bool {
	v, ok := m.reservations[[2]string{subject, c.Receipt}]
	for _, key := range keysOf(subject, c.Limits) {
		before, charged := v.amounts[key]
		counts := v.settled || v.until > m.clock && m.open(key).began <= v.made
		ok = ok && charged && c.amount(key.unit) <= before && counts
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
	r = m.charge(subject, c, a)
	r.ResetAfter = m.reset(a.accounts)
	return r, true, nil
}

// free is the answer to a call that charges nothing.
func (m *Cost) free(subject string, c CostReserve, a costAnswer) CostReserveResult {
	r := a.CostReserveResult
	r.Allowed, r.Duplicate, r.Reason, r.Refused, r.RetryAfter = true, true, "none", 0, 0
	for i, l := range c.Limits {
		r.Limits[i].Allowed, r.Limits[i].RetryAfter = true, 0
		r.Limits[i].Charged = m.reservations[[2]string{subject, c.Receipt}].amounts[costKey{subject, l.Unit}]
	}
	return r
}

// charge reserves what was judged.
func (m *Cost) charge(subject string, c CostReserve, a costAnswer) CostReserveResult {
	v := costReservation{made: m.clock, amounts: map[costKey]int64{}, spans: map[costKey][]span{}}
	longest, held := int64(0), int64(1)<<60
	if c.Hold > 0 {
		held = sliceEnd(m.clock, microseconds(c.Hold))
	}
	r := a.CostReserveResult
	r.Allowed = true
	for i, l := range c.Limits {
		longest = max(longest, microseconds(l.Window))
		key, row := costKey{subject, l.Unit}, &r.Limits[i]
		if c.Unreserved && l.Unit != "" || a.skipped[key] {
			continue
		}
		s, until, _ := l.at(m.clock)
		if !slices.Contains(v.spans[key], s) {
			account := a.accounts[key]
			account.add(s, min(until, held), a.amounts[key])
			a.accounts[key], v.amounts[key], v.spans[key] = account, a.amounts[key], append(v.spans[key], s)
			v.until = max(v.until, min(until, held))
		}
		row.Charged, row.Spent = v.amounts[key], a.accounts[key].spent(s)
		row.Remaining = max(l.Budget-row.Spent, 0)
	}
	for key := range v.amounts {
		m.write(key, a.accounts[key])
	}
	if len(v.amounts) > 0 {
		m.record(subject, c.Receipt, v, longest)
	}
	return r
}

// write stores an account, and record a reservation.
func (m *Cost) write(key costKey, a costAccount) {
	if len(a.amounts) == 0 {
		return
	}
	a.at, a.began = m.clock, min(a.began, m.clock)
	a.endMS = expiry(m.clock, max(a.last(), a.penalty)-m.clock)
	m.accounts[key] = a
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
	after := costReservation{settled: true, made: made, until: until, endMS: v.endMS, amounts: map[costKey]int64{}, spans: map[costKey][]span{}}
	accounts, before, longest := map[costKey]costAccount{}, map[costKey]costAccount{}, int64(0)
	for _, l := range limits {
		longest = max(longest, microseconds(l.Window))
		key := costKey{subject, l.Unit}
		if _, ok := accounts[key]; !ok {
			before[key], accounts[key] = m.open(key), m.open(key)
		}
		ahead := made > m.clock+microseconds(l.Window)
		s, end, ok := l.at(made)
		if ahead { // by a clock that has been set back since
			s, end, ok = l.at(m.clock)
		}
		if !ok && made == m.clock {
			return r, false, ErrArgument
		}
		a, amount := accounts[key], CostReserve{Estimate: actual, InUnits: inUnits}.amount(l.Unit)
		after.amounts[key] = amount
		if estimate, reserved := v.amounts[key]; reserved && amount > 0 {
			after.amounts[key] = estimate
		}
		if !ok || v.settled || slices.Contains(after.spans[key], s) {
			continue
		}
		after.spans[key] = append(after.spans[key], s)
		held := counted{s, min(end, until)}
		if n := min(v.amounts[key], a.amounts[held]); !ahead && slices.Contains(v.spans[key], s) && a.began <= made && n > 0 {
			a.amounts[held] -= n
		}
		if end > m.clock {
			a.add(s, end, amount)
		}
		accounts[key] = a
	}
	r.Outcome = map[bool]string{true: "settled", false: "unknown"}[known]
	if v.settled {
		r.Outcome = "repeated"
	}
	for _, l := range limits {
		key := costKey{subject, l.Unit}
		a, row := accounts[key], CostRow{Remaining: l.Budget}
		if s, _, ok := l.at(m.clock); ok {
			row.Spent = a.spent(s)
			row.Remaining = max(l.Budget-row.Spent, 0)
			r.Exceeded = r.Exceeded || row.Spent > l.Budget
			if penalty > 0 && row.Spent > l.Budget && row.Spent > before[key].spent(s) {
				if end := m.clock + microseconds(penalty); end > a.penalty {
					a.penalty, a.punished = end, m.clock
				}
				accounts[key] = a
			}
		}
		r.Limits = append(r.Limits, row)
	}
	for key, a := range accounts {
		r.Penalty = max(r.Penalty, duration(a.penalty-m.clock))
		if !v.settled {
			m.write(key, a)
		}
	}
	if !v.settled {
		m.record(subject, receipt, after, longest)
	}
	return r, !v.settled, nil
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
func (m *Cost) Reset(subject, unit string) (existed bool) {
	_, existed = m.accounts[costKey{subject, unit}]
	delete(m.accounts, costKey{subject, unit})
	return existed
}

// Move sets the clock, and forgets what has expired.
func (m *Cost) Move(to time.Time) {
	m.clock = to.UnixMicro()
	maps.DeleteFunc(m.accounts, func(_ costKey, a costAccount) bool { return expired(m.clock, a.endMS) })
	maps.DeleteFunc(m.reservations, func(_ [2]string, v costReservation) bool { return expired(m.clock, v.endMS) })
}

// Expiries lists the keys of a subject, by suffix.
func (m *Cost) Expiries(subject string) map[string]int64 {
	ends := map[string]int64{}
	for key, a := range m.accounts {
		if key.subject == subject {
			ends[strings.TrimSuffix("spent:"+key.unit, ":")] = a.endMS
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
	return &Cost{clock: m.clock, accounts: maps.Clone(m.accounts), reservations: maps.Clone(m.reservations)}
}
