package guard

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// An ask is the calls that decide one request: one call, or one for each subject if keys may be on several servers.
type ask struct {
	whom
	plan          *plan
	request       Request
	share         share  // the part of each limit that is enforced
	oneServer     bool   // one call has all keys
	holder        string // of the places; "" if no row needs one
	reservationID string // ID of what the calls reserve of budgets; "" if none does
	sent          monotime.Time
	calls         []call

	context *callContext // not a part of it, since a hook of the client may keep it

	single     [1]call          // storage for Calls, saves an allocation
	blockBuf   [4]fcall.Subject // storage for its subjects
	subjectBuf [4]fcall.Subject
}

// A call evaluates some rows of an endpoint.
type call struct {
	params    genguard.AdmitParams
	limits    *limitShape
	budgets   *budgetShape // nil if it charges none
	challenge bool         // it checks the challenge

	result genguard.AdmitResult
	err    error // why there is no result

	undecided bool // it is never made, see addUndecided
	permit    permit
}

// onlyLimits reports whether a call decides nothing but limits, which guard.check does in less time than guard.admit.
func onlyLimits(p *genguard.AdmitParams) bool {
	return p.Budgets.Len()+p.Tiers.Len() == 0 && p.Receipt == "" && p.Challenge == "" && !p.ChallengeRequired
}

// function returns the name of the function that a call calls.
func (c *call) function() string {
	if onlyLimits(&c.params) {
		return "check"
	}
	return "admit"
}

// decideCall makes a call.
func decideCall(ctx context.Context, client *genguard.Client, p *genguard.AdmitParams) (genguard.AdmitResult, error) {
	if !onlyLimits(p) {
		return client.Admit(ctx, *p)
	}
	r, err := client.Check(ctx, genguard.CheckParams{Subject: p.Subject, Blocks: p.Blocks, Limits: p.Limits, Weight: p.Weight, Holder: p.Holder})
	return genguard.AdmitResult{
		Allowed: r.Allowed, Reason: genguard.AdmitReason(r.Reason), Tier: r.Tier, Refused: r.Refused, RetryAfter: r.RetryAfter, At: r.At,
		Challenge: genguard.AdmitChallengeNone, Limits: r.Limits,
	}, err
}

// errors returns the first error that leaves the request undecided, and the first other one.
func (q *ask) errors() (undecided, failed error) {
	for i := range q.calls {
		switch err := q.calls[i].err; {
		case err == nil:
		case !isUndecided(err):
			failed = cmp.Or(failed, err)
		default:
			undecided = cmp.Or(undecided, err)
		}
	}
	return undecided, failed
}

// fail fails all calls.
func (q *ask) fail(err error) {
	for i := range q.calls {
		q.calls[i].err = err
	}
}

// inParts returns the query with a call for each subject.
func (q *ask) inParts() *ask {
	again := new(ask)
	again.build(q.plan, &q.request, &q.whom, true)
	for i := range q.calls {
		if c := &q.calls[i]; c.undecided {
			again.calls = append(again.calls, *c)
		}
	}
	return again
}

// run makes the calls in this process's engine, which answers at once.
func (q *ask) run(ctx context.Context, client *genguard.Client) {
	q.sent = monotime.Now()
	for i := range q.calls {
		if c := &q.calls[i]; c.err == nil {
			c.result, c.err = decideCall(ctx, client, &c.params)
		}
	}
}

// build builds the calls of a request.
func (q *ask) build(ep *plan, r *Request, w *whom, split bool) {
	*q = ask{plan: ep, request: *r, whom: *w}
	if split {
		q.split()
		return
	}
	q.oneServer = true
	bucket := w.bucket()
	c := &q.single[0]
	q.calls = q.single[:]
	c.params = ep.params
	c.params.Subject = fcall.Subject(bucket)
	c.params.Blocks = q.blockBuf[:0]
	for _, s := range r.Subjects {
		if s != bucket {
			c.params.Blocks = append(c.params.Blocks, fcall.Subject(s))
		}
	}
	q.setLimits(c, w.rows)
	q.setBudgets(c, w.budgets)
	q.setChallenge(c)
	q.setReceipt(c, w.client)
	if w.attempts == "" {
		c.clearAttempts()
	}
}

