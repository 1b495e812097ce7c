package model

import (
	"maps"
	"slices"
	"time"
)

// Guard models admit, refund, renew and release of library guard: the models of its parts, on one subject's keys.
type Guard struct {
	limits     *Check // its receipts are not used
	costs      *Cost
	attempts   *Abuse
	challenges *Challenge
	clock      int64
	receipts   map[string]receipts
	left       map[string]marks
	admitted   map[string]Admitted
}

// AdmitCall has the arguments of admit; what is zero is absent.
type AdmitCall struct {
	Receipt       string
	Dedup         time.Duration
	Limits        []CheckLimit
	Weight        int64
	Budgets       []GuardBudget
	Estimate      int64 // in money
	UnitEstimate  int64 // in each other unit
	Unreserved    bool  // the other units are only checked
	Hold, Penalty time.Duration
	Reservation   string
	Attempt       AttemptCall
	CountRefused  bool
	Challenge     string
	Required      bool
	Payload       string
	Holder        string
}

// AdmitResult is the answer of admit.
type AdmitResult struct {
	Allowed    bool
	Duplicate  bool
	Reason     string
	Tier       int64
	Refused    int64 // the first budget of the account that refuses, from 1
	Strikes    int64
	RetryAfter time.Duration
	At         time.Time // zero where no limit needed the clock
	Challenge  string
	Limits     []CheckRow
	Budgets    []CostRow
	Count      []int64 // by tier
	Remaining  []int64
}

// Admitted is a subject's last call that was admitted, for those who give back what it took.
type Admitted struct {
	Call   AdmitCall
	Answer AdmitResult
	at     int64
}

// NewGuard returns a model that knows no subject.
func NewGuard() *Guard {
	return &Guard{
		limits: NewCheck(), costs: NewCost(), attempts: NewAbuse(), challenges: NewChallenge(),
		receipts: map[string]receipts{}, left: map[string]marks{}, admitted: map[string]Admitted{},
	}
}

// Admit answers admit.
func (m *Guard) Admit(subject string, c AdmitCall) (r AdmitResult, changed bool, err error) {
	if err := c.limits().together(); err != nil || len(c.Budgets) > 0 && c.Reservation == "" || m.left[subject].has(c.Holder) {
		return AdmitResult{}, false, ErrArgument
	}
	if left := m.attempts.subjects[subject].blockLeft(m.clock); left > 0 {
		return AdmitResult{Reason: "blocked", Tier: m.attempts.subjects[subject].tier, RetryAfter: left, Challenge: "none"}, false, nil
	}
	_, known := m.receipts[subject].known(c.Receipt, m.clock, c.dedup())
	r = AdmitResult{Allowed: true, Duplicate: known, Reason: "none"}
	own := false // whether anything but global limits refuses
	refuse := func(reason string, retry time.Duration) {
		if r.Allowed {
			r.Allowed, r.Reason = false, reason
		}
		r.RetryAfter = max(r.RetryAfter, retry)
	}
	limits, err := m.limits.judge(subject, c.limits(), known)
	if err != nil {
		return AdmitResult{}, false, err
	}
	r.Limits = limits.Limits
	for i, row := range r.Limits {
		if l := c.Limits[i]; !row.Allowed && !l.Shadow {
			refuse("limit", row.RetryAfter)
			own = own || !l.Global
		}
	}
	rows, reason, refused, wait, err := m.judgeAccounts(subject, c, known)
	if err != nil {
		return AdmitResult{}, false, err
	}
	if r.Budgets = rows; reason != "none" {
		if r.Allowed {
			r.Refused = refused
		}
		refuse(reason, wait)
		own = true
	}
	if r.Challenge = m.judgeChallenge(subject, c, known); r.Challenge != "none" && r.Challenge != "consumed" {
		refuse("challenge", 0)
		own = true
	}
	counts := len(c.Attempt.Tiers) > 0 && !known && (own || !c.CountRefused)
	m.countAttempts(subject, c.Attempt, counts, &r, refuse)
	if !r.Allowed {
		if r.Challenge == "consumed" {
			r.Challenge = "unused"
		}
	} else {
		changed = m.take(subject, c, counts, &r)
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
		r.Reason, r.Refused = "tier", 0
	}
}

