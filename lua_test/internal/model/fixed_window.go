package model

import (
	"maps"
	"slices"
	"time"
)

// FixedWindow models fixed_window, fixed_window_peek, fixed_window_refund and fixed_window_reset: for each length of a window what
// was taken, by all callers, and when it ends.
type FixedWindow struct {
	clock    int64
	subjects map[string]fixedWindows
}

// fixedWindows are a subject's, that of the caller that was admitted last first. The zero ones mean that there is no key.
type fixedWindows struct {
	all   []fixedWindow
	endMS int64 // the millisecond in which the key expires
}

// A fixedWindow lasts to the beginning of the millisecond endMS. One in which nothing is taken has not begun.
type fixedWindow struct{ length, taken, endMS int64 }

// mostWindows is how many lengths are known of a subject.
const mostWindows = 8

// WindowCall has the arguments of fixed_window and of sliding_counter; the client's absent cost is 1 here.
type WindowCall struct {
	Limit  int64
	Window time.Duration
	Cost   int64
}

// WindowResult is the answer of fixed_window and of sliding_counter, and of their peeks.
type WindowResult struct {
	Allowed    bool
	Remaining  int64
	ResetAfter time.Duration
	RetryAfter time.Duration
}

// WindowRefundResult is the answer of fixed_window_refund and of sliding_counter_refund.
type WindowRefundResult struct {
	Refunded   int64
	Remaining  int64
	ResetAfter time.Duration
}

// NewFixedWindow returns a model that knows no window.
func NewFixedWindow() *FixedWindow { return &FixedWindow{subjects: map[string]fixedWindows{}} }

// Take answers fixed_window.
func (m *FixedWindow) Take(subject string, c WindowCall) (r WindowResult, changed bool, err error) {
	r, err = m.Peek(subject, c)
	if err != nil || !r.Allowed || c.Cost == 0 {
		return r, false, err
	}
	own, others, _ := m.goingOn(subject, milliseconds(c.Window))
	windows := fixedWindows{all: slices.Concat([]fixedWindow{own}, others)}
	windows.all = windows.all[:min(len(windows.all), mostWindows)]
	for i := range windows.all {
		w := &windows.all[i]
		if w.endMS == 0 {
			w.endMS = m.clock/1000 + w.length
		}
		w.taken += c.Cost
		windows.endMS = max(windows.endMS, w.endMS)
	}
	m.subjects[subject] = windows
	own = windows.all[0]
	return WindowResult{Allowed: true, Remaining: c.Limit - own.taken, ResetAfter: m.until(own.endMS)}, true, nil
}

// TakeAtMost answers fixed_window_at_most: the call's cost is the most.
func (m *FixedWindow) TakeAtMost(subject string, c WindowCall) (r AtMostResult, changed bool) {
	some := c
	some.Cost = 1
	there, _ := m.Peek(subject, some)
	some.Cost = max(min(c.Cost, there.Remaining), 1)
	took, changed, _ := m.Take(subject, some)
	r = AtMostResult{Allowed: took.Allowed, Remaining: took.Remaining, ResetAfter: took.ResetAfter, RetryAfter: took.RetryAfter}
	if took.Allowed {
		r.Taken, r.Expires = some.Cost, expires(m.clock, took.ResetAfter)
	}
	return r, changed
}

// Peek answers fixed_window_peek.
func (m *FixedWindow) Peek(subject string, c WindowCall) (r WindowResult, err error) {
	if c.Cost > c.Limit {
		return r, ErrArgument
	}
	own, others, known := m.goingOn(subject, milliseconds(c.Window))
	r = WindowResult{Allowed: own.taken+c.Cost <= c.Limit, Remaining: max(c.Limit-own.taken, 0), ResetAfter: m.until(own.endMS)}
	switch {
	case r.Allowed:
	case known:
		r.RetryAfter = r.ResetAfter
	default:
		// Until it would begin behind each window that leaves no room.
		for _, w := range others {
			if w.taken+c.Cost > c.Limit {
				r.RetryAfter = max(r.RetryAfter, m.until(min(w.endMS-w.length+own.length, w.endMS)))
			}
		}
		r.RetryAfter = m.pastThoseAhead(subject, c, r.RetryAfter)
		r.ResetAfter = max(r.ResetAfter, r.RetryAfter)
	}
	return r, nil
}