// split builds a call for each subject, the bucket's first and global limits last.
func (q *ask) split() {
	ep, bucket := q.plan, q.bucket()
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
	for i := range q.budgets.all() {
		add(q.budgetSubjects[i])
	}
	add(q.challenge)
	for i := range q.rows.all() {
		add(q.rowSubjects[i])
	}
	q.calls = make([]call, len(order))
	for n, s := range order {
		c := &q.calls[n]
		c.params.Subject = fcall.Subject(s)
		rows := rowSet(0)
		for i := range q.rows.all() {
			if q.rowSubjects[i] == s {
				rows |= 1 << i
			}
		}
		if s == q.attempts {
			c.params = ep.params
			c.params.Subject = fcall.Subject(s)
		}
		c.params.ChallengeRequired = false
		q.setLimits(c, rows)
		if ep.challenge != nil && (s == q.challenge || q.challenge == "" && n == 0) {
			c.params.ChallengeRequired = ep.params.ChallengeRequired
			q.setChallenge(c)
		}
		budgets := rowSet(0)
		for i := range q.budgets.all() {
			if q.budgetSubjects[i] == s {
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
func (q *ask) setLimits(c *call, rows rowSet) {
	c.limits = q.plan.limitShape(&q.whom, rows, q.share)
	if rows&q.plan.concurrent != 0 {
		if q.holder == "" {
			q.holder = fcall.NewToken()
		}
		c.params.Holder = q.holder
	}
	c.params.Limits = c.limits.pack.For(subjectsOf(q.subjectStorage(), q.rowSubjects[:], rows, string(c.params.Subject))...)
	if q.request.Weight > 1 {
		c.params.Weight = q.request.Weight
	}
}

// subjectStorage returns storage for subjects once, then nil.
func (q *ask) subjectStorage() []fcall.Subject {
	if q.subjectBuf[0] == "" {
		return q.subjectBuf[:0]
	}
	return nil
}

// setBudgets adds budgets to a call.
func (q *ask) setBudgets(c *call, rows rowSet) {
	if rows == 0 {
		return
	}
	if q.reservationID == "" {
		q.reservationID = fcall.NewToken()
	}
	c.budgets = q.plan.budgetShape(&q.whom, rows, q.share)
	c.params.Budgets = c.budgets.pack.For(subjectsOf(nil, q.budgetSubjects, rows, string(c.params.Subject))...)
	c.params.Hold = q.plan.params.Hold
	c.params.Estimate, c.params.Reservation = q.estimate(), q.reservationID
	c.params.Units = packUnits(q.units, q.request.Unreserved)
}

// estimate returns what the request costs in money.
func (q *ask) estimate() fcall.Micros {
	if q.request.Estimate > 0 {
		return q.request.Estimate
	}
	return q.plan.estimate
}

func (q *ask) setChallenge(c *call) {
	c.challenge = q.plan.challenge != nil
	if q.challenge != "" {
		c.params.Challenge, c.params.ChallengeOf, c.params.Payload = q.request.Challenge, fcall.Subject(q.challenge), q.request.Payload
	}
}

func (q *ask) setReceipt(c *call, of string) {
	if receipt := q.receipt(); receipt != "" && of != "" {
		c.params.Receipt, c.params.ReceiptOf = receipt, fcall.Subject(of)
		c.params.Dedup, c.params.Repeats = q.plan.dedup, q.plan.repeats
	}
}

// clearAttempts makes the call count no attempt.
func (c *call) clearAttempts() {
	c.params.Tiers, c.params.Escalation = fcall.Rows[genguard.AdmitTiers]{}, fcall.Rows[genguard.AdmitEscalation]{}
	c.params.Block, c.params.StrikeMemory, c.params.CountRefused = "", 0, false
}

// A localPart is the part of a query that failure mode local decides.
type localPart struct {
	rows, budgets rowSet
	attempts      bool
}

// any reports whether the part has anything to decide.
func (a localPart) any() bool { return a.rows|a.budgets != 0 || a.attempts }

// local returns the query to the embedded engine.
func (q *ask) local(a localPart, share share) *ask {
	local := &ask{plan: q.plan, request: q.request, whom: q.whom, share: share}
	local.rows, local.budgets = a.rows, a.budgets
	c := &local.single[0]
	local.calls = local.single[:]
	if a.attempts {
		c.params = q.plan.params
	}
	c.params.ChallengeRequired = false
	c.params.Subject = fcall.Subject(q.bucket())
	local.setLimits(c, a.rows)
	local.reservationID = q.reservationID
	local.setBudgets(c, a.budgets)
	local.setReceipt(c, q.client)
	return local
}

// maxReceipt is the longest receipt in bytes; see gen/guard.
const maxReceipt = 224

// receipt returns the request's receipt, prefixed by the endpoint so that it is not valid for another one. A long receipt is hashed.
func (q *ask) receipt() string {
	own := q.request.Receipt
	if own == "" || q.plan.dedup == 0 {
		return ""
	}
	named := q.plan.endpoint.Name + ":" + own
	if len(named) <= maxReceipt && own[0] != '~' { // which marks a hash
		return named
	}
	sum := sha256.Sum256([]byte(own))
	return q.plan.endpoint.Name + ":~" + hex.EncodeToString(sum[:])
}
