package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A question is what is asked about a request: one call, or where its keys are not on one server a call for each subject.
type question struct {
	plan    *plan
	request Request
	resolved
	whole bool // one server has every key
	sent  moment
	calls []call
	one   [1]call // what calls is of, where there is one
}

// A call is about some of a plan's rows.
type call struct {
	params  guard.AdmitParams
	rows    rowSet
	rest    rowSet // what does not fit
	limits  *packedLimits
	account *packedAccount // nil where it charges no budgets

	challenge bool // it looks at the challenge
	local     bool // its limits are this process's share
}

// ask makes the calls of a request.
func (pl *plan) ask(r *Request, res *resolved, split bool) *question {
	q := &question{plan: pl, request: *r, resolved: *res}
	if split {
		q.splitCalls()
		return q
	}
	q.whole = true
	bucket := res.bucket()
	c := &q.one[0]
	q.calls = q.one[:]
	c.params = pl.params
	c.params.Bucket = fcall.Subject(bucket)
	for _, s := range r.Subjects {
		if s != bucket {
			c.params.Blocks = append(c.params.Blocks, fcall.Subject(s))
		}
	}
	q.put(c, res.rows, false)
	q.putAccount(c, false)
	q.putChallenge(c)
	q.putReceipt(c, res.client)
	if res.attempts == "" {
		c.noAttempts()
	}
	q.spill(false)
	return q
}

// splitCalls makes a call for each subject: the bucket's first, those of global limits last.
func (q *question) splitCalls() {
	pl, bucket := q.plan, q.bucket()
	var order []string
	add := func(s string) {
		if s != "" && !slices.Contains(order, s) {
			order = append(order, s)
		}
	}
	add(bucket)
	for _, s := range q.request.Subjects {
		add(s)
	}
	add(q.account)
	add(q.challenge)
	for i := range q.rows.all() {
		add(q.of[i])
	}
	q.calls = make([]call, len(order))
	for n, s := range order {
		c := &q.calls[n]
		c.params.Bucket = fcall.Subject(s)
		rows := rowSet(0)
		for i := range q.rows.all() {
			if q.of[i] == s {
				rows |= 1 << i
			}
		}
		if s == q.attempts {
			c.params = pl.params
			c.params.Bucket = fcall.Subject(s)
		}
		c.params.ChallengeRequired = false
		q.put(c, rows, false)
		if pl.challenge != nil && (s == q.challenge || q.challenge == "" && n == 0) {
			c.params.ChallengeRequired = pl.params.ChallengeRequired
			q.putChallenge(c)
		}
		if s == q.account {
			c.params.Hold, c.params.Penalty = pl.params.Hold, pl.params.Penalty
			q.putAccount(c, false)
		}
		if !strings.HasPrefix(s, policy.GlobalPrefix) {
			q.putReceipt(c, s)
		}
	}
	q.spill(false)
}

// put gives a call its limits, as many as fit.
func (q *question) put(c *call, rows rowSet, local bool) {
	rows, c.rest = rows.cut(mostInACall)
	c.local = local
	c.rows, c.limits = rows, q.plan.pack(rows, local, q.times)
	c.params.Limits, c.params.LimitsOf = c.limits.pack, q.subjectsOf(rows, string(c.params.Bucket))
	if q.request.Weight > 1 {
		c.params.Weight = q.request.Weight
	}
}

// spill makes further calls for the limits that do not fit, of a request that is held to several endpoints.
func (q *question) spill(local bool) {
	for i := 0; i < len(q.calls); i++ {
		if rest := q.calls[i].rest; rest != 0 {
			q.calls = append(q.calls, call{params: guard.AdmitParams{Bucket: q.calls[i].params.Bucket}})
			q.put(&q.calls[len(q.calls)-1], rest, local)
		}
	}
}

// putAccount gives a call the budgets.
func (q *question) putAccount(c *call, local bool) {
	if q.account == "" {
		return
	}
	c.account = q.plan.packAccount(local, q.budgets)
	c.params.Budgets, c.params.BudgetsOf = c.account.pack, fcall.Subject(q.account)
	c.params.Estimate = q.plan.estimate
	if q.request.Estimate > 0 {
		c.params.Estimate = q.request.Estimate
	}
	if q.receipt() == "" {
		c.params.Reservation = fcall.NewToken()
	}
}

func (q *question) putChallenge(c *call) {
	c.challenge = q.plan.challenge != nil
	if q.challenge != "" {
		c.params.Challenge, c.params.ChallengeOf, c.params.Payload = q.request.Challenge, fcall.Subject(q.challenge), q.request.Payload
	}
}

func (q *question) putReceipt(c *call, of string) {
	if receipt := q.receipt(); receipt != "" && of != "" {
		c.params.Receipt, c.params.ReceiptOf = receipt, fcall.Subject(of)
		c.params.Dedup, c.params.Repeats = q.plan.dedup, q.plan.repeats
	}
}

// noAttempts makes a call one that is no attempt.
func (c *call) noAttempts() {
	c.params.Tiers, c.params.Escalation = guard.AdmitTiersPack{}, guard.AdmitEscalationPack{}
	c.params.StrikeMemory, c.params.CountRefused = 0, false
}

// mostReceipt is how long a receipt may be in Redis; see gen/guard.
const mostReceipt = 224

// receipt is the request's receipt as Redis keeps it: what was paid for at one endpoint must not pass at another.
func (q *question) receipt() string {
	own := q.request.Receipt
	if own == "" || q.plan.dedup == 0 {
		return ""
	}
	named := q.plan.endpoint.Name + ":" + own
	if len(named) <= mostReceipt {
		return named
	}
	sum := sha256.Sum256([]byte(own))
	return q.plan.endpoint.Name + ":~" + hex.EncodeToString(sum[:])
}
