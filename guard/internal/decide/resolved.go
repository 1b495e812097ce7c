package decide

import (
	"iter"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

const maxRows = 16 // limits and budgets of a request; see gen/guard

// Resolved holds the subjects of one request, by row.
type Resolved struct {
	RowSubjects    [maxRows]string // "" if the request lacks the row's identity
	Rows           RowSet          // rows whose identity the request has
	Client         string          // the subject that owns receipts
	BudgetSubjects []string        // as RowSubjects, by budget; nil without budgets
	Budgets        RowSet          // budgets whose identity the request has
	Units          []Amount        // what the request costs in the budgets' units; nil if no budget has one
	Attempts       string
	Challenge      string
	Factors        []int64 // by row; nil if no override multiplies
	Raised         []int64 // what overrides make of the budgets, in whole ones of a unit; nil if they raise none
}

// Resolve fills in the subjects that the rows of an endpoint count. It returns an error for an amount in a unit that no budget has.
func (rules *Rules) Resolve(w *Resolved, ep *Endpoint, r *Request, o *Overrides) (err error) {
	subjects := r.Subjects
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
	if len(ep.budgets) > 0 {
		w.BudgetSubjects = make([]string, len(ep.budgets))
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
		raised := agreed.RaiseBudget(b.Unit, b.Budget.Budget, b.grouping.factor(subjects, o.lookup), o.topUps[topUpKey{subject, b.Policy.Name}])
		all[i], more = int64(raised), more || raised != b.Budget.Budget
	}
	if !more {
		return nil
	}
	return all
}

// Variant encodes how the limits and budgets differ from the endpoint's; "" if they do not.
func (w *Resolved) Variant() string {
	text := encodeFactors(w.Rows, w.Factors)
	if raised := encode(w.Budgets, w.Raised); raised != "" {
		text += "$" + raised
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
	return agreed.GlobalPrefix + "none" // has neither blocks nor receipts
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

// A grouping is a compiled policy.By: which requests a row counts together.
type grouping struct {
	global fcall.Subject // the subject of all requests; "" if the row is not global
	parts  [][]string    // for each identity of a combination, the prefixes of its possible subjects: "user="
}

// newGrouping compiles a policy's by. A global limit is counted under limitName.
func newGrouping(p *policy.Policy, by policy.By, limitName string) grouping {
	if by.Global() {
		return grouping{global: fcall.Subject(agreed.GlobalPrefix + limitName)}
	}
	var w grouping
	for _, name := range by {
		var marks []string
		for _, one := range p.Alternatives(name) {
			marks = append(marks, one+"=")
		}
		w.parts = append(w.parts, marks)
	}
	return w
}

// subject returns the subject that the row counts, or "" if the request lacks an identity.
func (w *grouping) subject(subjects []string) string {
	switch {
	case w == nil:
		return ""
	case w.global != "":
		return string(w.global)
	case len(w.parts) == 1:
		return firstOf(subjects, w.parts[0])
	}
	var b strings.Builder
	for i, marks := range w.parts {
		one := firstOf(subjects, marks)
		if one == "" {
			return ""
		}
		if i > 0 {
			b.WriteByte('+') // subjects never contain it
		}
		b.WriteString(one)
	}
	return b.String()
}

// CountsAlone reports whether a limit counts one identity, neither a combination nor the first of several.
func (ep *Endpoint) CountsAlone(endpoint, limit string) bool {
	return slices.ContainsFunc(ep.Rows, func(r Row) bool {
		return r.Endpoint == endpoint && r.Name == limit && len(r.grouping.parts) == 1 && len(r.grouping.parts[0]) == 1
	})
}

// BlocksAlone reports whether the endpoint's block counts one identity, neither a combination nor the first of several.
func (ep *Endpoint) BlocksAlone() bool {
	return ep.attempts != nil && len(ep.attempts.parts) == 1 && len(ep.attempts.parts[0]) == 1
}

// CostOf returns what a request of a weight costs in a limit.
func (ep *Endpoint) CostOf(endpoint, limit string, weight int64) int64 {
	for i := range ep.Rows {
		if r := &ep.Rows[i]; r.Endpoint == endpoint && r.Name == limit {
			if r.Kind == policy.SlidingLog {
				weight = 1
			}
			return *r.Limit.Cost * weight
		}
	}
	return 0
}

// factor returns the largest factor that overrides give to one of the row's subjects.
func (w *grouping) factor(subjects []string, o *policy.Lookup) int64 {
	n := int64(1)
	for _, marks := range w.parts {
		if one := firstOf(subjects, marks); one != "" {
			n = max(n, o.Of(one).Multiply)
		}
	}
	return n
}

// firstOf returns the first subject with the first of the prefixes that any subject has, or "".
func firstOf(subjects, marks []string) string {
	for _, mark := range marks {
		for _, s := range subjects {
			if strings.HasPrefix(s, mark) {
				return s
			}
		}
	}
	return ""
}

// Overrides are the active exceptions for single subjects. Nil means none.
type Overrides struct {
	topUps   map[topUpKey]fcall.Micros // of a unit, whole ones
	lookup   *policy.Lookup
	multiply bool // some subject has a factor
	allow    bool // some subject has no limits
}

// A topUpKey is the budget that has a top-up, and its subject.
type topUpKey struct{ subject, budget string }

// Overrides returns the active overrides.
func (rules *Rules) Overrides() *Overrides { return rules.overrides.Load() }

// Override replaces those set at run time from the next request on.
func (rules *Rules) Override(atRuntime map[string]policy.Override, topUps []policy.TopUp) {
	o := rules.Policy.OverridesWith(atRuntime)
	if len(o.Allow)+len(o.Deny)+len(o.Multiply)+len(topUps) == 0 {
		rules.overrides.Store(nil)
		return
	}
	all := &Overrides{lookup: o.Lookup(), multiply: len(o.Multiply) > 0, allow: len(o.Allow) > 0, topUps: make(map[topUpKey]fcall.Micros, len(topUps))}
	for _, t := range topUps {
		all.topUps[topUpKey{t.Subject, t.Budget}] = fcall.Micros(t.Amount)
	}
	rules.overrides.Store(all)
}

// Decide reports whether an override decides the request. A deny of any subject wins, and denied is that subject.
func (o *Overrides) Decide(r *Request) (denied string, decided bool) {
	if o == nil {
		return "", false
	}
	for _, s := range r.Subjects {
		if o.lookup.Of(s).Deny {
			return s, true
		}
	}
	for _, s := range r.Subjects {
		if o.lookup.Of(s).Allow {
			return "", true
		}
	}
	return "", false
}

// Lifts reports whether an override raises or removes limits of some subject; a top-up raises a budget.
func (o *Overrides) Lifts() bool { return o != nil && (o.allow || o.multiply) }

// Multiplied returns the factors of subjects that have one.
func (o *Overrides) Multiplied(subjects []string) map[string]int64 {
	times := map[string]int64{}
	if o == nil {
		return times
	}
	for _, s := range subjects {
		if n := o.lookup.Of(s).Multiply; n > 1 {
			times[s] = n
		}
	}
	return times
}
