package model

import (
	"fmt"
	"maps"
	"time"
)

// Guard models admit and give_back of library guard: the models of its parts, on one subject's keys.
type Guard struct {
	limits     *Check // its receipts are not used
	costs      *Cost
	attempts   *Abuse
	challenges *Challenge
	clock      int64
	receipts   map[string]receipts
	admitted   map[string]Admitted
}

// AdmitCall has the arguments of admit; what is zero is absent.
type AdmitCall struct {
	Receipt       string
	Dedup         time.Duration
	Limits        []AdmitLimit
	Budgets       []CostLimit
	Estimate      int64
	Hold, Penalty time.Duration
	Reservation   string
	Attempt       AttemptCall
	CountRefused  bool
	Challenge     string
	Required      bool
	Payload       string
}

// An AdmitLimit is a limit, perhaps a shadow.
type AdmitLimit struct {
	CheckLimit
	Shadow bool
}

// AdmitResult is the answer of admit.
type AdmitResult struct {
	Allowed     bool
	Duplicate   bool
	Reason      string
	Tier        int64
	Strikes     int64
	RetryAfter  time.Duration
	Challenge   string
	Reservation string
	Limits      []AdmitRow
	Budgets     []CostRow
	Count       []int64 // by tier
	Remaining   []int64
}

// An AdmitRow is what admit tells about one limit.
type AdmitRow struct {
	CheckRow
	Mark int64
}

// Admitted is a subject's last call that took something, for those who give it back.
type Admitted struct {
	Call   AdmitCall
	Answer AdmitResult
}

// NewGuard returns a model that knows no subject.
func NewGuard() *Guard {
	return &Guard{limits: NewCheck(), costs: NewCost(), attempts: NewAbuse(), challenges: NewChallenge(), receipts: map[string]receipts{}, admitted: map[string]Admitted{}}
}

// Admit answers admit.
func (m *Guard) Admit(subject string, c AdmitCall) (r AdmitResult, changed bool, err error) {
	if left := m.attempts.subjects[subject].blockLeft(m.clock); left > 0 {
		return AdmitResult{Reason: "blocked", Tier: m.attempts.subjects[subject].tier, RetryAfter: left, Challenge: "none"}, false, nil
	}
	at, known := m.receipts[subject].known(c.Receipt, m.clock, c.dedup())
	if !known {
		at = m.clock
	}
	r = AdmitResult{Allowed: true, Reason: "none"}
	refuse := func(reason string, retry time.Duration) {
		if r.Allowed {
			r.Allowed, r.Reason = false, reason
		}
		r.RetryAfter = max(r.RetryAfter, retry)
	}
	limits, err := m.limits.Peek(subject, CheckCall{Limits: plain(c.Limits)})
	if err != nil {
		return AdmitResult{}, false, err
	}
	for i, row := range limits.Limits {
		if !row.Allowed && !c.Limits[i].Shadow {
			refuse("limit", row.RetryAfter)
		}
		r.Limits = append(r.Limits, AdmitRow{CheckRow: row})
	}
	id, held := "", false
	if len(c.Budgets) > 0 {
		if id = c.Reservation; c.Receipt != "" {
			id = fmt.Sprintf("%s@%d", c.Receipt, at)
		}
		if id == "" {
			return AdmitResult{}, false, ErrArgument
		}
		cost := m.costs.Peek(subject, c.Budgets, c.Estimate, id)
		held = cost.Status == "reserved" || cost.Status == "settled"
		if !held && !cost.Allowed {
			refuse(cost.Reason, cost.RetryAfter)
		}
		if r.Budgets = cost.Limits; held || known {
			r.Budgets = passed(cost.Limits)
		}
	}
	if r.Challenge = m.judgeChallenge(subject, c); r.Challenge != "none" && r.Challenge != "consumed" {
		refuse("challenge", 0)
	}
	counts := len(c.Attempt.Tiers) > 0 && !known && (!r.Allowed || !c.CountRefused)
	m.countAttempts(subject, c.Attempt, counts, &r, refuse)
	if known {
		return m.duplicate(subject, id, c.Budgets, r), false, nil
	}
	if !r.Allowed {
		if r.Challenge == "consumed" {
			r.Challenge = "unused"
		}
	} else {
		changed = m.take(subject, c, id, held, counts, &r)
	}
	if counts {
		m.attempts.Attempt(subject, c.Attempt)
	}
	return r, changed || counts, nil
}

// countAttempts fills in what the tiers tell, and refuses where the call is the threshold-th attempt of one.
func (m *Guard) countAttempts(subject string, c AttemptCall, counts bool, r *AdmitResult, refuse func(string, time.Duration)) {
	if len(c.Tiers) == 0 {
		return
	}
	if !counts {
		s := m.attempts.Status(subject, c.Tiers, c.StrikeMemory)
		r.Strikes, r.Count = s.Strikes, s.Count
		for i, t := range c.Tiers {
			r.Remaining = append(r.Remaining, max(t.Threshold-1-s.Count[i], 0))
		}
		return
	}
	a, _ := m.attempts.Clone().Attempt(subject, c)
	r.Tier, r.Strikes, r.Count, r.Remaining = a.Tier, a.Strikes, a.Count, a.Remaining
	if !a.Allowed {
		refuse("tier", a.RetryAfter)
		r.Reason = "tier"
	}
}

