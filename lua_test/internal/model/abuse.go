package model

import (
	"maps"
	"slices"
	"time"

	gen "github.com/rlfunc/rlfunc/gen/abuse"
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

const (
	mostStrikes   = 64
	mostAttempts  = 10_000
	defaultMemory = 30 * 24 * time.Hour
)

// NewAbuse returns a model that knows no subject.
func NewAbuse() *Abuse { return &Abuse{subjects: map[string]abuseSubject{}} }

// Attempt answers attempt.
func (m *Abuse) Attempt(c gen.AttemptParams) (r gen.AttemptResult, changed bool, err error) {
	s, tiers := m.subjects[string(c.Subject)], windowsOf(c.Tiers.Each())
	left := s.blockLeft(m.clock)
	counts, at := s.count(m.clock, tiers)
	r.Strikes = s.struck(m.clock, memory(c.StrikeMemory))
	var block int64
	var answered []answeredTier
	for i, t := range c.Tiers.Each() {
		n := counts[i]
		if left == 0 {
			n++
		}
		r.Tiers = append(r.Tiers, gen.AttemptTiersResult{Count: n, Remaining: max(t.Threshold-1-n, 0)})
		if left == 0 && n >= t.Threshold {
			answered = append(answered, answeredTier{t.Threshold, microseconds(t.Window)})
			if us := microseconds(t.Block); us > block {
				block, r.Tier = us, int64(i+1)
			}
		}
	}
	if left > 0 {
		r.Reason, r.Tier, r.RetryAfter = gen.AttemptReasonBlocked, s.tier, left
		return r, false, nil
	}

	longest := longestWindow(tiers)
	if s.ahead(m.clock, longest) {
		s.attempts, s.attemptsMS = nil, 0
	}
	s.attempts = append(slices.Clone(s.attempts), at)
	if ends := expiry(m.clock, longest+at-m.clock); ends > s.attemptsMS { // else a caller with a longer window needs older ones
		s.attemptsMS = ends
		s.attempts = slices.DeleteFunc(s.attempts, func(a int64) bool { return a <= at-longest })
	}
	r.Allowed, r.Reason = true, gen.AttemptReasonNone
	if len(answered) > 0 {
		s.attempts = s.attempts[max(len(s.attempts)-mostAttempts, 0):]
		s.strikes = append(slices.Clone(s.strikes[max(len(s.strikes)-mostStrikes+1, 0):]), strike{at, answered})
		s.strikesMS = max(s.strikesMS, expiry(m.clock, max(memory(c.StrikeMemory), longest)+at-m.clock))
		r.Strikes = min(r.Strikes+1, mostStrikes)
		if n := c.Escalation.Len(); n > 0 {
			block = microseconds(c.Escalation.Each()[min(int(r.Strikes), n)-1].Block)
		}
		s.tier, s.reason, s.blockMS = r.Tier, "", expiry(m.clock, block)
		r.Allowed, r.Reason, r.RetryAfter = false, gen.AttemptReasonTier, s.blockLeft(m.clock)
	}
	m.subjects[string(c.Subject)] = s
	return r, true, nil
}

// Forgive answers forgive.
func (m *Abuse) Forgive(c gen.ForgiveParams) (r gen.ForgiveResult, changed bool, err error) {
	s := m.subjects[string(c.Subject)]
	existed := s.attempts != nil
	s.attempts, s.attemptsMS = nil, 0
	m.subjects[string(c.Subject)] = s
	return gen.ForgiveResult{Existed: existed}, existed, nil
}

// Block answers block.
func (m *Abuse) Block(c gen.BlockParams) (r gen.BlockResult, changed bool, err error) {
	s, end := m.subjects[string(c.Subject)], expiry(m.clock, microseconds(c.Duration))
	if changed = end >= s.blockMS; changed {
		s.tier, s.reason, s.blockMS = 0, c.Reason, end
	}
	m.subjects[string(c.Subject)] = s
	return gen.BlockResult{Applied: changed, RetryAfter: s.blockLeft(m.clock)}, changed, nil
}

// Unblock answers unblock.
func (m *Abuse) Unblock(c gen.UnblockParams) (r gen.UnblockResult, changed bool, err error) {
	s := m.subjects[string(c.Subject)]
	existed := s.blockMS > 0
	s.blockMS = 0
	if c.Pardon {
		existed = existed || s.attempts != nil || s.strikes != nil
		s = abuseSubject{}
	}
	m.subjects[string(c.Subject)] = s
	return gen.UnblockResult{Existed: existed}, existed, nil
}

// Status answers status.
func (m *Abuse) Status(c gen.StatusParams) (r gen.StatusResult, changed bool, err error) {
	s := m.subjects[string(c.Subject)]
	if left := s.blockLeft(m.clock); left > 0 {
		r.Blocked, r.Tier, r.Reason, r.RetryAfter = true, s.tier, s.reason, left
	}
	counts, _ := s.count(m.clock, c.Tiers.Each())
	r.Tiers = []gen.StatusTiersResult{}
	for _, n := range counts {
		r.Tiers = append(r.Tiers, gen.StatusTiersResult{Count: n})
	}
	r.Strikes = s.struck(m.clock, memory(c.StrikeMemory))
	return r, false, nil
}

// blockLeft is what the block has left, in whole milliseconds.
func (s abuseSubject) blockLeft(clock int64) time.Duration {
	return max(time.Duration(s.blockMS-clock/1000)*time.Millisecond, 0)
}

// windowsOf are what attempts are counted by.
func windowsOf(tiers []gen.AttemptTiers) (windows []gen.StatusTiers) {
	for _, t := range tiers {
		windows = append(windows, gen.StatusTiers{Threshold: t.Threshold, Window: t.Window})
	}
	return windows
}

func longestWindow(tiers []gen.StatusTiers) (longest int64) {
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
func (s abuseSubject) count(clock int64, tiers []gen.StatusTiers) (counts []int64, at int64) {
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
