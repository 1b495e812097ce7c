package decide

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// A Query is the calls that decide one request: one call, or one for each subject if keys may be on several servers.
type Query struct {
	Resolved
	Endpoint    *Endpoint
	Request     Request
	Share       Share  // the part of each limit that is enforced
	OneServer   bool   // one call has all keys
	Holder      string // of the places; "" if no row needs one
	Reservation string // ID of what the calls reserve of budgets; "" if none does
	Sent        monotime.Time
	Calls       []Call

	context *callContext // not a part of it, since a hook of the client may keep it

	single     [1]Call          // storage for Calls, saves an allocation
	blockBuf   [4]fcall.Subject // storage for its subjects
	subjectBuf [4]fcall.Subject
}

// A Call evaluates some rows of an endpoint.
type Call struct {
	Params    guard.AdmitParams
	Limits    *Limits
	Budgets   *Budgets // nil if it charges none
	Challenge bool     // it checks the challenge

	Result guard.AdmitResult
	Err    error // why there is no result

	undecided bool // it is never made, see AddUndecided
	permit    Permit
}

// Errors returns the first error that leaves the request undecided, and the first other one.
func (q *Query) Errors() (undecided, failed error) {
	for i := range q.Calls {
		switch err := q.Calls[i].Err; {
		case err == nil:
		case !Undecided(err):
			failed = cmp.Or(failed, err)
		default:
			undecided = cmp.Or(undecided, err)
		}
	}
	return undecided, failed
}

// fail fails all calls.
func (q *Query) fail(err error) {
	for i := range q.Calls {
		q.Calls[i].Err = err
	}
}

// Split returns the query with a call for each subject.
func (q *Query) Split() *Query {
	again := new(Query)
	again.Build(q.Endpoint, &q.Request, &q.Resolved, true)
	for i := range q.Calls {
		if c := &q.Calls[i]; c.undecided {
			again.Calls = append(again.Calls, *c)
		}
	}
	return again
}

// Run makes the calls in this process's engine, which answers at once.
func (q *Query) Run(ctx context.Context, client *guard.Client) {
	q.Sent = monotime.Now()
	for i := range q.Calls {
		if c := &q.Calls[i]; c.Err == nil {
			c.Result, c.Err = client.Admit(ctx, c.Params)
		}
	}
}

// Build builds the calls of a request.
func (q *Query) Build(ep *Endpoint, r *Request, w *Resolved, split bool) {
	*q = Query{Endpoint: ep, Request: *r, Resolved: *w}
	if split {
		q.split()
		return
	}
	q.OneServer = true
	bucket := w.bucket()
	c := &q.single[0]
	q.Calls = q.single[:]
	c.Params = ep.Params
	c.Params.Subject = fcall.Subject(bucket)
	c.Params.Blocks = q.blockBuf[:0]
	for _, s := range r.Subjects {
		if s != bucket {
			c.Params.Blocks = append(c.Params.Blocks, fcall.Subject(s))
		}
	}
	q.setLimits(c, w.Rows)
	q.setBudgets(c, w.Budgets)
	q.setChallenge(c)
	q.setReceipt(c, w.Client)
	if w.Attempts == "" {
		c.clearAttempts()
	}
}

// split builds a call for each subject, the bucket's first and global limits last.
func (q *Query) split() {
	ep, bucket := q.Endpoint, q.bucket()
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
	for i := range q.Budgets.All() {
		add(q.BudgetSubjects[i])
	}
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
			c.Params = ep.Params
			c.Params.Subject = fcall.Subject(s)
		}
		c.Params.ChallengeRequired = false
		q.setLimits(c, rows)
		if ep.challenge != nil && (s == q.Challenge || q.Challenge == "" && n == 0) {
			c.Params.ChallengeRequired = ep.Params.ChallengeRequired
			q.setChallenge(c)
		}
		budgets := RowSet(0)
		for i := range q.Budgets.All() {
			if q.BudgetSubjects[i] == s {
				budgets |= 1 << i
			}
		}
		q.setBudgets(c, budgets)
		if !strings.HasPrefix(s, agreed.GlobalPrefix) {
			q.setReceipt(c, s)
		}
	}
}

