package model

import (
	"maps"
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	challenges "github.com/rlfunc/rlfunc/gen/challenge"
)

// Guard models admit, refund, renew and release of library guard: the models of its parts, on one subject's keys.
type Guard struct {
	limits     *Check // its receipts are not used
	costs      *Cost
	attempts   *Abuse
	challenges *Challenge
	clock      int64
	receipts   map[limitKey]receipt
	left       map[[2]string]int64 // the holders of a subject that release has marked, and the millisecond in which each mark expires
	admitted   map[string]Admitted
}

// AdmitCall has the arguments of admit; what is zero is absent.
type AdmitCall struct {
	Receipt      string
	Dedup        time.Duration
	Limits       []CheckLimit
	Weight       int64
	Budgets      []CostLimit
	Estimate     int64 // in money
	UnitEstimate int64 // in each other unit
	Unreserved   bool  // the other units are only checked
	Hold         time.Duration
	Reservation  string
	Attempt      abuse.AttemptParams // its subject is the call's
	CountRefused bool
	Challenge    string
	Required     bool
	Payload      string
	Holder       string
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
	At         time.Time // zero when refused
	Challenge  string
	Limits     []CheckRow
	Budgets    []CostRow
	Tiers      []abuse.AttemptTiersResult
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
		receipts: map[limitKey]receipt{}, left: map[[2]string]int64{}, admitted: map[string]Admitted{},
	}
}

// Admit answers admit.
func (m *Guard) Admit(subject string, c AdmitCall) (r AdmitResult, changed bool, err error) {
	_, left := m.left[[2]string{subject, c.Holder}]
	if err := c.limits().alone(); err != nil || len(c.Budgets) > 0 && c.Reservation == "" || left {
		return AdmitResult{}, false, ErrArgument
	}
	if left := m.attempts.subjects[subject].blockLeft(m.clock); left > 0 {
		return AdmitResult{Reason: "blocked", Tier: m.attempts.subjects[subject].tier, RetryAfter: left, Challenge: "none"}, false, nil
	}
	key := limitKey{subject, fcall.Suffix("receipt", c.Receipt)}
	known, paid := c.Receipt != "" && m.receipts[key].known(m.clock, c.dedup()), int64(0)
	if known {
		paid = m.receipts[key].paid
	}
	if err := c.limits().together(known, paid); err != nil {
		return AdmitResult{}, false, ErrArgument
	}
	r = AdmitResult{Allowed: true, Duplicate: known, Reason: "none"}
	own := false // whether anything but global limits refuses
	refuse := func(reason string, retry time.Duration) {
		if r.Allowed {
			r.Allowed, r.Reason = false, reason
		}
		r.RetryAfter = max(r.RetryAfter, retry)
	}
	limits, err := m.limits.judge(subject, c.limits(), known, paid)
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
	costs, free, err := m.judgeCosts(subject, c, known, m.receipts[key].amounts)
	if err != nil {
		return AdmitResult{}, false, err
	}
	if r.Budgets = costs.Limits; costs.Reason != "none" {
		if r.Allowed {
			r.Refused = costs.Refused
		}
		refuse(costs.Reason, costs.RetryAfter)
		own = true
	}
	c.Attempt.Subject = fcall.Subject(subject)
	if r.Challenge = m.judgeChallenge(subject, c, known); r.Challenge != "none" && r.Challenge != "consumed" {
		refuse("challenge", 0)
		own = true
	}
	counts := c.Attempt.Tiers.Len() > 0 && !known && (own || !c.CountRefused)
	m.countAttempts(c.Attempt, counts, &r, refuse)
	if !r.Allowed {
		if r.Challenge == "consumed" {
			r.Challenge = "unused"
		}
	} else {
		changed = m.take(subject, c, costs, free, counts, paid, &r)
	}
	if counts {
		_, _, _ = m.attempts.Attempt(c.Attempt)
	}
	return r, changed || counts, nil
}

