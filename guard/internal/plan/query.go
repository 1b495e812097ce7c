package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/internal/wire"
)

// A Query is the calls that decide one request: one call, or one for each subject if keys may be on several servers.
type Query struct {
	Resolved
	Plan      *Plan
	Request   Request
	OneServer bool   // one call has all keys
	Holder    string // of the places; "" if no row needs one
	Sent      monotime.Time
	Calls     []Call

	single     [1]Call          // storage for Calls, saves an allocation
	blockBuf   [4]fcall.Subject // storage for its subjects
	subjectBuf [4]fcall.Subject
}

// A Call evaluates some rows of a plan.
type Call struct {
	Params    guard.AdmitParams
	Limits    *Limits
	Account   *Account // nil if it charges no budgets
	Challenge bool     // it checks the challenge

	overflow RowSet // rows that do not fit into the call
}

// Build builds the calls of a request.
func (q *Query) Build(pl *Plan, r *Request, w *Resolved, split bool) {
	*q = Query{Plan: pl, Request: *r, Resolved: *w}
	if split {
		q.split()
		return
	}
	q.OneServer = true
	bucket := w.bucket()
	c := &q.single[0]
	q.Calls = q.single[:]
	c.Params = pl.Params
	c.Params.Subject = fcall.Subject(bucket)
	c.Params.Blocks = q.blockBuf[:0]
	for _, s := range r.Subjects {
		if s != bucket {
			c.Params.Blocks = append(c.Params.Blocks, fcall.Subject(s))
		}
	}
	q.setLimits(c, w.Rows, Share{})
	q.setBudgets(c, Share{})
	q.setChallenge(c)
	q.setReceipt(c, w.Client)
	if w.Attempts == "" {
		c.clearAttempts()
	}
	q.addOverflowCalls(Share{})
}

// split builds a call for each subject, the bucket's first and global limits last.
func (q *Query) split() {
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
		add(q.RowSubjects[i])
	}
	q.Calls = make([]Call, len(order))
	for n, s := range order {
		c := &q.Calls[n]
		c.Params.Subject = fcall.Subject(s)
		rows := RowSet(0)
		for i := range q.Rows.All() {
			if q.RowSubjects[i] == s {
				rows |= 1 << i
			}
		}
		if s == q.Attempts {
			c.Params = pl.Params
			c.Params.Subject = fcall.Subject(s)
		}
		c.Params.ChallengeRequired = false
		q.setLimits(c, rows, Share{})
		if pl.challenge != nil && (s == q.Challenge || q.Challenge == "" && n == 0) {
			c.Params.ChallengeRequired = pl.Params.ChallengeRequired
			q.setChallenge(c)
		}
		if s == q.Account {
			c.Params.Hold, c.Params.Penalty = pl.Params.Hold, pl.Params.Penalty
			q.setBudgets(c, Share{})
		}
		if !strings.HasPrefix(s, wire.GlobalPrefix) {
			q.setReceipt(c, s)
		}
	}
	q.addOverflowCalls(Share{})
}

// setLimits adds rows to a call, as many as fit.
func (q *Query) setLimits(c *Call, rows RowSet, share Share) {
	rows, c.overflow = rows.split(maxCallLimits)
	c.Limits = q.Plan.Limits(&q.Resolved, rows, share)
	if rows&q.Plan.Concurrent != 0 {
		if q.Holder == "" {
			q.Holder = fcall.NewToken()
		}
		c.Params.Holder = q.Holder
	}
	c.Params.Limits, c.Params.LimitsOf = c.Limits.Pack, q.subjectsOf(q.subjectStorage(), rows, string(c.Params.Subject))
	if q.Request.Weight > 1 {
		c.Params.Weight = q.Request.Weight
	}
}

// subjectStorage returns storage for subjects once, then nil.
func (q *Query) subjectStorage() []fcall.Subject {
	if q.subjectBuf[0] == "" {
		return q.subjectBuf[:0]
	}
	return nil
}

