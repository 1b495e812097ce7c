package model

import (
	"maps"
	"math/big"
	"time"
)

// GCRA models gcra, gcra_peek, gcra_refund and gcra_reset: a bucket is the time at which it is full, as an exact fraction.
type GCRA struct {
	clock   int64
	buckets map[string]gcraBucket
}

// A gcraBucket is full at a time. Where tokens come in whole milliseconds only the key's expiry tells it, and every bucket
// expires when it is full. It knows the capacity of the call that wrote it: further ahead than twice that only a broken clock
// is.
type gcraBucket struct {
	full       *big.Rat // microseconds; nil where it is endMS
	endMS      int64
	capacityMS int64
}

// GCRACall has the arguments of gcra. Burst is limit where it is zero; the client's absent cost is 1 here.
type GCRACall struct {
	Limit  int64
	Period time.Duration
	Burst  int64
	Cost   int64
}

// GCRAResult is the answer of gcra and of gcra_peek.
type GCRAResult struct {
	Allowed    bool
	Remaining  int64
	ResetAfter time.Duration
	RetryAfter time.Duration
}

// GCRARefundResult is the answer of gcra_refund.
type GCRARefundResult struct {
	Refunded   bool
	Remaining  int64
	ResetAfter time.Duration
}

// longest is the most time in which a bucket may fill: 100 years.
var longest = big.NewRat(100*365*24*3600*1_000_000, 1)

// NewGCRA returns a model that knows no bucket.
func NewGCRA() *GCRA { return &GCRA{buckets: map[string]gcraBucket{}} }

// Tick is the precision of a call's times: a millisecond where tokens come in whole milliseconds, else a microsecond.
func (c GCRACall) Tick() time.Duration {
	if microseconds(c.Period)%(c.Limit*1000) == 0 {
		return time.Millisecond
	}
	return time.Microsecond
}

func (c GCRACall) burst() int64 {
	if c.Burst == 0 {
		return c.Limit
	}
	return c.Burst
}

// interval is the time in which one token comes, and capacity the one in which all do.
func (c GCRACall) interval() *big.Rat { return big.NewRat(microseconds(c.Period), c.Limit) }

func (c GCRACall) capacity() *big.Rat { return new(big.Rat).Mul(whole(c.burst()), c.interval()) }

// Take answers gcra.
func (m *GCRA) Take(subject string, c GCRACall) (r GCRAResult, changed bool, err error) {
	level, next, r, err := m.judge(subject, c)
	if err != nil {
		return GCRAResult{}, false, err
	}
	if !r.Allowed || c.Cost == 0 {
		r.ResetAfter = duration(ceil(level))
		return r, false, nil
	}
	r.ResetAfter = duration(ceil(next))
	m.store(subject, c, next)
	return r, true, nil
}

// AtMostResult is the answer of gcra_at_most and of fixed_window_at_most.
type AtMostResult struct {
	Allowed    bool
	Taken      int64
	Remaining  int64
	ResetAfter time.Duration
	RetryAfter time.Duration
	Expires    time.Time
}

// TakeAtMost answers gcra_at_most: the call's cost is the most.
func (m *GCRA) TakeAtMost(subject string, c GCRACall) (r AtMostResult, changed bool, err error) {
	some := c
	some.Cost = 0
	there, err := m.Peek(subject, some)
	if err != nil {
		return r, false, err
	}
	some.Cost = max(min(c.Cost, there.Remaining), 1)
	took, changed, err := m.Take(subject, some)
	r = AtMostResult{Allowed: took.Allowed, Remaining: took.Remaining, ResetAfter: took.ResetAfter, RetryAfter: took.RetryAfter}
	if took.Allowed {
		r.Taken, r.Expires = some.Cost, expires(m.clock, took.ResetAfter)
	}
	return r, changed, err
}

// store keeps a bucket that is full after that time, in the call's precision, and with the call's capacity; but one that is
// an expiry and stays one keeps its own, and so does one that a refund leaves above the call's.
func (m *GCRA) store(subject string, c GCRACall, level *big.Rat) {
	old := m.buckets[subject]
	if broken(m.level(subject, c), old) {
		old = gcraBucket{}
	}
	b := gcraBucket{endMS: expiry(m.clock, ceil(level)), capacityMS: (ceil(c.capacity()) + 999) / 1000}
	stays := c.Tick() == time.Millisecond && old.full == nil && level.Cmp(whole(old.capacityMS*1000)) <= 0
	if stays || level.Cmp(c.capacity()) > 0 {
		b.capacityMS = old.capacityMS
	}
	if c.Tick() == time.Microsecond {
		b.full = new(big.Rat).Add(whole(m.clock), level)
	}
	m.buckets[subject] = b
}

// broken reports whether a bucket is further ahead than an empty one, by more than that.
func broken(level *big.Rat, b gcraBucket) bool { return level.Cmp(whole(2*b.capacityMS*1000)) > 0 }

