package plan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/policy"
)

const (
	mostInACall = 16              // limits; see gen/guard
	mostRows    = 2 * mostInACall // that a request may be held to
)

// Whom is whom the rows of a plan are about in one request.
type Whom struct {
	Of        [mostRows]string // by row; "" where the request lacks the identity
	Rows      RowSet           // of which it does not
	Client    string           // whose receipts and name it has
	Account   string           // of the budgets
	Attempts  string
	Challenge string
	Times     []int64 // how many times its limit each row has; nil where no override multiplies
	Budgets   int64   // the same of the budgets
}

// Resolve finds the subjects of a request that the rows of a plan count.
func (ps *Plans) Resolve(w *Whom, pl *Plan, subjects []string, o *Overrides) {
	w.Budgets = 1
	for i := range pl.Rows {
		if w.Of[i] = pl.Rows[i].whose.of(subjects); w.Of[i] != "" {
			w.Rows |= 1 << i
		}
	}
	w.Client = ps.client.of(subjects)
	if w.Client == "" && len(subjects) > 0 {
		w.Client = subjects[0]
	}
	w.Account, w.Attempts, w.Challenge = pl.account.of(subjects), pl.attempts.of(subjects), pl.challenge.of(subjects)
	if o == nil || !o.multiply {
		return
	}
	w.Times = make([]int64, len(pl.Rows))
	for i := range pl.Rows {
		w.Times[i] = pl.Rows[i].whose.times(subjects, o.lookup)
	}
	if pl.account != nil {
		w.Budgets = pl.account.times(subjects, o.lookup)
	}
}

// Factors is a text of how many times each limit and budget a request has; "" for once.
func (w *Whom) Factors() string {
	text := timesText(w.Rows, w.Times)
	if w.Budgets != 1 {
		text += "$" + strconv.FormatInt(w.Budgets, 10)
	}
	return text
}

// Counted reports whether a request is held to anything that its plan has.
func (w *Whom) Counted(pl *Plan) bool {
	for i := range w.Rows.All() {
		if !pl.Rows[i].Limit.Shadow {
			return true
		}
	}
	return w.Attempts != "" && !pl.Params.CountRefused
}

// Own joins the subjects of all that is not global: for them a refusal of the request holds.
func (w *Whom) Own(pl *Plan) string {
	var room [mostRows]string
	names := room[:0]
	add := func(s string) {
		if s != "" && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	for i := range w.Rows.All() {
		if !pl.Rows[i].Limit.Global {
			add(w.Of[i])
		}
	}
	add(w.Account)
	add(w.Challenge)
	switch len(names) {
	case 0:
		return w.Client
	case 1:
		return names[0]
	}
	return strings.Join(names, "|")
}

// bucket is the subject that a call is about first: whose attempts count, else the client.
func (w *Whom) bucket() string {
	if w.Attempts != "" {
		return w.Attempts
	}
	if w.Client != "" {
		return w.Client
	}
	return policy.GlobalPrefix + "none" // no block and no receipt is kept for it
}

// subjectsOf are the subjects of some rows, in room if they fit; nil where each is the bucket.
func (w *Whom) subjectsOf(room []fcall.Subject, rows RowSet, bucket string) []fcall.Subject {
	same := true
	for i := range rows.All() {
		same = same && w.Of[i] == bucket
	}
	if same {
		return nil
	}
	for i := range rows.All() {
		room = append(room, fcall.Subject(w.Of[i]))
	}
	return room
}
