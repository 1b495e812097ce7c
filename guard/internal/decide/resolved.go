package decide

import (
	"iter"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/wire"
)

const (
	maxCallLimits = 16                // limits; see gen/guard
	maxRows       = 2 * maxCallLimits // limits of one request
)

// Resolved holds the subjects of one request, by row.
type Resolved struct {
	RowSubjects    [maxRows]string       // "" if the request lacks the row's identity
	Rows           RowSet                // rows whose identity the request has
	Client         string                // the subject that owns receipts
	BudgetSubjects [maxCallLimits]string // as RowSubjects, by budget
	Budgets        RowSet                // budgets whose identity the request has
	Units          []Amount              // what the request costs in the budgets' units; nil if no budget has one
	Attempts       string
	Challenge      string
	Factors        []int64 // by row; nil if no override multiplies
	Rates          []Rate  // by row; nil if the request brings none
	Raised         []int64 // what overrides make of the budgets, in whole ones of a unit; nil if they raise none
}

// Resolve fills in the subjects that the rows of an endpoint count. It returns an error for an amount in a unit that no budget has.
func (rules *Rules) Resolve(w *Resolved, ep *Endpoint, r *Request, o *Overrides) (err error) {
	subjects := r.Subjects
	w.Rates = ep.resolveRates(r.Rates)
	if w.Units, err = InUnits("guard.decide", ep.Units, r.Units); err != nil {
		return err
	}
	if len(r.Unreserved) > 0 {
		w.Units = slices.Clone(w.Units)
	}
	for _, unit := range r.Unreserved {
		i := slices.IndexFunc(w.Units, func(a Amount) bool { return a.Unit == unit })
		if i < 0 {
			return argumentError("Unreserved", "be units of the endpoint's budgets", strconv.Quote(unit))
		}
		w.Units[i].N = max(w.Units[i].N, 1)
	}
	for i := range ep.Rows {
		if w.RowSubjects[i] = ep.Rows[i].grouping.subject(subjects); w.RowSubjects[i] != "" {
			w.Rows |= 1 << i
		}
	}
	w.Client = rules.client.subject(subjects)
	if w.Client == "" && len(subjects) > 0 {
		w.Client = subjects[0]
	}
	for i := range ep.budgets {
		if w.BudgetSubjects[i] = ep.budgets[i].grouping.subject(subjects); w.BudgetSubjects[i] != "" {
			w.Budgets |= 1 << i
		}
	}
	w.Attempts, w.Challenge = ep.attempts.subject(subjects), ep.challenge.subject(subjects)
	if o == nil {
		return nil
	}
	if o.multiply {
		w.Factors = make([]int64, len(ep.Rows))
		for i := range ep.Rows {
			w.Factors[i] = ep.Rows[i].grouping.factor(subjects, o.lookup)
		}
	}
	w.Raised = ep.raised(w, subjects, o)
	return nil
}

// raised returns what overrides make of the budgets: a factor first, then a top-up. It returns nil if they raise none.
func (ep *Endpoint) raised(w *Resolved, subjects []string, o *Overrides) []int64 {
	if !o.multiply && len(o.topUps) == 0 {
		return nil
	}
	all, more := make([]int64, len(ep.budgets)), false
	for i := range ep.budgets {
		b, subject := &ep.budgets[i], w.BudgetSubjects[i]
		if b.grouping.global != "" {
			subject = policy.ByAll
		}
		raised := wire.RaiseBudget(b.Unit, b.Budget.Budget, b.grouping.factor(subjects, o.lookup), o.topUps[topUpKey{subject, b.Policy.Name}])
		all[i], more = int64(raised), more || raised != b.Budget.Budget
	}
	if !more {
		return nil
	}
	return all
}

// Variant encodes how the limits and budgets differ from the endpoint's; "" if they do not.
func (w *Resolved) Variant() string {
	text := w.variantOf(w.Rows)
	if raised := encode(w.Budgets, w.Raised); raised != "" {
		text += "$" + raised
	}
	for _, a := range w.Units {
		text += "$" + strconv.FormatInt(a.N, 10)
	}
	return text
}

// Counted reports whether any row that can refuse counts the request.
func (w *Resolved) Counted(ep *Endpoint) bool {
	for i := range w.Rows.All() {
		if !ep.Rows[i].Limit.Shadow {
			return true
		}
	}
	return w.Attempts != "" && !ep.Params.CountRefused
}

// OwnSubjects joins the subjects of all rows that are not global. A cached refusal is valid for requests with the same ones.
func (w *Resolved) OwnSubjects(ep *Endpoint) string {
	var room [maxRows]string
	names := room[:0]
	add := func(s string) {
		if s != "" && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	for i := range w.Rows.All() {
		if !ep.Rows[i].Limit.Global {
			add(w.RowSubjects[i])
		}
	}
	for i := range w.Budgets.All() {
		add(w.BudgetSubjects[i])
	}
	add(w.Challenge)
	switch len(names) {
	case 0:
		return w.Client
	case 1:
		return names[0]
	}
	return strings.Join(names, "++") // no subject contains it, nor begins or ends with +
}

// bucket returns the subject of the call: of attempts if they count, else the client.
func (w *Resolved) bucket() string {
	if w.Attempts != "" {
		return w.Attempts
	}
	if w.Client != "" {
		return w.Client
	}
	return wire.GlobalPrefix + "none" // has neither blocks nor receipts
}

// subjectsOf appends the subjects of rows to room. It returns nil if all equal the bucket.
func subjectsOf(room []fcall.Subject, subjects []string, rows RowSet, bucket string) []fcall.Subject {
	same := true
	for i := range rows.All() {
		same = same && subjects[i] == bucket
	}
	if same {
		return nil
	}
	for i := range rows.All() {
		room = append(room, fcall.Subject(subjects[i]))
	}
	return room
}

// A RowSet is a set of rows of an endpoint, by index.
type RowSet uint32

// Has reports whether the set contains row i.
func (s RowSet) Has(i int) bool { return s>>i&1 == 1 }

// Rank returns the number of rows of the set before row i.
func (s RowSet) Rank(i int) int { return bits.OnesCount64(uint64(s) & (1<<i - 1)) }

// All yields the rows in order.
func (s RowSet) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for left := uint32(s); left != 0; left &= left - 1 {
			if !yield(bits.TrailingZeros32(left)) {
				return
			}
		}
	}
}

// split separates the first n rows from the overflow.
func (s RowSet) split(n int) (first, overflow RowSet) {
	for i := range s.All() {
		if first.Rank(32) == n {
			return first, s &^ first
		}
		first |= 1 << i
	}
	return first, 0
}
