package model

import (
	"cmp"
	"maps"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
)

// Check models library ratelimit, and the limits of library guard: a function of one limit is a call of check with one.
type Check struct {
	clock    int64
	limits   map[limitKey]limitState
	places   *Concurrency
	receipts map[limitKey]receipt
	inexact  bool
}

// A CheckLimit is a limit of a kind: sliding_log, sliding_counter, fixed_window, gcra, quota or concurrency. A Burst of zero is absent.
type CheckLimit struct {
	Name   string
	Kind   string
	Limit  int64
	Window time.Duration
	Burst  int64
	Cost   int64
	Shadow bool
	Global bool

	Previous, Start, Next, After time.Time // of a quota, which has no window

	holder string // of the call, if the limit is a concurrency
}

// CheckCall has the arguments of check; a zero Weight, Receipt or Dedup is absent. Only guard's calls have a Holder.
type CheckCall struct {
	Limits  []CheckLimit
	Weight  int64
	Receipt string
	Dedup   time.Duration
	Look    bool
	Holder  string
}

// A CheckRow is what a call tells about one limit.
type CheckRow struct {
	Allowed    bool
	Remaining  int64
	ResetAfter time.Duration
	RetryAfter time.Duration
}

// CheckResult is the answer of check.
type CheckResult struct {
	Allowed    bool
	Duplicate  bool
	Refused    int64
	RetryAfter time.Duration
	At         time.Time // zero where nothing needed the clock
	Limits     []CheckRow
}

// NewCheck returns a model that knows no subject.
func NewCheck() *Check {
	return &Check{limits: map[limitKey]limitState{}, places: NewConcurrency(), receipts: map[limitKey]receipt{}}
}

// Check answers check.
func (m *Check) Check(subject string, c CheckCall) (r CheckResult, changed bool, err error) {
	key := limitKey{subject, fcall.Suffix("receipt", c.Receipt)}
	known := m.receipts[key]
	repeat := c.Receipt != "" && known.known(m.clock, c.dedup())
	paid := int64(0)
	if repeat {
		paid = known.paid
	}
	r, err = m.judge(subject, c, repeat, paid)
	if c.Receipt != "" || slices.ContainsFunc(c.Limits, CheckLimit.timed) {
		r.At = m.Now()
	}
	if err != nil || !r.Allowed || c.Look {
		return r, false, err
	}
	costs, changed := m.takeAll(subject, c, r, paid)
	weight := max(c.Weight, 1)
	if c.Receipt != "" && (repeat && weight > paid || !repeat && costs) {
		m.receipts[key] = known.paidBy(weight, m.clock, c.dedup(), repeat)
		changed = true
	}
	return r, changed, nil
}

// takeAll takes from each limit that allows, as all do but shadows. It reports whether any limit costs, and whether anything was taken.
func (m *Check) takeAll(subject string, c CheckCall, r CheckResult, paid int64) (costs, took bool) {
	for i, l := range c.weighed(r.Duplicate, paid) {
		costs = costs || l.Cost > 0
		if l.Cost > 0 && r.Limits[i].Allowed {
			row, changed := m.take(subject, l)
			r.Limits[i], took = row, took || changed
		}
	}
	return costs, took
}

// judge says how the limits stand for a call whose receipt is known, or not, and has paid for so much.
func (m *Check) judge(subject string, c CheckCall, known bool, paid int64) (r CheckResult, err error) {
	r = CheckResult{Allowed: true, Duplicate: known}
	if err := c.together(known, paid); err != nil {
		return CheckResult{}, err
	}
	for i, l := range c.weighed(known, paid) {
		never := l.Cost > l.most() // a shadow limit refuses what is an error in any other
		l.Cost = min(l.Cost, l.most())
		row, err := m.look(subject, l)
		if err != nil {
			return CheckResult{}, err
		}
		if never {
			row.Allowed, row.RetryAfter = false, 0
		}
		if known && l.Cost == 0 && !l.countsRepeats() {
			row.Allowed, row.RetryAfter = true, 0
		}
		if r.Limits = append(r.Limits, row); !row.Allowed && !c.Limits[i].Shadow {
			r.Allowed = false
			r.Refused++
			r.RetryAfter = max(r.RetryAfter, row.RetryAfter)
		}
	}
	return r, nil
}