// take takes all that a call asks for, and reports whether that is anything: of a duplicate what global limits cost.
func (m *Guard) take(subject string, c AdmitCall, counts bool, r *AdmitResult) (changed bool) {
	costs, changed := m.limits.takeAll(subject, c.limits(), CheckResult{Duplicate: r.Duplicate, Limits: r.Limits})
	reserves := len(c.Budgets) > 0 && !r.Duplicate
	if reserves {
		changed = m.reserveAccounts(subject, c, r.Budgets) || changed
	}
	if r.Challenge == "consumed" {
		m.challenges.Consume(subject, c.Challenge, c.Payload)
		changed = true
	}
	if c.Receipt != "" && !r.Duplicate && (costs || counts || reserves || r.Challenge == "consumed") {
		m.receipts[subject] = m.receipts[subject].count(c.Receipt, m.clock, c.dedup(), m.clock)
		changed = true
	}
	if c.timed() {
		r.At = m.Now()
	}
	m.admitted[subject] = Admitted{c, *r, m.clock}
	return changed
}

// judgeChallenge is the outcome of a call's challenge if nothing else refuses. A duplicate's challenge does not count.
func (m *Guard) judgeChallenge(subject string, c AdmitCall, known bool) string {
	switch {
	case known:
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

// Admitted is the subject's last call that was admitted.
func (m *Guard) Admitted(subject string) (Admitted, bool) {
	a, ok := m.admitted[subject]
	return a, ok
}

// Remembers reports whether a receipt is stored, known or not, as SlidingLog.Remembers does.
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
	maps.DeleteFunc(m.left, func(_ string, l marks) bool { return expired(m.clock, l.endMS) })
}

// Clone copies the model.
func (m *Guard) Clone() *Guard {
	return &Guard{
		m.limits.Clone(), m.costs.Clone(), m.attempts.Clone(), m.challenges.Clone(), m.clock,
		maps.Clone(m.receipts), maps.Clone(m.left), maps.Clone(m.admitted),
	}
}

// Expiries lists the keys of a subject, by suffix.
func (m *Guard) Expiries(subject string) map[string]int64 {
	ends := m.limits.Expiries(subject)
	maps.Copy(ends, m.costs.Expiries(subject))
	for suffix, end := range m.costs.Expiries(accountOf(subject, "tokens")) {
		ends[suffix+":tokens"] = end
	}
	maps.Copy(ends, m.attempts.Expiries(subject))
	maps.Copy(ends, m.challenges.Expiries(subject))
	if r, ok := m.receipts[subject]; ok {
		ends["checked"] = r.endMS
	}
	if l, ok := m.left[subject]; ok {
		ends["left"] = l.endMS
	}
	return ends
}

func (c AdmitCall) dedup() int64 {
	if c.Dedup == 0 {
		return (10 * time.Second).Microseconds()
	}
	return microseconds(c.Dedup)
}

func (c AdmitCall) limits() CheckCall {
	return CheckCall{Limits: c.Limits, Weight: c.Weight, Holder: c.Holder}
}

// timed reports whether deciding takes the clock.
func (c AdmitCall) timed() bool {
	return len(c.Budgets)+len(c.Attempt.Tiers) > 0 || c.Receipt != "" || c.Challenge != "" || c.Required || slices.ContainsFunc(c.Limits, CheckLimit.timed)
}

func passed(rows []CostRow) []CostRow {
	for i := range rows {
		rows[i].Allowed, rows[i].RetryAfter = true, 0
	}
	return rows
}
