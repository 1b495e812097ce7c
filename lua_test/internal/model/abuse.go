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

// An abuseSubject is what is known of one subject. Each part is forgotten when its key expires, in the millisecond that is beside it; 0 without one.
type abuseSubject struct {
	blockMS int64
	tier    int64
	reason  string

	attempts   []int64 // ascending
	attemptsMS int64
	strikes    []strike // the oldest first
	strikesMS  int64
}

// A strike is when a tier started a block, and the tiers that it answered: they do not count earlier attempts again.
type strike struct {
	at    int64
	tiers []answeredTier
}

type answeredTier struct{ threshold, window int64 }

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
	mostAttempts  = 10_000
	defaultMemory = 30 * 24 * time.Hour
)

// NewAbuse returns a model that knows no subject.
func NewAbuse() *Abuse { return &Abuse{subjects: map[string]abuseSubject{}} }

// Attempt answers attempt.
func (m *Abuse) Attempt(subject string, c AttemptCall) (r AttemptResult, changed bool) {
	s := m.subjects[subject]
	left := s.blockLeft(m.clock)
	counts, at := s.count(m.clock, c.Tiers)
	r.Strikes = s.struck(m.clock, memory(c.StrikeMemory))
	var block int64
	var answered []answeredTier
	for i, t := range c.Tiers {
		n := counts[i]
		if left == 0 {
			n++
		}
		r.Count = append(r.Count, n)
		r.Remaining = append(r.Remaining, max(t.Threshold-1-n, 0))
		if left == 0 && n >= t.Threshold {
			answered = append(answered, answeredTier{t.Threshold, microseconds(t.Window)})
			if us := microseconds(t.Block); us > block {
				block, r.Tier = us, int64(i+1)
			}
		}
	}
	if left > 0 {
		r.Reason, r.Tier, r.RetryAfter = "blocked", s.tier, left
		return r, false
	}

	longest := longestWindow(c.Tiers)
	if s.ahead(m.clock, longest) {
		s.attempts, s.attemptsMS = nil, 0
	}
	s.attempts = append(slices.Clone(s.attempts), at)
	if ends := expiry(m.clock, longest+at-m.clock); ends > s.attemptsMS { // else a caller with a longer window needs older ones
		s.attemptsMS = ends
		s.attempts = slices.DeleteFunc(s.attempts, func(a int64) bool { return a <= at-longest })
	}
	r.Allowed, r.Reason = true, "none"
	if len(answered) > 0 {
		s.attempts = s.attempts[max(len(s.attempts)-mostAttempts, 0):]
		s.strikes = append(slices.Clone(s.strikes[max(len(s.strikes)-mostStrikes+1, 0):]), strike{at, answered})
		s.strikesMS = max(s.strikesMS, expiry(m.clock, max(memory(c.StrikeMemory), longest)+at-m.clock))
		r.Strikes = min(r.Strikes+1, mostStrikes)
		if n := len(c.Escalation); n > 0 {
			block = microseconds(c.Escalation[min(int(r.Strikes), n)-1])
		}
		s.tier, s.reason, s.blockMS = r.Tier, "", expiry(m.clock, block)
		r.Allowed, r.Reason, r.RetryAfter = false, "tier", s.blockLeft(m.clock)
	}
	m.subjects[subject] = s
	return r, true
}

// Forgive answers forgive.
func (m *Abuse) Forgive(subject string) (existed bool) {
	s := m.subjects[subject]
	existed = s.attempts != nil
	s.attempts, s.attemptsMS = nil, 0
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
	r.Count, _ = s.count(m.clock, tiers)
	r.Strikes = s.struck(m.clock, memory(strikeMemory))
	return r
}

// blockLeft is what the block has left, in whole milliseconds.
func (s abuseSubject) blockLeft(clock int64) time.Duration {
	return max(time.Duration(s.blockMS-clock/1000)*time.Millisecond, 0)
}

func longestWindow(tiers []AbuseTier) (longest int64) {
	for _, t := range tiers {
		longest = max(longest, microseconds(t.Window))
	}
	return longest
}

// ahead reports whether the newest attempt is from a wrong clock.
func (s abuseSubject) ahead(clock, longest int64) bool {
	n := len(s.attempts)
	return n > 0 && s.attempts[n-1] > clock+longest
}

// count returns how many attempts each tier's window holds that it has not answered, and the time that the next one has: later than those
// before it. What is further ahead than the longest window is from a wrong clock, and does not count.
func (s abuseSubject) count(clock int64, tiers []AbuseTier) (counts []int64, at int64) {
	counts = make([]int64, len(tiers))
	longest, newest, answered := longestWindow(tiers), int64(0), map[answeredTier]int64{}
	ahead := s.ahead(clock, longest)
	if n := len(s.attempts); n > 0 && !ahead {
		newest = s.attempts[n-1]
	}
	for _, strike := range s.strikes {
		starts := s.blockLeft(clock) > 0 && strike.at == newest // what it answered is still shown
		if strike.at <= clock+longest && !starts {
			newest = max(newest, strike.at)
			for _, tier := range strike.tiers {
				answered[tier] = strike.at
			}
		}
	}
	for i, t := range tiers {
		after := max(max(clock, newest)-microseconds(t.Window), answered[answeredTier{t.Threshold, microseconds(t.Window)}])
		for _, attempt := range s.attempts {
			if !ahead && attempt > after {
				counts[i]++
			}
		}
	}
	return counts, max(clock, newest+1)
}

// struck returns the number of strikes within a memory. One further ahead than that is from a wrong clock.
func (s abuseSubject) struck(clock, memory int64) (strikes int64) {
	for _, strike := range s.strikes {
		if strike.at > clock-memory && strike.at <= clock+memory {
			strikes++
		}
	}
	return strikes
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
		if expired(m.clock, s.attemptsMS) {
			s.attempts, s.attemptsMS = nil, 0
		}
		if expired(m.clock, s.strikesMS) {
			s.strikes, s.strikesMS = nil, 0
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
	if s.attempts != nil {
		ends["attempts"] = s.attemptsMS
	}
	if s.strikes != nil {
		ends["strikes"] = s.strikesMS
	}
	return ends
}

// Clone copies the model. Stored values are never changed in place.
func (m *Abuse) Clone() *Abuse { return &Abuse{clock: m.clock, subjects: maps.Clone(m.subjects)} }
