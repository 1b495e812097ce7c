package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/moment"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A Question is what is asked about a request: one call, or where its keys are not on one server a call for each subject.
type Question struct {
	Whom
	Plan    *Plan
	Request Request
	Whole   bool // one server has every key
	Sent    moment.Moment
	Calls   []Call

	one    [1]Call          // what Calls is of, where there is one
	blocks [4]fcall.Subject // room for its subjects
	of     [4]fcall.Subject
}

// A Call is about some of a plan's rows.
type Call struct {
	Params    guard.AdmitParams
	Limits    *Limits
	Account   *Account // nil where it charges no budgets
	Challenge bool     // it looks at the challenge

	rest RowSet // what does not fit
}

// Ask makes the calls of a request: one, or where keys of several subjects are not on one server one for each subject.
func (q *Question) Ask(pl *Plan, r *Request, w *Whom, split bool) {
	*q = Question{Plan: pl, Request: *r, Whom: *w}
	if split {
		q.split()
		return
	}
	q.Whole = true
	bucket := w.bucket()
	c := &q.one[0]
	q.Calls = q.one[:]
	c.Params = pl.Params
	c.Params.Bucket = fcall.Subject(bucket)
	c.Params.Blocks = q.blocks[:0]
	for _, s := range r.Subjects {
		if s != bucket {
			c.Params.Blocks = append(c.Params.Blocks, fcall.Subject(s))
		}
	}
	q.put(c, w.Rows, Share{})
	q.putAccount(c, Share{})
	q.putChallenge(c)
	q.putReceipt(c, w.Client)
	if w.Attempts == "" {
		c.noAttempts()
	}
	q.spill(Share{})
}

// split makes a call for each subject: the bucket's first, those of global limits last.
func (q *Question) split() {
	pl, bucket := q.Plan, q.bucket()
	var order []string
	add := func(s string) {
		if s != "" && !slices.Contains(order, s) {
			order = append(order, s)
		}
	}
	add(bucket)
	for _, s := range q.Request.Subjects {
		add(s)
	}
	add(q.Account)
	add(q.Challenge)
	for i := range q.Rows.All() {
		add(q.Of[i])
	}
	q.Calls = make([]Call, len(order))
	for n, s := range order {
		c := &q.Calls[n]
		c.Params.Bucket = fcall.Subject(s)
		rows := RowSet(0)
		for i := range q.Rows.All() {
			if q.Of[i] == s {
				rows |= 1 << i
			}
		}
		if s == q.Attempts {
			c.Params = pl.Params
			c.Params.Bucket = fcall.Subject(s)
		}
		c.Params.ChallengeRequired = false
		q.put(c, rows, Share{})
		if pl.challenge != nil && (s == q.Challenge || q.Challenge == "" && n == 0) {
			c.Params.ChallengeRequired = pl.Params.ChallengeRequired
			q.putChallenge(c)
		}
		if s == q.Account {
			c.Params.Hold, c.Params.Penalty = pl.Params.Hold, pl.Params.Penalty
			q.putAccount(c, Share{})
		}
		if !strings.HasPrefix(s, policy.GlobalPrefix) {
			q.putReceipt(c, s)
		}
	}
	q.spill(Share{})
}

// put gives a call its limits, as many as fit.
func (q *Question) put(c *Call, rows RowSet, share Share) {
	rows, c.rest = rows.cut(mostInACall)
	c.Limits = q.Plan.Limits(&q.Whom, rows, share)
	c.Params.Limits, c.Params.LimitsOf = c.Limits.Pack, q.subjectsOf(q.room(), rows, string(c.Params.Bucket))
	if q.Request.Weight > 1 {
		c.Params.Weight = q.Request.Weight
	}
}

// room is room for subjects, once.
func (q *Question) room() []fcall.Subject {
	if q.of[0] == "" {
		return q.of[:0]
	}
	return nil
}