// expires is when a refund does: no later than the end of a span, in whole milliseconds of the clock.
func expires(clock int64, span time.Duration) time.Time {
	return time.UnixMilli(clock / 1000).Add(span)
}

// Refund answers gcra_refund. From expires on it gives back nothing, unless that is zero.
func (m *GCRA) Refund(subject string, c GCRACall, expires time.Time) (r GCRARefundResult, changed bool, err error) {
	back := c.Cost
	c.Cost = 0
	level, _, peek, err := m.judge(subject, c)
	if err == nil && !expires.IsZero() && m.clock >= expires.UnixMicro() {
		return GCRARefundResult{Remaining: peek.Remaining, ResetAfter: duration(ceil(level))}, false, nil
	}
	if err != nil || level.Sign() == 0 {
		return GCRARefundResult{Remaining: peek.Remaining}, false, err
	}
	level = new(big.Rat).Sub(level, new(big.Rat).Mul(c.interval(), whole(back)))
	if level.Sign() <= 0 {
		m.Reset(subject)
	} else {
		m.store(subject, c, level)
	}
	_, _, peek, err = m.judge(subject, c)
	return GCRARefundResult{Refunded: true, Remaining: peek.Remaining, ResetAfter: duration(max(ceil(level), 0))}, true, err
}

// Peek answers gcra_peek: what is there before the call.
func (m *GCRA) Peek(subject string, c GCRACall) (GCRAResult, error) {
	level, _, r, err := m.judge(subject, c)
	if err != nil {
		return GCRAResult{}, err
	}
	if r.Allowed {
		r.Remaining += c.Cost
	}
	r.ResetAfter = duration(ceil(level))
	return r, nil
}

// Reset answers gcra_reset.
func (m *GCRA) Reset(subject string) (existed bool) {
	_, existed = m.buckets[subject]
	delete(m.buckets, subject)
	return existed
}

// judge returns the time until the bucket is full, before the call and after it, and all of the answer but reset_after.
func (m *GCRA) judge(subject string, c GCRACall) (level, next *big.Rat, r GCRAResult, err error) {
	interval, capacity := c.interval(), c.capacity()
	if c.Cost > c.burst() || capacity.Cmp(longest) > 0 {
		return nil, nil, r, ErrArgument
	}
	level = m.level(subject, c)
	if broken(level, m.buckets[subject]) {
		level = new(big.Rat)
	}
	next = new(big.Rat).Add(level, new(big.Rat).Mul(whole(c.Cost), interval))
	over := new(big.Rat).Sub(next, capacity)
	after := next
	if over.Sign() > 0 {
		r.RetryAfter = duration(ceil(over))
		after = level
	} else {
		r.Allowed = true
	}
	if room := new(big.Rat).Sub(capacity, after); room.Sign() > 0 {
		r.Remaining = floor(room.Quo(room, interval))
	}
	return level, next, r, nil
}

// level is the time until the bucket is full, in the call's precision: fractions that another limit left are rounded up.
func (m *GCRA) level(subject string, c GCRACall) *big.Rat {
	b, ok := m.buckets[subject]
	if !ok {
		return new(big.Rat)
	}
	if c.Tick() == time.Millisecond {
		return whole((b.endMS - m.clock/1000) * 1000)
	}
	full := b.full
	if full == nil {
		full = whole(b.endMS * 1000)
	}
	level := new(big.Rat).Sub(full, whole(m.clock))
	if level.Sign() < 0 {
		return new(big.Rat)
	}
	return level.SetFrac(roundUp(level.Mul(level, whole(c.Limit))), big.NewInt(c.Limit))
}

// Move sets the clock, and forgets what has expired.
func (m *GCRA) Move(to time.Time) {
	m.clock = to.UnixMicro()
	maps.DeleteFunc(m.buckets, func(_ string, b gcraBucket) bool { return expired(m.clock, b.endMS) })
}

// Expiries lists the keys of a subject, by suffix.
func (m *GCRA) Expiries(subject string) map[string]int64 {
	if b, ok := m.buckets[subject]; ok {
		return map[string]int64{"gcra": b.endMS}
	}
	return map[string]int64{}
}

// Clone copies the model. What Take has stored is never changed in place.
func (m *GCRA) Clone() *GCRA {
	return &GCRA{clock: m.clock, buckets: maps.Clone(m.buckets)}
}

func whole(n int64) *big.Rat { return big.NewRat(n, 1) }

// floor rounds a number that is not negative down; ceil rounds it up.
func floor(r *big.Rat) int64 { return new(big.Int).Quo(r.Num(), r.Denom()).Int64() }

func ceil(r *big.Rat) int64 { return roundUp(r).Int64() }

func roundUp(r *big.Rat) *big.Int {
	n := new(big.Int).Add(r.Num(), r.Denom())
	return n.Sub(n, big.NewInt(1)).Quo(n, r.Denom())
}
