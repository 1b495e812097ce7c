package model

import (
	"maps"
	"slices"
	"time"
)

// Abuse models attempt, forgive, block, unblock and status.
type Abuse struct {
	clock    int64
	subjects map[string]abuseSubject
}

// An abuseSubject is what is known of one subject. The block is forgotten when its key expires, the rest with the other.
type abuseSubject struct {
	blockMS int64 // the millisecond in which the block ends; 0 without one
	tier    int64
	reason  string

	need     abuseNeed
	attempts []int64     // ascending
	tail     int         // how many of the newest are in the log itself; older ones are in pages
	marks    []abuseMark // tiers that have started a block, in the order in which they last did
	strikes  []int64     // ascending
	keptMS   int64
	pagesMS  int64 // 0 without pages
}

// An abuseNeed is the greatest that any caller gave while the attempts were kept.
type abuseNeed struct{ most, longest, memory int64 }

func (n abuseNeed) widen(tiers []AbuseTier, strikeMemory time.Duration) abuseNeed {
	for _, t := range tiers {
		n.most, n.longest = max(n.most, t.Threshold), max(n.longest, microseconds(t.Window))
	}
	n.memory = max(n.memory, memory(strikeMemory))
	return n
}

// An abuseMark says that a tier has answered the attempts up to a time with a block, and does not count them again.
type abuseMark struct{ threshold, window, at int64 }

// AttemptCall has the arguments of attempt; a StrikeMemory of zero is absent.
type AttemptCall struct {
	Tiers        []AbuseTier
	Escalation   []time.Duration
	StrikeMemory time.Duration
}

// An AbuseTier is what is too often, and how long it blocks.
type AbuseTier struct {
	Threshold     int64
	Window, Block time.Duration
}

// AttemptResult is the answer of attempt. Reason is none, blocked or tier.
type AttemptResult struct {
	Allowed          bool
	Reason           string
	Tier             int64
	RetryAfter       time.Duration
	Strikes          int64
	Count, Remaining []int64 // by tier
}

// AbuseStatus is the answer of status.
type AbuseStatus struct {
	Blocked    bool
	Tier       int64
	Reason     string
	RetryAfter time.Duration
	Strikes    int64
	Count      []int64 // by tier
}

const (
	mostStrikes   = 64
	mostMarks     = 16
	pageSize      = 12
	defaultMemory = 30 * 24 * time.Hour
)

// NewAbuse returns a model that knows no subject.
func NewAbuse() *Abuse { return &Abuse{subjects: map[string]abuseSubject{}} }

// Attempt answers attempt.
func (m *Abuse) Attempt(subject string, c AttemptCall) (r AttemptResult, changed bool) {
	s := m.subjects[subject]
	left := s.blockLeft(m.clock)
	need := s.need.widen(c.Tiers, c.StrikeMemory)
	counts, inside, now := s.count(m.clock, c.Tiers, need)
	strikes, strikeNow := s.struck(m.clock, memory(c.StrikeMemory), need)
	r.Strikes = int64(len(strikes))
	if left > 0 {
		for i, t := range c.Tiers {
			r.Count = append(r.Count, counts[i])
			r.Remaining = append(r.Remaining, max(t.Threshold-1-counts[i], 0))
		}
		r.Reason, r.Tier, r.RetryAfter = "blocked", s.tier, left
		return r, false
	}

	var block int64
	var started []AbuseTier
	for i, t := range c.Tiers {
		n := counts[i] + 1
		r.Count = append(r.Count, n)
		r.Remaining = append(r.Remaining, max(t.Threshold-1-n, 0))
		if n >= t.Threshold {
			started = append(started, t)
			if us := microseconds(t.Block); us > block {
				block, r.Tier = us, int64(i+1)
			}
		}
	}
	if s.ahead(m.clock, need) {
		s.marks = nil
	}
	s.record(inside, now, need, m.clock)
	s.mark(started, now)
	s.strikes, _ = s.struck(m.clock, need.memory, need)
	r.Allowed, r.Reason = true, "none"
	if len(started) > 0 {
		s.strikes = append(slices.Clone(s.strikes[max(len(s.strikes)-mostStrikes+1, 0):]), strikeNow)
		r.Strikes = min(r.Strikes+1, mostStrikes)
		if n := len(c.Escalation); n > 0 {
			block = microseconds(c.Escalation[min(int(r.Strikes), n)-1])
		}
		s.tier, s.reason, s.blockMS = r.Tier, "", expiry(m.clock, block)
		r.Allowed, r.Reason, r.RetryAfter = false, "tier", s.blockLeft(m.clock)
	}
	kept := need.longest + now
	if n := len(s.strikes); n > 0 {
		kept = max(kept, need.memory+s.strikes[n-1])
	}
	s.keptMS = expiry(m.clock, kept-m.clock)
	m.subjects[subject] = s
	return r, true
}