// SlidingLog answers sliding_log, which has receipts of its own.
func (m *Check) SlidingLog(subject string, l CheckLimit, id string, dedup time.Duration) (row CheckRow, duplicate bool, count int64, changed bool) {
	key := limitKey{subject, fcall.Suffix(fcall.Suffix(fcall.Suffix("receipt", l.Window), l.Name), id)}
	span := microseconds(cmp.Or(dedup, l.Window))
	duplicate = id != "" && m.receipts[key].known(m.clock, span)
	if duplicate {
		l.Cost = 0
	}
	row, _ = m.look(subject, l)
	count = m.limits[limitKey{subject, l.suffix()}].live(l, m.clock)
	if row.Allowed && l.Cost > 0 {
		row, changed = m.take(subject, l)
		count++
		if id != "" {
			m.receipts[key] = receipt{}.paidBy(1, m.clock, span, false)
		}
	}
	if duplicate {
		row.Allowed, row.RetryAfter = true, 0
	}
	return row, duplicate, count, changed
}

// AtMost answers a function of one limit with at_most: the cost is the most.
func (m *Check) AtMost(subject string, l CheckLimit) (row CheckRow, taken int64, changed bool, err error) {
	if err := l.alone(); err != nil {
		return row, 0, false, err
	}
	l.Cost = min(l.Cost, l.most())
	row, err = m.look(subject, l)
	if err == nil && !row.Allowed && l.Cost > 1 {
		l.Cost = max(row.Remaining, 1)
		row, err = m.look(subject, l)
	}
	if err != nil || !row.Allowed || l.Cost == 0 {
		return row, 0, false, err
	}
	row, changed = m.take(subject, l)
	return row, l.Cost, changed, nil
}

// One answers a function of one limit.
func (m *Check) One(subject string, l CheckLimit) (row CheckRow, taken int64, changed bool, err error) {
	if l.alone() != nil || l.Cost > l.most() {
		return row, 0, false, ErrArgument
	}
	row, err = m.look(subject, l)
	if err != nil || !row.Allowed || l.Cost == 0 {
		return row, 0, false, err
	}
	row, changed = m.take(subject, l)
	return row, l.Cost, changed, nil
}

// Reset answers reset.
func (m *Check) Reset(subject string, limits []CheckLimit, id string) (existed bool, err error) {
	if err := (CheckCall{Limits: limits}).alone(); err != nil {
		return false, err
	}
	if key := (limitKey{subject, fcall.Suffix("receipt", id)}); id != "" {
		_, existed = m.receipts[key]
		delete(m.receipts, key)
	}
	for _, l := range limits {
		key := limitKey{subject, l.suffix()}
		_, ok := m.limits[key]
		existed = existed || ok
		delete(m.limits, key)
	}
	return existed, nil
}

// Refund answers refund: left is what the call answered for each limit, or nothing.
func (m *Check) Refund(subject string, c CheckCall, at time.Time, age time.Duration, left []time.Duration) (refunded bool, err error) {
	key := limitKey{subject, fcall.Suffix("receipt", c.Receipt)}
	if _, ok := m.receipts[key]; c.alone() == nil && len(left) <= len(c.Limits) && c.Receipt != "" && !ok {
		return false, nil
	}
	if len(left) > 0 && len(left) != len(c.Limits) {
		return false, ErrArgument
	}
	back, err := m.refundable(subject, c, at, age, left)
	if err != nil {
		return false, err
	}
	if c.Receipt != "" {
		delete(m.receipts, key)
	}
	return m.giveBack(subject, back), nil
}

// A given is a limit whose charge is to be given back, and until when that counts; 0 if it is not known.
type given struct {
	CheckLimit
	until int64
}

