package guard

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A question is what is asked about a request: a call for each part.
type question struct {
	plan    *plan
	request Request
	times   int64 // how many times each limit and budget the subject has: the policy was held against that
	parts   []*part
	params  []guard.AdmitParams
	one     [1]guard.AdmitParams // what params is of, where there is one part
}

// ask makes the calls of a request.
func (pl *plan) ask(r Request, times int64) *question {
	q := &question{plan: pl, request: r, times: times, parts: pl.parts}
	if q.params = q.one[:]; len(q.parts) > 1 {
		q.params = make([]guard.AdmitParams, len(q.parts))
	}
	for i, pt := range q.parts {
		q.params[i] = q.call(pt)
	}
	return q
}

// call is a part's call. A limit of everybody is not multiplied for one subject.
func (q *question) call(pt *part) guard.AdmitParams {
	p, pl, r, times := pt.params, q.plan, &q.request, q.times
	if pt.global != "" {
		times = 1
	}
	if r.Weight != 1 || times > 1 {
		p.Limits = make([]guard.AdmitLimits, len(pt.params.Limits))
		copy(p.Limits, pt.params.Limits)
		for i := range p.Limits {
			p.Limits[i].Limit *= times
			p.Limits[i].Burst *= times
			if p.Limits[i].Kind != guard.AdmitLimitsKind(policy.SlidingLog) {
				p.Limits[i].Cost = new(*p.Limits[i].Cost * r.Weight)
			}
		}
	}
	if pt.global != "" {
		return p
	}
	p.Bucket = fcall.Subject(r.Subject)
	if pl.dedup > 0 && r.Receipt != "" {
		p.Receipt, p.Dedup = pl.receipt(r.Receipt), pl.dedup
	}
	if pt.challenge {
		p.Challenge, p.Payload = r.Challenge, r.Payload
	}
	if len(p.Budgets) > 0 {
		p.Estimate = pt.estimate
		if r.Estimate > 0 {
			p.Estimate = r.Estimate
		}
		if times > 1 {
			p.Budgets = make([]guard.AdmitBudgets, len(pt.params.Budgets))
			for i, b := range pt.params.Budgets {
				p.Budgets[i] = guard.AdmitBudgets{Budget: b.Budget * fcall.Micros(times), Window: b.Window}
			}
		}
		if p.Receipt == "" {
			p.Reservation = fcall.NewToken()
		}
	}
	return p
}

// receipt is a request's receipt as Redis keeps it. There receipts are the subject's: what was paid for at one endpoint must not pass
// at another.
func (pl *plan) receipt(own string) string {
	named := pl.endpoint.Name + ":" + own
	if len(named) <= mostReceipt {
		return named
	}
	sum := sha256.Sum256([]byte(own))
	return pl.endpoint.Name + ":~" + hex.EncodeToString(sum[:])
}

// What a call may name at most; see gen/guard.
const (
	mostReceipt = 224
	mostWeight  = 1_000_000
)