// spill makes further calls for the limits that do not fit, of a request that is held to several endpoints.
func (q *Question) spill(share Share) {
	for i := 0; i < len(q.Calls); i++ {
		if rest := q.Calls[i].rest; rest != 0 {
			q.Calls = append(q.Calls, Call{Params: guard.AdmitParams{Bucket: q.Calls[i].Params.Bucket}})
			q.put(&q.Calls[len(q.Calls)-1], rest, share)
		}
	}
}

// putAccount gives a call the budgets.
func (q *Question) putAccount(c *Call, share Share) {
	if q.Account == "" {
		return
	}
	c.Account = q.Plan.Account(&q.Whom, share)
	c.Params.Budgets, c.Params.BudgetsOf = c.Account.Pack, fcall.Subject(q.Account)
	c.Params.Estimate = q.Plan.Estimate
	if q.Request.Estimate > 0 {
		c.Params.Estimate = q.Request.Estimate
	}
	if q.Receipt() == "" {
		c.Params.Reservation = fcall.NewToken()
	}
}

func (q *Question) putChallenge(c *Call) {
	c.Challenge = q.Plan.challenge != nil
	if q.Challenge != "" {
		c.Params.Challenge, c.Params.ChallengeOf, c.Params.Payload = q.Request.Challenge, fcall.Subject(q.Challenge), q.Request.Payload
	}
}

func (q *Question) putReceipt(c *Call, of string) {
	if receipt := q.Receipt(); receipt != "" && of != "" {
		c.Params.Receipt, c.Params.ReceiptOf = receipt, fcall.Subject(of)
		c.Params.Dedup, c.Params.Repeats = q.Plan.Dedup, q.Plan.repeats
	}
}

// noAttempts makes a call one that is no attempt.
func (c *Call) noAttempts() {
	c.Params.Tiers, c.Params.Escalation = guard.AdmitTiersPack{}, guard.AdmitEscalationPack{}
	c.Params.StrikeMemory, c.Params.CountRefused = 0, false
}

// OnlyGlobal reports whether a call is about global limits alone.
func (c *Call) OnlyGlobal() bool {
	return strings.HasPrefix(string(c.Params.Bucket), policy.GlobalPrefix)
}

// Alone is what this process decides by itself.
type Alone struct {
	Rows                      RowSet
	Account, Attempts, Blocks bool
}

// Any reports whether it decides anything.
func (a Alone) Any() bool { return a.Rows != 0 || a.Account || a.Attempts || a.Blocks }

// Alone is the question to the engine in this process.
func (q *Question) Alone(a Alone, share Share) *Question {
	alone := &Question{Plan: q.Plan, Request: q.Request, Whom: q.Whom}
	alone.Rows = a.Rows
	c := &alone.one[0]
	alone.Calls = alone.one[:]
	if a.Attempts {
		c.Params = q.Plan.Params
	}
	c.Params.ChallengeRequired = false
	c.Params.Bucket = fcall.Subject(q.bucket())
	alone.put(c, a.Rows, share)
	if a.Account {
		c.Params.Hold, c.Params.Penalty = q.Plan.Params.Hold, q.Plan.Params.Penalty
		alone.putAccount(c, share)
		c.Params.Reservation = q.Reservation()
	}
	alone.putReceipt(c, q.Client)
	alone.spill(share)
	return alone
}

// Reservation is the name that the calls reserve by; "" where Redis makes one of the receipt, or nothing is reserved.
func (q *Question) Reservation() string {
	for i := range q.Calls {
		if q.Calls[i].Account != nil {
			return q.Calls[i].Params.Reservation
		}
	}
	return ""
}

// mostReceipt is how long a receipt may be in Redis; see gen/guard.
const mostReceipt = 224

// Receipt is the request's receipt as Redis keeps it: what was paid for at one endpoint must not pass at another.
func (q *Question) Receipt() string {
	own := q.Request.Receipt
	if own == "" || q.Plan.Dedup == 0 {
		return ""
	}
	named := q.Plan.endpoint.Name + ":" + own
	if len(named) <= mostReceipt {
		return named
	}
	sum := sha256.Sum256([]byte(own))
	return q.Plan.endpoint.Name + ":~" + hex.EncodeToString(sum[:])
}