// duplicate is the answer to a known receipt: all passes, and the reservation is the first call's, if it had one.
func (m *Guard) duplicate(subject, id string, budgets []CostLimit, r AdmitResult) AdmitResult {
	for i := range r.Limits {
		r.Limits[i].Allowed, r.Limits[i].RetryAfter = true, 0
	}
	if s, now := m.costs.open(subject, budgets); id != "" {
		if _, status := s.find(id, now); status == "unknown" {
			id = ""
		}
	}
	return AdmitResult{
		Allowed: true, Duplicate: true, Reason: "none", Challenge: "none", Reservation: id, Strikes: r.Strikes,
		Limits: r.Limits, Budgets: r.Budgets, Count: r.Count, Remaining: r.Remaining,
	}
}

// take takes all that a call asks for, and tells whether that is anything.
func (m *Guard) take(subject string, c AdmitCall, id string, held, counts bool, r *AdmitResult) (changed bool) {
	costs := false
	for i, l := range c.Limits {
		costs = costs || l.Cost > 0
		if l.Cost > 0 && r.Limits[i].Allowed {
			row := m.limits.take(subject, l.CheckLimit)
			r.Limits[i], changed = AdmitRow{row, m.mark(l, row)}, true
		}
	}
	if id != "" && !held {
		cost, _ := m.costs.Reserve(subject, CostReserve{Receipt: id, Estimate: c.Estimate, Limits: c.Budgets, Hold: c.Hold, Penalty: c.Penalty})
		r.Budgets, changed = cost.Limits, true
	}
	if r.Challenge == "consumed" {
		m.challenges.Consume(subject, c.Challenge, c.Payload)
		changed = true
	}
	if c.Receipt != "" && (costs || counts || id != "" || r.Challenge == "consumed") {
		m.receipts[subject] = m.receipts[subject].count(c.Receipt, m.clock, c.dedup(), m.clock)
		changed = true
	}
	r.Reservation = id
	m.admitted[subject] = Admitted{c, *r}
	return changed
}

// mark is when what was taken is forgotten; an expiry is in whole milliseconds.
func (m *Guard) mark(l AdmitLimit, row CheckRow) int64 {
	mark := m.clock + row.ResetAfter.Microseconds()
	if l.Kind != "sliding_log" && row.ResetAfter%time.Millisecond == 0 {
		mark -= mark % 1000
	}
	return mark
}

// judgeChallenge is what becomes of a call's challenge if nothing else refuses.
func (m *Guard) judgeChallenge(subject string, c AdmitCall) string {
	switch {
	case c.Challenge != "":
		outcome, _ := m.challenges.Clone().Consume(subject, c.Challenge, c.Payload)
		return outcome
	case c.Required:
		return "absent"
	}
	return "none"
}

// ItsCosts, ItsAttempts and ItsChallenges are the parts that other libraries act on.
func (m *Guard) ItsCosts() *Cost           { return m.costs }
func (m *Guard) ItsAttempts() *Abuse       { return m.attempts }
func (m *Guard) ItsChallenges() *Challenge { return m.challenges }

// ItsLimits tell of the limits.
func (m *Guard) ItsLimits() *Check { return m.limits }

// Admitted is the subject's last call that was admitted and took something.
func (m *Guard) Admitted(subject string) (Admitted, bool) {
	a, ok := m.admitted[subject]
	return a, ok
}

// Remembers tells whether a receipt is stored, known or not, as SlidingLog.Remembers does.
func (m *Guard) Remembers(subject, receipt string) bool {
	_, ok := m.receipts[subject].seen[receipt]
	return ok
}

// Now is the clock.
func (m *Guard) Now() time.Time { return time.UnixMicro(m.clock) }

// Move sets the clock, and forgets what has expired.
func (m *Guard) Move(to time.Time) {
	m.clock = to.UnixMicro()
	m.limits.Move(to)
	m.costs.Move(to)
	m.attempts.Move(to)
	m.challenges.Move(to)
	maps.DeleteFunc(m.receipts, func(_ string, r receipts) bool { return expired(m.clock, r.endMS) })
}

// Clone copies the model.
func (m *Guard) Clone() *Guard {
	return &Guard{m.limits.Clone(), m.costs.Clone(), m.attempts.Clone(), m.challenges.Clone(), m.clock, maps.Clone(m.receipts), maps.Clone(m.admitted)}
}

// Expiries lists the keys of a subject, by suffix.
func (m *Guard) Expiries(subject string) map[string]int64 {
	ends := m.limits.Expiries(subject)
	maps.Copy(ends, m.costs.Expiries(subject))
	maps.Copy(ends, m.attempts.Expiries(subject))
	maps.Copy(ends, m.challenges.Expiries(subject))
	if r, ok := m.receipts[subject]; ok {
		ends["checked"] = r.endMS
	}
	return ends
}

func (c AdmitCall) dedup() int64 {
	if c.Dedup == 0 {
		return (10 * time.Second).Microseconds()
	}
	return microseconds(c.Dedup)
}

func plain(limits []AdmitLimit) (all []CheckLimit) {
	for _, l := range limits {
		all = append(all, l.CheckLimit)
	}
	return all
}

func passed(rows []CostRow) []CostRow {
	for i := range rows {
		rows[i].Allowed, rows[i].RetryAfter = true, 0
	}
	return rows
}
