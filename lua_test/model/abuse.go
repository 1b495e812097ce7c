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

	attempts []int64       // ascending
	answered map[int]int64 // by tier: attempts up to then are not counted, a block was the answer to them
	last     []int         // tiers that started the last block: they count anew once it has ended
	strikes  []int64       // ascending
	keptMS   int64
}

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
	Count      []int64 // by window
}

const (
	mostStrikes   = 64
	defaultMemory = 30 * 24 * time.Hour
)

// NewAbuse returns a model that knows no subject.
func NewAbuse() *Abuse { return &Abuse{subjects: map[string]abuseSubject{}} }

// Attempt answers attempt.
func (m *Abuse) Attempt(subject string, c AttemptCall) (r AttemptResult, changed bool) {
	s := m.subjects[subject]
	left := s.blockLeft(m.clock)
	var windows []int64
	for _, t := range c.Tiers {
		windows = append(windows, microseconds(t.Window))
	}
	counts, answered, now := s.count(m.clock, windows)
	strikes, strikeNow := s.struck(m.clock, c.StrikeMemory)
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
	var started []int
	for i, t := range c.Tiers {
		n := counts[i] + 1
		r.Count = append(r.Count, n)
		r.Remaining = append(r.Remaining, max(t.Threshold-1-n, 0))
		if n >= t.Threshold {
			started = append(started, i+1)
			if us := microseconds(t.Block); us > block {
				block, r.Tier = us, int64(i+1)
			}
		}
	}
	// What no tier counts is forgotten, and so are strikes that do not count.
	keep := int(slices.Max(counts))
	s.attempts = append(slices.Clone(s.attempts[len(s.attempts)-keep:]), now)
	s.answered, s.last, s.strikes = answered, started, strikes
	r.Allowed, r.Reason = true, "none"
	if len(started) > 0 {
		s.strikes = append(slices.Clone(strikes[max(len(strikes)-mostStrikes+1, 0):]), strikeNow)
		r.Strikes = int64(len(s.strikes))
		if n := len(c.Escalation); n > 0 {
			block = microseconds(c.Escalation[min(len(s.strikes), n)-1])
		}
		s.tier, s.reason, s.blockMS = r.Tier, "", expiry(m.clock, block)
		r.Allowed, r.Reason, r.RetryAfter = false, "tier", s.blockLeft(m.clock)
	}
	kept := slices.Max(windows) + now
	if n := len(s.strikes); n > 0 {
		kept = max(kept, memory(c.StrikeMemory)+s.strikes[n-1])
	}
	s.keptMS = expiry(m.clock, kept-m.clock)
	m.subjects[subject] = s
	return r, true
}

// Forgive answers forgive.
func (m *Abuse) Forgive(subject string) (existed bool) {
	s := m.subjects[subject]
	existed = s.attempts != nil
	s.attempts, s.answered, s.last = nil, nil, nil
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
func (m *Abuse) Status(subject string, windows []time.Duration, strikeMemory time.Duration) (r AbuseStatus) {
	s := m.subjects[subject]
	if left := s.blockLeft(m.clock); left > 0 {
		r.Blocked, r.Tier, r.Reason, r.RetryAfter = true, s.tier, s.reason, left
	}
	var us []int64
	for _, w := range windows {
		us = append(us, microseconds(w))
	}
	r.Count, _, _ = s.count(m.clock, us)
	strikes, _ := s.struck(m.clock, strikeMemory)
	r.Strikes = int64(len(strikes))
	return r
}

// blockLeft is what the block has left, in whole milliseconds.
func (s abuseSubject) blockLeft(clock int64) time.Duration {
	return max(time.Duration(s.blockMS-clock/1000)*time.Millisecond, 0)
}

// count returns how many attempts each window holds that its tier has not answered, what the tiers have answered, and the
// time that the next attempt has: time does not run backwards for a key. A newest attempt further ahead than the longest
// window is a broken clock's, and nothing counts.
func (s abuseSubject) count(clock int64, windows []int64) (counts []int64, answered map[int]int64, now int64) {
	counts, now = make([]int64, len(windows)), clock
	if len(s.attempts) == 0 || len(windows) == 0 {
		return counts, nil, now
	}
	newest := s.attempts[len(s.attempts)-1]
	if newest > clock+slices.Max(windows) {
		return counts, nil, now
	}
	answered, now = maps.Clone(s.answered), max(clock, newest)
	if len(s.last) > 0 && s.blockLeft(clock) == 0 {
		if answered == nil {
			answered = map[int]int64{}
		}
		for _, tier := range s.last {
			answered[tier] = newest
		}
		now = max(clock, newest+1)
	}
	for i, window := range windows {
		for _, at := range s.attempts {
			if before, ok := answered[i+1]; at > now-window && (!ok || at > before) {
				counts[i]++
			}
		}
	}
	return counts, answered, now
}

// struck returns the strikes within the memory, and the time that the next one has.
func (s abuseSubject) struck(clock int64, strikeMemory time.Duration) (strikes []int64, now int64) {
	if len(s.strikes) == 0 {
		return nil, clock
	}
	newest := s.strikes[len(s.strikes)-1]
	if newest > clock+memory(strikeMemory) {
		return nil, clock
	}
	now = max(clock, newest)
	for _, at := range s.strikes {
		if at > now-memory(strikeMemory) {
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
		if expired(m.clock, s.keptMS) {
			s.attempts, s.answered, s.last, s.strikes, s.keptMS = nil, nil, nil, nil, 0
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
	return ends
}

// Clone copies the model. What is stored is never changed in place.
func (m *Abuse) Clone() *Abuse { return &Abuse{clock: m.clock, subjects: maps.Clone(m.subjects)} }
