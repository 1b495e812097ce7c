package guard

import (
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/policy"
)

const (
	mostInACall = 16              // limits; see gen/guard
	mostRows    = 2 * mostInACall // that a request may be held to
)

// resolved is whom the rows of a plan are about in one request.
type resolved struct {
	of        [mostRows + 1]string // by row, and the account's; "" where the request lacks the identity
	rows      rowSet               // of which it does not
	client    string               // whose receipts and name it has
	account   string
	attempts  string
	challenge string
	times     []int64 // how many times its limit each row has; nil where no override multiplies
	budgets   int64   // the same of the budgets
}

// resolve finds the subjects of a request that the rows of a plan count.
func (ps *plans) resolve(res *resolved, pl *plan, subjects []string) {
	res.budgets = 1
	for i := range pl.rows {
		if res.of[i] = pl.rows[i].whose.of(subjects); res.of[i] != "" {
			res.rows |= 1 << i
		}
	}
	of := func(w *whose) string {
		if w == nil {
			return ""
		}
		return w.of(subjects)
	}
	res.client = ps.client.of(subjects)
	if res.client == "" && len(subjects) > 0 {
		res.client = subjects[0]
	}
	res.account, res.attempts, res.challenge = of(pl.account), of(pl.attempts), of(pl.challenge)
	res.of[mostRows] = res.account
	if !ps.multiply {
		return
	}
	res.times = make([]int64, len(pl.rows))
	for i := range pl.rows {
		res.times[i] = pl.rows[i].whose.times(subjects, ps.overrides)
	}
	if pl.account != nil {
		res.budgets = pl.account.times(subjects, ps.overrides)
	}
}

// counted reports whether a request is held to anything that its plan has.
func (res *resolved) counted(pl *plan) bool {
	for i := range res.rows.all() {
		if !pl.rows[i].limit.Shadow {
			return true
		}
	}
	return res.attempts != "" && !pl.params.CountRefused
}

// bucket is the subject that a call is about first: whose attempts count, else the client.
func (res *resolved) bucket() string {
	if res.attempts != "" {
		return res.attempts
	}
	if res.client != "" {
		return res.client
	}
	return policy.GlobalPrefix + "none" // no block and no receipt is kept for it
}

// own joins the subjects of all that is not global: for them a refusal of the request holds.
func (res *resolved) own(pl *plan) string {
	var room [mostRows]string
	names := room[:0]
	add := func(s string) {
		if s != "" && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	for i := range res.rows.all() {
		if !pl.rows[i].limit.Global {
			add(res.of[i])
		}
	}
	add(res.account)
	add(res.challenge)
	switch len(names) {
	case 0:
		return res.client
	case 1:
		return names[0]
	}
	return strings.Join(names, "|")
}

// subjectsOf are the subjects of some rows; nil where each is the bucket.
func (res *resolved) subjectsOf(rows rowSet, bucket string) []fcall.Subject {
	same := true
	for i := range rows.all() {
		same = same && res.of[i] == bucket
	}
	if same {
		return nil
	}
	of := make([]fcall.Subject, 0, mostRows)
	for i := range rows.all() {
		of = append(of, fcall.Subject(res.of[i]))
	}
	return of
}