// record adds an attempt to those that are inside the longest window, and turns the pages.
func (s *abuseSubject) record(inside, now int64, need abuseNeed, clock int64) {
	widened := need.longest > s.need.longest
	kept := int(min(inside, need.most-1))
	s.need, s.attempts = need, append(slices.Clone(s.attempts[len(s.attempts)-kept:]), now)
	if kept <= s.tail {
		s.tail, s.pagesMS = kept, 0
	}
	switch {
	case s.tail == pageSize:
		s.tail, s.pagesMS = 0, expiry(clock, need.longest+now-clock)
	case s.pagesMS > 0 && widened:
		s.pagesMS = expiry(clock, need.longest+now-clock)
	}
	s.tail++
}

// mark notes the tiers that the attempt made start a block, and forgets marks that do not matter.
func (s *abuseSubject) mark(started []AbuseTier, now int64) {
	var marks []abuseMark
	for _, t := range started {
		mark := abuseMark{t.Threshold, microseconds(t.Window), now}
		if !slices.Contains(marks, mark) {
			marks = append(marks, mark)
		}
	}
	var kept []abuseMark
	for _, old := range s.marks {
		again := slices.ContainsFunc(marks, func(m abuseMark) bool { return m.threshold == old.threshold && m.window == old.window })
		if !again && old.at > now-old.window {
			kept = append(kept, old)
		}
	}
	marks = append(kept, marks...)
	s.marks = marks[max(len(marks)-mostMarks, 0):]
}

// Forgive answers forgive.
func (m *Abuse) Forgive(subject string) (existed bool) {
	s := m.subjects[subject]
	existed = s.attempts != nil
	s.attempts, s.marks, s.tail, s.pagesMS = nil, nil, 0, 0
	if s.strikes == nil {
		s.need = abuseNeed{}
	}
	m.subjects[subject] = s
	return existed
}

// Block answers block.
func (m *Abuse) Block(subject string, d time.Duration, reason string) (applied bool, retryAfter time.Duration) {
	s := m.subjects[subject]
	end := expiry(m.clock, microseconds(d))
	if applied = end >= s.blockMS; applied {
		s.tier, s.reason, s.blockMS = 0, reason, end
	}
	m.subjects[subject] = s
	return applied, s.blockLeft(m.clock)
}

// Unblock answers unblock.
func (m *Abuse) Unblock(subject string, pardon bool) (existed bool) {
	s := m.subjects[subject]
	existed = s.blockMS > 0
	s.blockMS = 0
	if pardon {
		existed = existed || s.attempts != nil || s.strikes != nil
		s = abuseSubject{}
	}
	m.subjects[subject] = s
	return existed
}

// Status answers status.
func (m *Abuse) Status(subject string, tiers []AbuseTier, strikeMemory time.Duration) (r AbuseStatus) {
	s := m.subjects[subject]
	if left := s.blockLeft(m.clock); left > 0 {
		r.Blocked, r.Tier, r.Reason, r.RetryAfter = true, s.tier, s.reason, left
	}
	need := s.need.widen(tiers, strikeMemory)
	r.Count, _, _ = s.count(m.clock, tiers, need)
	strikes, _ := s.struck(m.clock, memory(strikeMemory), need)
	r.Strikes = int64(len(strikes))
	return r
}

