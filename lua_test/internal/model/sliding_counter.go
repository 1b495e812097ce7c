package model

import (
	"maps"
	"math/big"
	"sort"
	"time"
)

// SlidingCounter models sliding_counter, sliding_counter_peek, sliding_counter_refund and sliding_counter_reset: what was
// taken in a window and in the one before it.
type SlidingCounter struct {
	clock    int64
	subjects map[string]counterPair
}

// A counterPair is of the window that begins two windows' lengths before endMS, the millisecond in which its key expires. It
// was written by a window shorter than bound, a power of two in milliseconds.
type counterPair struct{ before, current, endMS, bound int64 }

// longestCounted is the longest window of a sliding_counter, and mostCounted what it counts to.
const (
	longestCounted = 90 * 24 * time.Hour
	mostCounted    = 1_000_000_000_000
)

// NewSlidingCounter returns a model that knows no subject.
func NewSlidingCounter() *SlidingCounter {
	return &SlidingCounter{subjects: map[string]counterPair{}}
}

// Take answers sliding_counter.
func (m *SlidingCounter) Take(subject string, c WindowCall) (r WindowResult, changed bool, err error) {
	r, err = m.Peek(subject, c)
	if err != nil || !r.Allowed || c.Cost == 0 {
		return r, false, err
	}
	now, window := m.nowMS(), milliseconds(c.Window)
	stored := m.subjects[subject]
	p := stored.at(now, window).begun(stored, now, window)
	p.current += c.Cost
	m.subjects[subject] = p
	r.Remaining -= c.Cost
	r.ResetAfter = p.forgotten(now, window)
	return r, true, nil
}

// Peek answers sliding_counter_peek.
func (m *SlidingCounter) Peek(subject string, c WindowCall) (r WindowResult, err error) {
	if c.Cost > c.Limit || c.Window > longestCounted {
		return r, ErrArgument
	}
	now, window := m.nowMS(), milliseconds(c.Window)
	stored := m.subjects[subject]
	taken := stored.at(now, window).taken(now, window)
	r = WindowResult{Allowed: taken+c.Cost <= c.Limit, Remaining: max(c.Limit-taken, 0), ResetAfter: stored.at(now, window).forgotten(now, window)}
	if !r.Allowed {
		// If nothing else happens the estimate only falls, and when the key expires nothing is left.
		wait := sort.Search(int(stored.endMS-now), func(ms int) bool {
			then := now + int64(ms)
			return stored.at(then, window).taken(then, window)+c.Cost <= c.Limit
		})
		r.RetryAfter = time.Duration(wait) * time.Millisecond
	}
	return r, nil
}

// Refund answers sliding_counter_refund.
func (m *SlidingCounter) Refund(subject string, c WindowCall) (r WindowRefundResult, changed bool) {
	return m.refund(subject, c, false)
}

// refund gives back to this window, unless it was taken in the one before, and the rest to the one before.
func (m *SlidingCounter) refund(subject string, c WindowCall, takenBefore bool) (r WindowRefundResult, changed bool) {
	now, window := m.nowMS(), milliseconds(c.Window)
	stored := m.subjects[subject]
	p := stored.at(now, window).begun(stored, now, window)
	current := min(p.current, c.Cost)
	if takenBefore {
		current = 0
	}
	before := min(p.before, c.Cost-current)
	p.current -= current
	p.before -= before
	r = WindowRefundResult{Refunded: current + before, Remaining: max(c.Limit-p.taken(now, window), 0), ResetAfter: p.forgotten(now, window)}
	switch {
	case r.Refunded == 0:
		return r, false
	case p.current+p.before == 0:
		delete(m.subjects, subject)
	default:
		m.subjects[subject] = p
	}
	return r, true
}

// Reset answers sliding_counter_reset.
func (m *SlidingCounter) Reset(subject string) (existed bool) {
	_, existed = m.subjects[subject]
	delete(m.subjects, subject)
	return existed
}

func (m *SlidingCounter) nowMS() int64 { return m.clock / 1000 }

// at is the pair as of a time: in the next window the current count is the previous one, and after that both are 0. A pair
// whose window begins further ahead than its length is from a wrong clock. Where both are 0 a window begins now. The count of a
// shorter window is all previous.
func (p counterPair) at(now, window int64) counterPair {
	bound := int64(1)
	for bound <= window {
		bound *= 2
	}
	switch {
	case p.endMS <= now || p.endMS > now+3*p.bound:
		return counterPair{endMS: now + 2*window, bound: bound}
	case p.bound <= window:
		return counterPair{before: min(p.before+p.current, mostCounted), endMS: p.endMS + window, bound: bound}
	case p.endMS-window <= now:
		return counterPair{before: p.current, endMS: p.endMS + window, bound: bound}
	}
	return p
}

// begun is a pair that a call writes where another one was stored: a window that begins does not begin ahead of the clock.
func (p counterPair) begun(stored counterPair, now, window int64) counterPair {
	if p.endMS != stored.endMS {
		p.endMS = min(p.endMS, now+2*window)
	}
	return p
}

// taken is the estimate of what was taken in the last window's length, rounded up: of the window before counts as much as
// still lies in it. A window that begins ahead of the clock begins now.
func (p counterPair) taken(now, window int64) int64 {
	lies := p.endMS - window - max(now, p.endMS-2*window)
	return p.current + ceil(new(big.Rat).Mul(whole(p.before), big.NewRat(lies, window)))
}

// forgotten is the time until nothing counts.
func (p counterPair) forgotten(now, window int64) time.Duration {
	switch {
	case p.current > 0:
		return time.Duration(p.endMS-now) * time.Millisecond
	case p.before > 0:
		return time.Duration(p.endMS-window-now) * time.Millisecond
	}
	return 0
}

// Move sets the clock, and forgets what has expired.
func (m *SlidingCounter) Move(to time.Time) {
	m.clock = to.UnixMicro()
	maps.DeleteFunc(m.subjects, func(_ string, p counterPair) bool { return expired(m.clock, p.endMS) })
}

// Expiries lists the keys of a subject, by suffix.
func (m *SlidingCounter) Expiries(subject string) map[string]int64 {
	if p, ok := m.subjects[subject]; ok {
		return map[string]int64{"counter": p.endMS}
	}
	return map[string]int64{}
}

// Clone copies the model.
func (m *SlidingCounter) Clone() *SlidingCounter {
	return &SlidingCounter{clock: m.clock, subjects: maps.Clone(m.subjects)}
}