func (m *Check) refundable(subject string, c CheckCall, at time.Time, age time.Duration, left []time.Duration) (back []given, err error) {
	if err := c.alone(); err != nil {
		return nil, err
	}
	decided := m.clock - microseconds(age)
	if !at.IsZero() {
		decided = at.UnixMicro()
	}
	for i, l := range c.weighed(false, 0) {
		g := given{CheckLimit: l}
		if len(left) > 0 {
			g.until = decided + microseconds(left[i])
		}
		if l.Cost == 0 || len(left) > 0 && m.clock >= g.until/1000*1000 {
			continue
		}
		if l.Cost > l.most() && !l.Shadow || l.Kind == "concurrency" && l.holder == "" {
			return nil, ErrArgument
		}
		l.Cost = min(l.Cost, l.most())
		if _, err := m.look(subject, l); err != nil {
			return nil, err
		}
		if g.Cost <= g.most() {
			back = append(back, g)
		}
	}
	return back, nil
}

func (m *Check) giveBack(subject string, back []given) (refunded bool) {
	for _, g := range back {
		if g.Kind == "concurrency" {
			released := m.places.release(g.of(subject), g.holder)
			refunded = refunded || released
			continue
		}
		key := limitKey{subject, g.suffix()}
		next, ok := m.limits[key].refund(g.CheckLimit, m.clock, g.until)
		if refunded = refunded || ok; ok {
			m.store(key, next)
		}
	}
	return refunded
}

func (m *Check) store(key limitKey, s limitState) {
	if s.endMS == 0 {
		delete(m.limits, key)
		return
	}
	m.limits[key] = s
}

// Remembers reports whether a receipt is stored, known or not.
func (m *Check) Remembers(subject, receipt string) bool {
	_, ok := m.receipts[limitKey{subject, fcall.Suffix("receipt", receipt)}]
	return ok
}

// dedup is how long a receipt is known.
func (c CheckCall) dedup() int64 {
	longest := int64(0)
	for _, l := range c.Limits {
		longest = max(longest, microseconds(l.length()))
	}
	return microseconds(cmp.Or(c.Dedup, duration(longest)))
}

// length is a limit's window, or a quota's period.
func (l CheckLimit) length() time.Duration {
	if l.Kind == "quota" {
		return l.Next.Sub(l.Start)
	}
	return l.Window
}

// countsRepeats reports whether a limit costs a repeat of a receipt as much as its first call, which may still hold its places.
func (l CheckLimit) countsRepeats() bool { return l.Global || l.Kind == "concurrency" }

// weighed are the limits with what a call of this weight costs, whose receipt has paid for so much: a log counts requests.
func (c CheckCall) weighed(known bool, paid int64) []CheckLimit {
	limits := slices.Clone(c.Limits)
	for i := range limits {
		l, weight := &limits[i], max(c.Weight, 1)
		if l.holder = c.Holder; known && !l.countsRepeats() {
			weight = max(weight-paid, 0)
		}
		switch {
		case l.Kind != "sliding_log":
			l.Cost = times(l.Cost, weight)
		case known && !l.countsRepeats():
			l.Cost = 0
		}
	}
	return limits
}

// times is a cost's multiple, or what no limit allows if that is too large for a number.
func times(cost, weight int64) int64 {
	if weight > 0 && cost > math.MaxInt64/2/weight {
		return math.MaxInt64 / 2
	}
	return cost * weight
}

// most is the highest cost that the limit can allow.
func (l CheckLimit) most() int64 {
	if l.Kind == "concurrency" {
		return min(l.Limit, 1000)
	}
	return cmp.Or(l.Burst, l.Limit)
}

// alone reports whether a limit can be, whatever a call does with it.
func (l CheckLimit) alone() error {
	if (l.Kind == "sliding_log" || l.Kind == "concurrency") && l.Limit > 1_000_000 || l.Burst != 0 && l.Kind != "gcra" || l.Kind == "sliding_log" && l.Cost > 1 {
		return ErrArgument
	}
	if l.Kind == "gcra" && (l.even() != nil || l.Burst > 0 && l.tokens(l.Burst).Cmp(new(big.Rat).SetInt64(3_153_600_000_000_000)) > 0) {
		return ErrArgument
	}
	return nil
}