// blockLeft is what the block has left, in whole milliseconds.
func (s abuseSubject) blockLeft(clock int64) time.Duration {
	return max(time.Duration(s.blockMS-clock/1000)*time.Millisecond, 0)
}

// count returns how many attempts each tier's window holds that it has not answered, how many are still needed, and the time
// that the next attempt has: time does not run backwards for a key. Attempts outside the longest window that any call needs are dropped
// when a tier has that window and none has answered. A newest attempt further ahead than that window is from a wrong clock, and
// nothing counts.
func (s abuseSubject) count(clock int64, tiers []AbuseTier, need abuseNeed) (counts []int64, inside, now int64) {
	counts, now = make([]int64, len(tiers)), clock
	if len(s.attempts) == 0 || s.ahead(clock, need) {
		return counts, 0, now
	}
	newest := s.attempts[len(s.attempts)-1]
	now = max(clock, newest)
	blocked, answered := s.blockLeft(clock) > 0, map[[2]int64]int64{}
	for _, m := range s.marks {
		if m.at != newest {
			answered[[2]int64{m.threshold, m.window}] = m.at
		} else if !blocked {
			answered[[2]int64{m.threshold, m.window}] = m.at
			now = max(now, newest+1)
		}
	}
	inside = int64(len(s.attempts))
	for i, t := range tiers {
		window := microseconds(t.Window)
		before, ok := answered[[2]int64{t.Threshold, window}]
		for _, at := range s.attempts {
			if at > now-window && (!ok || at > before) {
				counts[i]++
			}
		}
		if window == need.longest && len(answered) == 0 {
			inside = counts[i]
		}
	}
	return counts, inside, now
}

// ahead reports whether the newest attempt is from a wrong clock.
func (s abuseSubject) ahead(clock int64, need abuseNeed) bool {
	n := len(s.attempts)
	return n > 0 && s.attempts[n-1] > clock+need.longest
}

// struck returns the strikes within a memory, and the time that the next one has. A newest strike further ahead than the
// longest memory of any caller is from a wrong clock.
func (s abuseSubject) struck(clock, memory int64, need abuseNeed) (strikes []int64, now int64) {
	if len(s.strikes) == 0 {
		return nil, clock
	}
	newest := s.strikes[len(s.strikes)-1]
	if newest > clock+need.memory {
		return nil, clock
	}
	now = max(clock, newest)
	for _, at := range s.strikes {
		if at > now-memory {
			strikes = append(strikes, at)
		}
	}
	return strikes, now
}

func memory(d time.Duration) int64 {
	if d == 0 {
		d = defaultMemory
	}
	return microseconds(d)
}

// Move sets the clock, and forgets what has expired.
func (m *Abuse) Move(to time.Time) {
	m.clock = to.UnixMicro()
	for name, s := range m.subjects {
		if expired(m.clock, s.blockMS) {
			s.blockMS = 0
		}
		if expired(m.clock, s.pagesMS) {
			s.attempts, s.pagesMS = s.attempts[len(s.attempts)-s.tail:], 0
		}
		if expired(m.clock, s.keptMS) {
			s = abuseSubject{blockMS: s.blockMS, tier: s.tier, reason: s.reason, pagesMS: s.pagesMS}
		}
		m.subjects[name] = s
	}
}

// Expiries lists the keys of a subject, by suffix.
func (m *Abuse) Expiries(subject string) map[string]int64 {
	s, ends := m.subjects[subject], map[string]int64{}
	if s.blockMS > 0 {
		ends["block"] = s.blockMS
	}
	if s.attempts != nil || s.strikes != nil {
		ends["attempts"] = s.keptMS
	}
	if s.pagesMS > 0 {
		ends["attempt_pages"] = s.pagesMS
	}
	return ends
}

// Clone copies the model. Stored values are never changed in place.
func (m *Abuse) Clone() *Abuse { return &Abuse{clock: m.clock, subjects: maps.Clone(m.subjects)} }
