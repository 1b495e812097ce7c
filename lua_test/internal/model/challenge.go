package model

import (
	"maps"
	"slices"
	"time"

	gen "github.com/rlfunc/rlfunc/gen/challenge"
)

// Challenge models issue, consume and peek.
type Challenge struct {
	clock    int64
	subjects map[string]challengeSubject
}

// A challengeSubject has its challenges in the order in which they were issued.
type challengeSubject struct {
	all   []challenge
	endMS int64 // the millisecond in which the key expires
}

type challenge struct {
	token, payload  string
	issued, expires int64
	most            int // unused ones that its issuer allows
	used            bool
}

const (
	mostUnused     = 64
	mostChallenges = 128
)

// NewChallenge returns a model that knows no subject.
func NewChallenge() *Challenge { return &Challenge{subjects: map[string]challengeSubject{}} }

// Issue answers issue.
func (m *Challenge) Issue(c gen.IssueParams) (r gen.IssueResult, changed bool, err error) {
	subject := string(c.Subject)
	most := int(c.MaxOutstanding)
	if most == 0 {
		most = mostUnused
	}
	now := m.clock
	var known, unused []challenge
	for _, ch := range m.subjects[subject].all {
		if !ch.lives(m.clock) {
			continue
		}
		now = max(now, ch.issued)
		known = append(known, ch)
		if !ch.used {
			unused = append(unused, ch)
		}
	}
	for _, ch := range known {
		if ch.token == c.Token && (ch.used || ch.payload != c.Payload) {
			return r, false, ErrArgument
		}
	}
	if ch, ok := reusable(unused, c, now, most); ok {
		return gen.IssueResult{Token: ch.token, Reused: true, ExpiresAfter: duration(ch.expires - m.clock), Outstanding: int64(len(unused))}, false, nil
	}

	// Room is made by the oldest: unused ones of callers that allow no more than this one, or any above the most, then used ones.
	left := len(unused)
	var kept []challenge
	for _, ch := range known {
		if !ch.used && left >= most && (left >= mostUnused || ch.most <= most) {
			left--
		} else {
			kept = append(kept, ch)
		}
	}
	dropUsed := max(len(kept)-mostChallenges+1, 0)
	var s challengeSubject
	for _, ch := range kept {
		switch {
		case ch.used && dropUsed > 0:
			dropUsed--
		default:
			s.all = append(s.all, ch)
		}
	}
	s.all = append(s.all, challenge{token: c.Token, payload: c.Payload, issued: now, expires: now + microseconds(c.TTL), most: most})
	r = gen.IssueResult{Token: c.Token, ExpiresAfter: duration(now + microseconds(c.TTL) - m.clock)}
	last := now + microseconds(c.TTL)
	for _, ch := range known {
		last = max(last, ch.expires)
	}
	for _, ch := range s.all {
		if !ch.used {
			r.Outstanding++
		}
	}
	s.endMS = expiry(m.clock, last-m.clock)
	m.subjects[subject] = s
	return r, true, nil
}

// reusable finds the challenge that a call gets instead of a new one: its own, or the last one for its payload.
func reusable(unused []challenge, c gen.IssueParams, now int64, most int) (found challenge, ok bool) {
	for _, ch := range unused {
		if ch.token == c.Token {
			return ch, true
		}
		if ch.payload == c.Payload {
			found, ok = ch, true
		}
	}
	young := c.ReuseWithin > 0 && now-found.issued < microseconds(c.ReuseWithin)
	return found, ok && (young || len(unused) >= most)
}

// Consume answers consume.
func (m *Challenge) Consume(c gen.ConsumeParams) (r gen.ConsumeResult, changed bool, err error) {
	subject := string(c.Subject)
	ch, i := m.find(subject, c.Token)
	switch {
	case i < 0:
		return gen.ConsumeResult{Outcome: gen.ConsumeOutcomeExpiredOrUnknown}, false, nil
	case ch.used:
		return gen.ConsumeResult{Outcome: gen.ConsumeOutcomeReplayed}, false, nil
	case ch.payload != c.Payload:
		return gen.ConsumeResult{Outcome: gen.ConsumeOutcomeMismatch}, false, nil
	}
	s := m.subjects[subject]
	s.all = slices.Clone(s.all)
	s.all[i].used, s.all[i].payload = true, ""
	m.subjects[subject] = s
	return gen.ConsumeResult{Outcome: gen.ConsumeOutcomeConsumed}, true, nil
}

// Peek answers peek.
func (m *Challenge) Peek(c gen.PeekParams) (r gen.PeekResult, changed bool, err error) {
	ch, i := m.find(string(c.Subject), c.Token)
	if i < 0 {
		return gen.PeekResult{State: gen.PeekStateExpiredOrUnknown}, false, nil
	}
	r = gen.PeekResult{State: gen.PeekStateUnused, Payload: ch.payload, ExpiresAfter: duration(ch.expires - m.clock)}
	if ch.used {
		r.State, r.Payload = gen.PeekStateConsumed, ""
	}
	return r, false, nil
}

// find returns a subject's challenge that lives, and its place; -1 when there is none.
func (m *Challenge) find(subject, token string) (challenge, int) {
	for i, ch := range m.subjects[subject].all {
		if ch.token == token && ch.lives(m.clock) {
			return ch, i
		}
	}
	return challenge{}, -1
}

// lives reports whether its time is not over. One that was issued further ahead than it lives is from a wrong clock.
func (ch challenge) lives(clock int64) bool {
	return clock < ch.expires && ch.issued-clock <= ch.expires-ch.issued
}

// Move sets the clock, and forgets what has expired.
func (m *Challenge) Move(to time.Time) {
	m.clock = to.UnixMicro()
	maps.DeleteFunc(m.subjects, func(_ string, s challengeSubject) bool { return expired(m.clock, s.endMS) })
}

// Expiries lists the keys of a subject, by suffix.
func (m *Challenge) Expiries(subject string) map[string]int64 {
	if s, ok := m.subjects[subject]; ok {
		return map[string]int64{"challenges": s.endMS}
	}
	return map[string]int64{}
}

// Clone copies the model. Stored values are never changed in place.
func (m *Challenge) Clone() *Challenge {
	return &Challenge{clock: m.clock, subjects: maps.Clone(m.subjects)}
}
