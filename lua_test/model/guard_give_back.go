package model

import (
	"slices"
)

// GiveBackCall has the arguments of give_back; what is zero is absent.
type GiveBackCall struct {
	Receipt     string
	Limits      []GiveBackLimit
	Reservation string
	Challenge   string
	Payload     string
}

// A GiveBackLimit is a limit and the mark of what a call took of it.
type GiveBackLimit struct {
	CheckLimit
	Mark int64
}

// GiveBack answers give_back.
func (m *Guard) GiveBack(subject string, c GiveBackCall) (givenBack, changed bool, err error) {
	if c.Receipt != "" && !m.Remembers(subject, c.Receipt) {
		return false, false, nil
	}
	var limits []CheckLimit
	for _, l := range c.Limits {
		limits = append(limits, l.CheckLimit)
	}
	if _, err := m.limits.Peek(subject, CheckCall{Limits: limits}); err != nil {
		return false, false, err
	}
	if c.Reservation != "" {
		_, _, changed = m.costs.Cancel(subject, c.Reservation)
	}
	for _, l := range c.Limits {
		if l.Mark > 0 && l.Cost > 0 {
			changed = m.giveBackLimit(subject, l) || changed
		}
	}
	if c.Challenge != "" {
		changed = m.challenges.reopen(subject, c.Challenge, c.Payload) || changed
	}
	if c.Receipt != "" {
		m.receipts[subject] = m.receipts[subject].forget(c.Receipt)
		changed = true
	}
	return true, changed, nil
}

// giveBackLimit gives back what counts still.
func (m *Guard) giveBackLimit(subject string, l GiveBackLimit) (changed bool) {
	its := l.of(subject)
	if l.Kind == "sliding_log" {
		return m.limits.logs.remove(its, l.Mark-microseconds(l.Window))
	}
	if l.Mark <= m.clock {
		return false
	}
	switch l.Kind {
	case "sliding_counter":
		before := l.Mark-milliseconds(l.Window)*1000 <= m.clock
		_, changed = m.limits.counters.giveBack(its, l.window(), before)
	case "fixed_window":
		_, changed = m.limits.windows.Refund(its, l.window())
	case "gcra":
		_, changed, _ = m.limits.buckets.Refund(its, l.bucket())
	}
	return changed
}

// remove takes an admission of that time out of the log. Where more are kept than any caller's limit, the oldest stands for those that
// were not kept: it stays, and takes the place of what goes.
func (m *SlidingLog) remove(subject string, at int64) (removed bool) {
	s := m.subjects[subject]
	i := slices.Index(s.admissions, at)
	more := int64(len(s.admissions)) > s.limit
	if i < 0 || more && i == 0 {
		return false
	}
	s.admissions = slices.Delete(slices.Clone(s.admissions), i, i+1)
	if more {
		s.admissions = slices.Insert(s.admissions, 0, s.admissions[0])
	}
	m.subjects[subject] = s
	return true
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

// GiveBackOf is what gives back all that a call took.
func (a Admitted) GiveBackOf() GiveBackCall {
	c := GiveBackCall{Receipt: a.Call.Receipt, Reservation: a.Answer.Reservation}
	for i, l := range a.Call.Limits {
		c.Limits = append(c.Limits, GiveBackLimit{l.CheckLimit, a.Answer.Limits[i].Mark})
	}
	if a.Answer.Challenge == "consumed" {
		c.Challenge, c.Payload = a.Call.Challenge, a.Call.Payload
	}
	return c
}