// pastThoseAhead extends the wait of a length that is not known: when the clock was set back, a window that is too far ahead of it may be
// going on by the time that the wait is over.
func (m *FixedWindow) pastThoseAhead(subject string, c WindowCall, wait time.Duration) time.Duration {
	for range m.subjects[subject].all {
		for _, w := range m.subjects[subject].all {
			now := m.clock/1000 + int64(wait/time.Millisecond)
			left := w.endMS - now
			tooFar := w.endMS-m.clock/1000 > 2*w.length
			if tooFar && left > 0 && left <= 2*w.length && w.taken+c.Cost > c.Limit {
				wait += time.Duration(max(min(milliseconds(c.Window)-w.length+left, left), 0)) * time.Millisecond
			}
		}
	}
	return wait
}

// Refund answers fixed_window_refund. Other windows give back what surely counted in them: those that began no later. From expires on nothing
// is given back, unless that is zero.
func (m *FixedWindow) Refund(subject string, c WindowCall, expires time.Time) (r WindowRefundResult, changed bool) {
	if !expires.IsZero() && m.clock >= expires.UnixMicro() {
		c.Cost = 0
	}
	own, others, known := m.goingOn(subject, milliseconds(c.Window))
	if known {
		r.Refunded = min(own.taken, c.Cost)
	}
	r.Remaining = max(c.Limit-own.taken+r.Refunded, 0)
	if r.Refunded == 0 {
		r.ResetAfter = m.until(own.endMS)
		return r, false
	}
	windows, since, taken := fixedWindows{endMS: m.subjects[subject].endMS}, m.begins(own), int64(0)
	for _, w := range slices.Concat([]fixedWindow{own}, others) {
		if w.endMS > 0 && m.begins(w) <= since {
			w.taken = max(w.taken-r.Refunded, 0)
		}
		if w.taken == 0 {
			w.endMS = 0
		}
		windows.all = append(windows.all, w)
		taken += w.taken
	}
	r.ResetAfter = m.until(windows.all[0].endMS)
	if m.subjects[subject] = windows; taken == 0 {
		delete(m.subjects, subject)
	}
	return r, true
}

// Reset answers fixed_window_reset.
func (m *FixedWindow) Reset(subject string) (existed bool) {
	_, existed = m.subjects[subject]
	delete(m.subjects, subject)
	return existed
}

// goingOn returns a subject's window of that length and the others. A window that is over has not begun again, and one that
// begins further ahead than its length is from a wrong clock. A length that is not known begins with the oldest window that is going
// on and inside of it.
func (m *FixedWindow) goingOn(subject string, length int64) (own fixedWindow, others []fixedWindow, known bool) {
	own = fixedWindow{length: length}
	for _, w := range m.subjects[subject].all {
		if left := w.endMS - m.clock/1000; left <= 0 || left > 2*w.length {
			w = fixedWindow{length: w.length}
		}
		if w.length == length {
			own, known = w, true
		} else {
			others = append(others, w)
		}
	}
	for _, w := range others {
		if end := m.begins(w) + length; !known && w.endMS > 0 && end > m.clock/1000 {
			own.taken = max(own.taken, w.taken)
			if own.endMS == 0 || end < own.endMS {
				own.endMS = end
			}
		}
	}
	return own, others, known
}

// begins is the millisecond in which a window that is going on began: now where that is ahead of the clock.
func (m *FixedWindow) begins(w fixedWindow) int64 { return min(w.endMS-w.length, m.clock/1000) }

// until is the time until a window's end; 0 when it has not begun.
func (m *FixedWindow) until(endMS int64) time.Duration {
	if endMS == 0 {
		return 0
	}
	return time.Duration(endMS-m.clock/1000) * time.Millisecond
}

// Move sets the clock, and forgets what has expired.
func (m *FixedWindow) Move(to time.Time) {
	m.clock = to.UnixMicro()
	maps.DeleteFunc(m.subjects, func(_ string, w fixedWindows) bool { return expired(m.clock, w.endMS) })
}

// Expiries lists the keys of a subject, by suffix.
func (m *FixedWindow) Expiries(subject string) map[string]int64 {
	if w, ok := m.subjects[subject]; ok {
		return map[string]int64{"window": w.endMS}
	}
	return map[string]int64{}
}

// Clone copies the model.
func (m *FixedWindow) Clone() *FixedWindow {
	return &FixedWindow{clock: m.clock, subjects: maps.Clone(m.subjects)}
}
