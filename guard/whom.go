package guard

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

// whom holds the subjects of one request, by row.
type whom struct {
	rowSubjects    [maxRows]string // "" if the request lacks the row's identity
	rows           rowSet          // rows whose identity the request has
	client         string          // the subject that owns receipts
	budgetSubjects []string        // as RowSubjects, by budget; nil without budgets
	budgets        rowSet          // budgets whose identity the request has
	units          []Amount        // what the request costs in the budgets' units; nil if no budget has one
	attempts       string
	challenge      string
	factors        []int64 // by row; nil if no override multiplies
	raised         []int64 // what overrides make of the budgets, in whole ones of a unit; nil if they raise none
}

// resolve fills in the subjects that the rows of an endpoint count. It returns an error for an amount in a unit that no budget has.
func (s *snapshot) resolve(w *whom, plan *plan, r *Request, o *exceptions) (err error) {
	subjects := r.Subjects
	if w.units, err = inUnits("guard.decide", plan.units, r.Units); err != nil {
		return err
	}
	if len(r.Unreserved) > 0 {
		w.units = slices.Clone(w.units)
	}
	for _, unit := range r.Unreserved {
		i := slices.IndexFunc(w.units, func(a Amount) bool { return a.Unit == unit })
		if i < 0 {
			return argumentError("Unreserved", "be units of the endpoint's budgets", strconv.Quote(unit))
		}
		w.units[i].N = max(w.units[i].N, 1)
	}
	for i := range plan.rows {
		if w.rowSubjects[i] = plan.rows[i].grouping.subject(subjects); w.rowSubjects[i] != "" {
			w.rows |= 1 << i
		}
	}
	w.client = s.client.subject(subjects)
	if w.client == "" && len(subjects) > 0 {
		w.client = subjects[0]
	}
	if len(plan.budgets) > 0 {
		w.budgetSubjects = make([]string, len(plan.budgets))
	}
	for i := range plan.budgets {
		if w.budgetSubjects[i] = plan.budgets[i].grouping.subject(subjects); w.budgetSubjects[i] != "" {
			w.budgets |= 1 << i
		}
	}
	w.attempts, w.challenge = plan.attempts.subject(subjects), plan.challenge.subject(subjects)
	if o == nil {
		return nil
	}
	if o.multiply {
		w.factors = make([]int64, len(plan.rows))
		for i := range plan.rows {
			w.factors[i] = plan.rows[i].grouping.factor(subjects, o.lookup)
		}
	}
	w.raised = plan.raised(w, subjects, o)
	return nil
}

// raised returns what overrides make of the budgets: a factor first, then a top-up. It returns nil if they raise none.
func (plan *plan) raised(w *whom, subjects []string, o *exceptions) []int64 {
	if !o.multiply && len(o.topUps) == 0 {
		return nil
	}
	all, more := make([]int64, len(plan.budgets)), false
	for i := range plan.budgets {
		b, subject := &plan.budgets[i], w.budgetSubjects[i]
		if b.grouping.global != "" {
			subject = policy.ByAll
		}
		raised := agreed.RaiseBudget(b.Unit, b.Budget.Budget, b.grouping.factor(subjects, o.lookup), o.topUps[topUpKey{subject, b.policy.Name}])
		all[i], more = int64(raised), more || raised != b.Budget.Budget
	}
	if !more {
		return nil
	}
	return all
}

// variant encodes how the limits and budgets differ from the endpoint's; "" if they do not.
func (w *whom) variant() string {
	text := encodeFactors(w.rows, w.factors)
	if raised := encode(w.budgets, w.raised); raised != "" {
		text += "$" + raised
	}
	return text
}

// counted reports whether any row that can refuse counts the request.
func (w *whom) counted(plan *plan) bool {
	for i := range w.rows.all() {
		if !plan.rows[i].limit.Shadow {
			return true
		}
	}
	return w.attempts != "" && !plan.params.CountRefused
}