// addOverflowCalls adds calls for rows that did not fit, for a request to several endpoints.
func (q *Query) addOverflowCalls(share Share) {
	for i := 0; i < len(q.Calls); i++ {
		if rest := q.Calls[i].overflow; rest != 0 {
			q.Calls = append(q.Calls, Call{Params: guard.AdmitParams{Subject: q.Calls[i].Params.Subject}})
			q.setLimits(&q.Calls[len(q.Calls)-1], rest, share)
		}
	}
}

// setBudgets adds the budgets to a call.
func (q *Query) setBudgets(c *Call, share Share) {
	if q.Account == "" {
		return
	}
	c.Account = q.Plan.Account(&q.Resolved, share)
	c.Params.Budgets, c.Params.BudgetsOf = c.Account.Pack, fcall.Subject(q.Account)
	c.Params.Estimate = q.Plan.Estimate
	if q.Request.Estimate > 0 {
		c.Params.Estimate = q.Request.Estimate
	}
	if q.Receipt() == "" {
		c.Params.Reservation = fcall.NewToken()
	}
}

func (q *Query) setChallenge(c *Call) {
	c.Challenge = q.Plan.challenge != nil
	if q.Challenge != "" {
		c.Params.Challenge, c.Params.ChallengeOf, c.Params.Payload = q.Request.Challenge, fcall.Subject(q.Challenge), q.Request.Payload
	}
}

func (q *Query) setReceipt(c *Call, of string) {
	if receipt := q.Receipt(); receipt != "" && of != "" {
		c.Params.Receipt, c.Params.ReceiptOf = receipt, fcall.Subject(of)
		c.Params.Dedup, c.Params.Repeats = q.Plan.Dedup, q.Plan.repeats
	}
}

// clearAttempts makes the call count no attempt.
func (c *Call) clearAttempts() {
	c.Params.Tiers, c.Params.Escalation = guard.AdmitTiersPack{}, guard.AdmitEscalationPack{}
	c.Params.StrikeMemory, c.Params.CountRefused = 0, false
}

// OnlyGlobal reports whether a call evaluates only global limits.
func (c *Call) OnlyGlobal() bool {
	return strings.HasPrefix(string(c.Params.Subject), wire.GlobalPrefix)
}

// A LocalPart is the part of a query that failure mode local decides.
type LocalPart struct {
	Rows                      RowSet
	Account, Attempts, Blocks bool
}

// Any reports whether the part has anything to decide.
func (a LocalPart) Any() bool { return a.Rows != 0 || a.Account || a.Attempts || a.Blocks }

// Local returns the query to the embedded engine.
func (q *Query) Local(a LocalPart, share Share) *Query {
	local := &Query{Plan: q.Plan, Request: q.Request, Resolved: q.Resolved}
	local.Rows = a.Rows
	c := &local.single[0]
	local.Calls = local.single[:]
	if a.Attempts {
		c.Params = q.Plan.Params
	}
	c.Params.ChallengeRequired = false
	c.Params.Subject = fcall.Subject(q.bucket())
	local.setLimits(c, a.Rows, share)
	if a.Account {
		c.Params.Hold, c.Params.Penalty = q.Plan.Params.Hold, q.Plan.Params.Penalty
		local.setBudgets(c, share)
		c.Params.Reservation = q.Reservation()
	}
	local.setReceipt(c, q.Client)
	local.addOverflowCalls(share)
	return local
}

// Reservation returns the name of the calls' reservation. It is "" if Redis derives the name from the receipt, or the calls reserve
// nothing.
func (q *Query) Reservation() string {
	for i := range q.Calls {
		if q.Calls[i].Account != nil {
			return q.Calls[i].Params.Reservation
		}
	}
	return ""
}

// maxReceipt is the longest receipt in bytes; see gen/guard.
const maxReceipt = 224

// Receipt returns the request's receipt, prefixed by the endpoint so that it is not valid for another one. A long receipt is hashed.
func (q *Query) Receipt() string {
	own := q.Request.Receipt
	if own == "" || q.Plan.Dedup == 0 {
		return ""
	}
	named := q.Plan.endpoint.Name + ":" + own
	if len(named) <= maxReceipt && own[0] != '~' { // which marks a hash
		return named
	}
	sum := sha256.Sum256([]byte(own))
	return q.Plan.endpoint.Name + ":~" + hex.EncodeToString(sum[:])
}