// countAttempts fills in what the tiers tell, and refuses where the call is the threshold-th attempt of one.
func (m *Guard) countAttempts(c abuse.AttemptParams, counts bool, r *AdmitResult, refuse func(string, time.Duration)) {
	if c.Tiers.Len() == 0 {
		return
	}
	if !counts {
		s, _, _ := m.attempts.Status(abuse.StatusParams{Subject: c.Subject, Tiers: abuse.PackStatusTiers(windowsOf(c.Tiers.Each())...), StrikeMemory: c.StrikeMemory})
		r.Strikes = s.Strikes
		for i, t := range c.Tiers.Each() {
			r.Tiers = append(r.Tiers, abuse.AttemptTiersResult{Count: s.Tiers[i].Count, Remaining: max(t.Threshold-1-s.Tiers[i].Count, 0)})
		}
		return
	}
	a, _, _ := m.attempts.Clone().Attempt(c)
	r.Tier, r.Strikes, r.Tiers = a.Tier, a.Strikes, a.Tiers
	if !a.Allowed {
		refuse("tier", a.RetryAfter)
		r.Reason, r.Refused = "tier", 0
	}
}

// take takes all that a call asks for, and reports whether that is anything: of a duplicate what global limits cost.
func (m *Guard) take(subject string, c AdmitCall, a costAnswer, free, counts bool, paid int64, r *AdmitResult) (changed bool) {
	costs, changed := m.limits.takeAll(subject, c.limits(), CheckResult{Duplicate: r.Duplicate, Limits: r.Limits}, paid)
	reserves := len(c.Budgets) > 0
	if len(c.Budgets) > 0 && !free {
		r.Budgets = m.costs.charge(subject, c.cost(), a).Limits
		changed = true
	}
	if r.Challenge == "consumed" {
		_, _, _ = m.challenges.Consume(c.consume(subject))
		changed = true
	}
	key, weight := limitKey{subject, fcall.Suffix("receipt", c.Receipt)}, max(c.Weight, 1)
	if c.Receipt != "" && (r.Duplicate && (weight > paid || !free) || !r.Duplicate && (costs || counts || reserves || r.Challenge == "consumed")) {
		v := m.receipts[key].paidBy(weight, m.clock, c.dedup(), r.Duplicate)
		v.amounts = a.paid()
		m.receipts[key] = v
		changed = true
	}
	r.At = m.Now()
	m.admitted[subject] = Admitted{c, *r, m.clock}
	return changed
}

// judgeChallenge is the outcome of a call's challenge if nothing else refuses. A duplicate's challenge does not count.
func (m *Guard) judgeChallenge(subject string, c AdmitCall, known bool) string {
	switch {
	case known:
	case c.Challenge != "":
		r, _, _ := m.challenges.Clone().Consume(c.consume(subject))
		return string(r.Outcome)
	case c.Required:
		return "absent"
	}
	return "none"
}

func (c AdmitCall) consume(subject string) challenges.ConsumeParams {
	return challenges.ConsumeParams{Subject: fcall.Subject(subject), Token: c.Challenge, Payload: c.Payload}
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

// Remembers reports whether a receipt is stored, known or not.
func (m *Guard) Remembers(subject, receipt string) bool {
	_, ok := m.receipts[limitKey{subject, fcall.Suffix("receipt", receipt)}]
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
	maps.DeleteFunc(m.receipts, func(_ limitKey, r receipt) bool { return expired(m.clock, r.endMS) })
	maps.DeleteFunc(m.left, func(_ [2]string, endMS int64) bool { return expired(m.clock, endMS) })
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
	maps.Copy(ends, m.attempts.Expiries(subject))
	maps.Copy(ends, m.challenges.Expiries(subject))
	for key, r := range m.receipts {
		if key.subject == subject {
			ends[key.suffix] = r.endMS
		}
	}
	for id, endMS := range m.left {
		if id[0] == subject {
			ends["left:"+id[1]] = endMS
		}
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

// Timed reports whether deciding the limits alone takes the clock.
func (c AdmitCall) Timed() bool { return slices.ContainsFunc(c.Limits, CheckLimit.timed) }

// TakeResult is the answer of take.
type TakeResult struct {
	Allowed    bool
	Taken      int64
	Remaining  int64
	ResetAfter time.Duration
	RetryAfter time.Duration
	At         time.Time
}

// Take answers take.
func (m *Guard) Take(subject string, l CheckLimit, most int64) (r TakeResult, changed bool, err error) {
	if l.Kind == "sliding_log" || l.Cost != 1 || l.alone() != nil {
		return r, false, ErrArgument
	}
	l.Cost = most
	row, taken, changed, err := m.limits.AtMost(subject, l)
	if err != nil {
		return r, false, err
	}
	return TakeResult{row.Allowed, taken, row.Remaining, row.ResetAfter, row.RetryAfter, m.Now()}, changed, nil
}
