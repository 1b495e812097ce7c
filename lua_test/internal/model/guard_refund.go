package model

import (
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
)

// RefundCall has the arguments of refund; what is zero is absent.
type RefundCall struct {
	Limits    []CheckLimit
	Left      []time.Duration // what the call answered for each limit
	Weight    int64
	At        time.Time
	Age       time.Duration
	Receipt   string
	Challenge string
	Payload   string
	Holder    string
}

// Refund answers refund.
func (m *Guard) Refund(subject string, c RefundCall) (refunded, changed bool, err error) {
	if len(c.Left) != len(c.Limits) {
		return false, false, ErrArgument
	}
	limits := CheckCall{Limits: c.Limits, Weight: c.Weight, Holder: c.Holder}
	if err := limits.alone(); err != nil {
		return false, false, err
	}
	if c.Receipt != "" && !m.Remembers(subject, c.Receipt) {
		return false, false, nil
	}
	back, err := m.limits.refundable(subject, limits, c.At, c.Age, c.Left)
	if err != nil {
		return false, false, err
	}
	refunded = m.limits.giveBack(subject, back)
	changed = refunded
	reopened := c.Challenge != "" && m.challenges.reopen(subject, c.Challenge, c.Payload)
	if c.Receipt != "" {
		delete(m.receipts, limitKey{subject, fcall.Suffix("receipt", c.Receipt)})
		changed = true
	}
	return refunded || c.Receipt != "" || reopened, changed || reopened, nil
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

// RefundOf is what gives back now all that a call took: of a duplicate what it took of limits that count repeats.
func (a Admitted) RefundOf(now time.Time) RefundCall {
	c := RefundCall{
		Limits: a.Call.Limits, Weight: a.Call.Weight, At: a.Answer.At, Age: duration(min(max(now.UnixMicro()-a.at, 0), longestSpan)), Holder: a.Call.Holder,
	}
	for i, row := range a.Answer.Limits {
		left := min(row.ResetAfter, longestSpan*time.Microsecond) // a clock may be set back by more
		if !row.Allowed || a.Answer.Duplicate && !a.Call.Limits[i].countsRepeats() {
			left = 0
		}
		c.Left = append(c.Left, left)
	}
	if a.Answer.Duplicate {
		return c
	}
	c.Receipt = a.Call.Receipt
	if a.Answer.Challenge == "consumed" {
		c.Challenge, c.Payload = a.Call.Challenge, a.Call.Payload
	}
	return c
}

// longestSpan is the longest span of any argument: 100 years, in microseconds.
const longestSpan = 100 * 365 * 24 * 3600 * 1_000_000
