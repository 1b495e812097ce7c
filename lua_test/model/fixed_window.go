package model

import (
	"maps"
	"time"
)

// FixedWindow models fixed_window, fixed_window_peek, fixed_window_refund and fixed_window_reset: what was taken, and when
// the window ends.
type FixedWindow struct {
	clock    int64
	subjects map[string]fixedWindow
}

// A fixedWindow lasts to the beginning of the millisecond endMS, in which its key expires.
type fixedWindow struct{ taken, endMS int64 }

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
	RetryAfter time.Duration
	ResetAfter time.Duration
}

// WindowRefundResult is the answer of fixed_window_refund and of sliding_counter_refund.
type WindowRefundResult struct {
	Refunded   int64
	Remaining  int64
	ResetAfter time.Duration
}

// NewFixedWindow returns a model that knows no window.
func NewFixedWindow() *FixedWindow { return &FixedWindow{subjects: map[string]fixedWindow{}} }

// Take answers fixed_window.
func (m *FixedWindow) Take(subject string, c WindowCall) (r WindowResult, changed bool, err error) {
	r, err = m.Peek(subject, c)
	if err != nil || !r.Allowed || c.Cost == 0 {
		return r, false, err
	}
	w := m.goingOn(subject, c.Window)
	if w == (fixedWindow{}) {
		w.endMS = m.clock/1000 + milliseconds(c.Window)
	}
	w.taken += c.Cost
	m.subjects[subject] = w
	return WindowResult{Allowed: true, Remaining: c.Limit - w.taken, ResetAfter: m.left(w)}, true, nil
}

// Peek answers fixed_window_peek.
func (m *FixedWindow) Peek(subject string, c WindowCall) (r WindowResult, err error) {
	if c.Cost > c.Limit {
		return r, ErrArgument
	}
	w := m.goingOn(subject, c.Window)
	r = WindowResult{Allowed: w.taken+c.Cost <= c.Limit, Remaining: max(c.Limit-w.taken, 0), ResetAfter: m.left(w)}
	if !r.Allowed {
		r.RetryAfter = r.ResetAfter
	}
	return r, nil
}

// Refund answers fixed_window_refund.
func (m *FixedWindow) Refund(subject string, c WindowCall) (r WindowRefundResult, changed bool) {
	w := m.goingOn(subject, c.Window)
	r.Refunded = min(w.taken, c.Cost)
	w.taken -= r.Refunded
	r.Remaining = max(c.Limit-w.taken, 0)
	switch {
	case r.Refunded == 0:
	case w.taken == 0:
		delete(m.subjects, subject)
	default:
		m.subjects[subject] = w
		r.ResetAfter = m.left(w)
	}
	return r, r.Refunded > 0
}

// Reset answers fixed_window_reset.
func (m *FixedWindow) Reset(subject string) (existed bool) {
	_, existed = m.subjects[subject]
	delete(m.subjects, subject)
	return existed
}

// goingOn is the subject's window; the zero one when none is going on. One that begins further ahead than its length is a
// broken clock's.
func (m *FixedWindow) goingOn(subject string, length time.Duration) fixedWindow {
	w := m.subjects[subject]
	begins := w.endMS - milliseconds(length)
	if w.endMS <= m.clock/1000 || begins > m.clock/1000+milliseconds(length) {
		return fixedWindow{}
	}
	return w
}

// left is the time until a window ends.
func (m *FixedWindow) left(w fixedWindow) time.Duration {
	if w == (fixedWindow{}) {
		return 0
	}
	return time.Duration(w.endMS-m.clock/1000) * time.Millisecond
}

// Move sets the clock, and forgets what has expired.
func (m *FixedWindow) Move(to time.Time) {
	m.clock = to.UnixMicro()
	maps.DeleteFunc(m.subjects, func(_ string, w fixedWindow) bool { return expired(m.clock, w.endMS) })
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