// alone reports whether each limit can be.
func (c CheckCall) alone() error {
	for _, l := range c.Limits {
		if err := l.alone(); err != nil {
			return err
		}
	}
	return nil
}

// together reports whether a call can have its limits, whatever a subject has used.
func (c CheckCall) together(known bool, paid int64) error {
	same := map[string]bool{}
	for _, l := range c.weighed(known, paid) {
		if l.alone() != nil || same[l.suffix()] || l.Cost > l.most() && !l.Shadow || l.Kind == "concurrency" && l.holder == "" {
			return ErrArgument
		}
		same[l.suffix()] = true
	}
	return nil
}

// timed reports whether deciding takes the clock: where an expiry alone decides about a key it does not.
func (l CheckLimit) timed() bool { return l.Tick() < time.Millisecond }

// of is the limit as a subject of the model of places.
func (l CheckLimit) of(subject string) string { return subject + "\x00" + l.suffix() }

// Tick is the precision of a limit's times.
func (l CheckLimit) Tick() time.Duration {
	switch l.Kind {
	case "sliding_log", "quota", "concurrency":
		return time.Microsecond
	}
	return time.Millisecond
}

// look says how one limit stands.
func (m *Check) look(subject string, l CheckLimit) (row CheckRow, err error) {
	if l.Kind == "concurrency" {
		if l.holder == "" {
			return row, ErrArgument
		}
		return m.places.look(l.of(subject), l.holder, l.Limit, l.Cost), nil
	}
	s := m.limits[limitKey{subject, l.suffix()}]
	m.inexact = m.inexact || s.limit != 0 && s.limit != l.Limit
	at, err := s.lookAt(l, m.clock)
	return at.CheckRow, err
}

// Inexact reports whether a gcra was asked about a bucket that one with another limit had written, at whose rate it fills meanwhile. Its
// retry_after is not exact then.
func (m *Check) Inexact() bool { return m.inexact }

// take takes from one limit that allows it. It reports whether that changes anything.
func (m *Check) take(subject string, l CheckLimit) (row CheckRow, changed bool) {
	if l.Kind == "concurrency" {
		return m.places.take(l.of(subject), l.holder, l.Limit, l.Cost, l.Window)
	}
	key := limitKey{subject, l.suffix()}
	at, _ := m.limits[key].lookAt(l, m.clock)
	m.store(key, at.next)
	return CheckRow{Allowed: true, Remaining: at.Remaining - l.Cost, ResetAfter: at.reset}, true
}

// Now is the clock.
func (m *Check) Now() time.Time { return time.UnixMicro(m.clock) }

// Move sets the clock, and forgets what has expired.
func (m *Check) Move(to time.Time) {
	m.clock = to.UnixMicro()
	m.places.Move(to)
	maps.DeleteFunc(m.limits, func(_ limitKey, s limitState) bool { return expired(m.clock, s.endMS) })
	maps.DeleteFunc(m.receipts, func(_ limitKey, r receipt) bool { return expired(m.clock, r.endMS) })
}

// Clone copies the model.
func (m *Check) Clone() *Check {
	return &Check{m.clock, maps.Clone(m.limits), m.places.Clone(), maps.Clone(m.receipts), m.inexact}
}

// Expiries lists the keys of a subject, by suffix.
func (m *Check) Expiries(subject string) map[string]int64 {
	ends := map[string]int64{}
	for key, s := range m.limits {
		if key.subject == subject {
			ends[key.suffix] = s.endMS
		}
	}
	for key, r := range m.receipts {
		if key.subject == subject {
			ends[key.suffix] = r.endMS
		}
	}
	for its := range m.places.subjects {
		if l := len(subject); len(its) > l && its[:l] == subject && its[l] == 0 {
			if end, ok := m.places.Expiries(its)["holders"]; ok {
				ends[its[l+1:]] = end
			}
		}
	}
	return ends
}