// setLimits adds rows to a call.
func (q *Query) setLimits(c *Call, rows RowSet) {
	c.Limits = q.Endpoint.Limits(&q.Resolved, rows, q.Share)
	if rows&q.Endpoint.Concurrent != 0 {
		if q.Holder == "" {
			q.Holder = fcall.NewToken()
		}
		c.Params.Holder = q.Holder
	}
	c.Params.Limits = c.Limits.Pack.For(subjectsOf(q.subjectStorage(), q.RowSubjects[:], rows, string(c.Params.Subject))...)
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

// setBudgets adds budgets to a call.
func (q *Query) setBudgets(c *Call, rows RowSet) {
	if rows == 0 {
		return
	}
	if q.Reservation == "" {
		q.Reservation = fcall.NewToken()
	}
	c.Budgets = q.Endpoint.Budgets(&q.Resolved, rows, q.Share)
	c.Params.Budgets = c.Budgets.Pack.For(subjectsOf(nil, q.BudgetSubjects, rows, string(c.Params.Subject))...)
	c.Params.Hold = q.Endpoint.Params.Hold
	c.Params.Estimate, c.Params.Reservation = q.Estimate(), q.Reservation
	c.Params.Units = packUnits(q.Units, q.Request.Unreserved)
}

// Estimate returns what the request costs in money.
func (q *Query) Estimate() fcall.Micros {
	if q.Request.Estimate > 0 {
		return q.Request.Estimate
	}
	return q.Endpoint.Estimate
}

func (q *Query) setChallenge(c *Call) {
	c.Challenge = q.Endpoint.challenge != nil
	if q.Challenge != "" {
		c.Params.Challenge, c.Params.ChallengeOf, c.Params.Payload = q.Request.Challenge, fcall.Subject(q.Challenge), q.Request.Payload
	}
}

func (q *Query) setReceipt(c *Call, of string) {
	if receipt := q.Receipt(); receipt != "" && of != "" {
		c.Params.Receipt, c.Params.ReceiptOf = receipt, fcall.Subject(of)
		c.Params.Dedup, c.Params.Repeats = q.Endpoint.Dedup, q.Endpoint.repeats
	}
}

// clearAttempts makes the call count no attempt.
func (c *Call) clearAttempts() {
	c.Params.Tiers, c.Params.Escalation = fcall.Rows[guard.AdmitTiers]{}, fcall.Rows[guard.AdmitEscalation]{}
	c.Params.Block, c.Params.StrikeMemory, c.Params.CountRefused = "", 0, false
}

// A LocalPart is the part of a query that failure mode local decides.
type LocalPart struct {
	Rows, Budgets RowSet
	Attempts      bool
}

// Any reports whether the part has anything to decide.
func (a LocalPart) Any() bool { return a.Rows|a.Budgets != 0 || a.Attempts }

// Local returns the query to the embedded engine.
func (q *Query) Local(a LocalPart, share Share) *Query {
	local := &Query{Endpoint: q.Endpoint, Request: q.Request, Resolved: q.Resolved, Share: share}
	local.Rows, local.Budgets = a.Rows, a.Budgets
	c := &local.single[0]
	local.Calls = local.single[:]
	if a.Attempts {
		c.Params = q.Endpoint.Params
	}
	c.Params.ChallengeRequired = false
	c.Params.Subject = fcall.Subject(q.bucket())
	local.setLimits(c, a.Rows)
	local.Reservation = q.Reservation
	local.setBudgets(c, a.Budgets)
	local.setReceipt(c, q.Client)
	return local
}

// maxReceipt is the longest receipt in bytes; see gen/guard.
const maxReceipt = 224

// Receipt returns the request's receipt, prefixed by the endpoint so that it is not valid for another one. A long receipt is hashed.
func (q *Query) Receipt() string {
	own := q.Request.Receipt
	if own == "" || q.Endpoint.Dedup == 0 {
		return ""
	}
	named := q.Endpoint.endpoint.Name + ":" + own
	if len(named) <= maxReceipt && own[0] != '~' { // which marks a hash
		return named
	}
	sum := sha256.Sum256([]byte(own))
	return q.Endpoint.endpoint.Name + ":~" + hex.EncodeToString(sum[:])
}
