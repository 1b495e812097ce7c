package guard

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
)

// A question is what is asked about a request: a call for each part.
type question struct {
	plan    *plan
	request Request
	times   int64 // how many times each limit and budget the subject has
	parts   []*part
	params  []guard.AdmitParams
	one     [1]guard.AdmitParams // what params is of, where there is one part
}

// ask makes the calls of a request: one, or where its keys are not on one server one for each part.
func (pl *plan) ask(r Request, times int64, split bool) *question {
	q := &question{plan: pl, request: r, times: times, parts: pl.whole}
	if split {
		q.parts = pl.split
	}
	if q.params = q.one[:]; len(q.parts) > 1 {
		q.params = make([]guard.AdmitParams, len(q.parts))
	}
	for i, pt := range q.parts {
		q.params[i] = q.call(pt)
	}
	return q
}

// call is a part's call.
func (q *question) call(pt *part) guard.AdmitParams {
	p, pl, r, s := pt.params, q.plan, &q.request, pt.times(q.times)
	p.Limits, p.Budgets = s.packed, s.packedBudgets
	if r.Weight > 1 {
		p.Weight = r.Weight
	}
	if pt.global != "" {
		return p
	}
	p.Bucket = fcall.Subject(r.Subject)
	if pt.of != nil {
		p.LimitsOf = make([]fcall.Subject, len(pt.of))
		for i, of := range pt.of {
			p.LimitsOf[i] = cmp.Or(of, p.Bucket)
		}
	}
	if pl.dedup > 0 && r.Receipt != "" {
		p.Receipt, p.Dedup = pl.receipt(r.Receipt), pl.dedup
	}
	if pt.challenge {
		p.Challenge, p.Payload = r.Challenge, r.Payload
	}
	if len(pt.budgets) > 0 {
		p.Estimate = pt.estimate
		if r.Estimate > 0 {
			p.Estimate = r.Estimate
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
	mostRows    = 16
)