// ownSubjects joins the subjects of all rows that are not global. A cached refusal is valid for requests with the same ones.
func (w *whom) ownSubjects(plan *plan) string {
	var room [maxRows]string
	names := room[:0]
	add := func(s string) {
		if s != "" && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	for i := range w.rows.all() {
		if !plan.rows[i].limit.Global {
			add(w.rowSubjects[i])
		}
	}
	for i := range w.budgets.all() {
		add(w.budgetSubjects[i])
	}
	add(w.challenge)
	switch len(names) {
	case 0:
		return w.client
	case 1:
		return names[0]
	}
	return strings.Join(names, "++") // no subject contains it, nor begins or ends with +
}

// bucket returns the subject of the call: of attempts if they count, else the client.
func (w *whom) bucket() string {
	if w.attempts != "" {
		return w.attempts
	}
	if w.client != "" {
		return w.client
	}
	return agreed.GlobalPrefix + "none" // has neither blocks nor receipts
}

// subjectsOf appends the subjects of rows to room. It returns nil if all equal the bucket.
func subjectsOf(room []fcall.Subject, subjects []string, rows rowSet, bucket string) []fcall.Subject {
	same := true
	for i := range rows.all() {
		same = same && subjects[i] == bucket
	}
	if same {
		return nil
	}
	for i := range rows.all() {
		room = append(room, fcall.Subject(subjects[i]))
	}
	return room
}

// A rowSet is a set of rows of an endpoint, by index.
type rowSet uint32

// has reports whether the set contains row i.
func (s rowSet) has(i int) bool { return s>>i&1 == 1 }

// rank returns the number of rows of the set before row i.
func (s rowSet) rank(i int) int { return bits.OnesCount64(uint64(s) & (1<<i - 1)) }

// all yields the rows in order.
func (s rowSet) all() iter.Seq[int] {
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

// countsAlone reports whether a limit counts one identity, neither a combination nor the first of several.
func (plan *plan) countsAlone(endpoint, limit string) bool {
	return slices.ContainsFunc(plan.rows, func(r planLimit) bool {
		return r.endpoint == endpoint && r.name == limit && len(r.grouping.parts) == 1 && len(r.grouping.parts[0]) == 1
	})
}

// blocksAlone reports whether the endpoint's block counts one identity, neither a combination nor the first of several.
func (plan *plan) blocksAlone() bool {
	return plan.attempts != nil && len(plan.attempts.parts) == 1 && len(plan.attempts.parts[0]) == 1
}

// costOf returns what a request of a weight costs in a limit.
func (plan *plan) costOf(endpoint, limit string, weight int64) int64 {
	for i := range plan.rows {
		if r := &plan.rows[i]; r.endpoint == endpoint && r.name == limit {
			if r.kind == policy.SlidingLog {
				weight = 1
			}
			return *r.limit.Cost * weight
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

// exceptions are the active exceptions for single subjects. Nil means none.
type exceptions struct {
	topUps   map[topUpKey]fcall.Micros // of a unit, whole ones
	lookup   *policy.Lookup
	multiply bool // some subject has a factor
	allow    bool // some subject has no limits
}

// A topUpKey is the budget that has a top-up, and its subject.
type topUpKey struct{ subject, budget string }

// current returns the active overrides.
func (s *snapshot) current() *exceptions { return s.exceptions.Load() }

// override replaces those set at run time from the next request on.
func (s *snapshot) override(atRuntime map[string]policy.Override, topUps []policy.TopUp) {
	o := s.policy.OverridesWith(atRuntime)
	if len(o.Allow)+len(o.Deny)+len(o.Multiply)+len(topUps) == 0 {
		s.exceptions.Store(nil)
		return
	}
	all := &exceptions{lookup: o.Lookup(), multiply: len(o.Multiply) > 0, allow: len(o.Allow) > 0, topUps: make(map[topUpKey]fcall.Micros, len(topUps))}
	for _, t := range topUps {
		all.topUps[topUpKey{t.Subject, t.Budget}] = fcall.Micros(t.Amount)
	}
	s.exceptions.Store(all)
}

// decide reports whether an override decides the request. A deny of any subject wins, and denied is that subject.
func (o *exceptions) decide(r *Request) (denied string, decided bool) {
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

// lifts reports whether an override raises or removes limits of some subject; a top-up raises a budget.
func (o *exceptions) lifts() bool { return o != nil && (o.allow || o.multiply) }

// multiplied returns the factors of subjects that have one.
func (o *exceptions) multiplied(subjects []string) map[string]int64 {
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
