package annotation

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// A mustWord is one word of a @must row.
type mustWord struct {
	text string
	col  int
}

// A mustReader reads `@must cost be at most limit unless shadow: it can never be allowed`.
type mustReader struct {
	*fieldReader
	line   int
	fn     *spec.Function
	rows   *spec.Field // the group whose rows a lib file declares, if the rule is that file's
	ofRow  []string    // names of its fields that the rule has
	words  []mustWord
	end    int // column behind the last word
	rule   spec.Rule
	bad    bool
	absent string // the name of an argument that the function lacks, if the rule is a lib file's
}

const mustForms = "be given, be omitted, be at most, be at least, be above, be below, be VALUE, not be VALUE, differ, or have as many rows as"

// readRules reads the @must rows of the lib files that declare rows of a function's groups, and those of the function, once its arguments
// are known.
func (r *fieldReader) readRules(fn *spec.Function, own []row) {
	for i := range fn.Params {
		lib := r.libs[fn.Params[i].Rows]
		if lib == nil {
			continue
		}
		theirs := &fieldReader{path: lib.File.Path, found: r.found, libs: r.libs, lib: true}
		for _, rw := range lib.musts {
			if absent := theirs.readMust(fn, rw, &fn.Params[i]); absent == "" {
				lib.held[rw.line] = true
			}
		}
	}
	for _, rw := range own {
		r.readMust(fn, rw, nil)
	}
}

// readMust adds one rule to a function, unless it has a finding. A rule of a lib file may name arguments of functions besides the fields of
// its rows; it returns the name of one that this function lacks.
func (r *fieldReader) readMust(fn *spec.Function, rw row, rows *spec.Field) (absent string) {
	text := rw.doc(rw.text)
	asked, _, _ := strings.Cut(text, ":")
	m := &mustReader{fieldReader: r, line: rw.line, fn: fn, rows: rows, end: rw.textCol + len(rw.text)}
	m.rule.Line, m.rule.Col = rw.line, rw.textCol
	if r.lib {
		m.rule.File, m.rule.Group = r.path, rows.Name
	}
	m.split(asked, rw)
	if len(m.words) == 0 {
		r.add(rw.line, rw.col, RuleMust, "@must says what arguments must be together, as `@must cost be at most limit`")
		return ""
	}
	m.read()
	if !m.bad {
		m.write(text)
		fn.Rules = append(fn.Rules, m.rule)
	}
	return m.absent
}

// paths are those of all arguments that rules may name.
func paths(params []spec.Field) (all []string) {
	for _, p := range params {
		if p.Kind == spec.KindKey {
			continue
		}
		all = append(all, p.Name)
		for _, f := range p.Fields {
			if p.Kind.Group() && f.Kind != spec.KindKey {
				all = append(all, p.Name+"."+f.Name)
			}
		}
	}
	return all
}

// split cuts a row into words, signs and commas apart.
func (m *mustReader) split(text string, rw row) {
	at := 0
	for at < len(text) {
		if strings.IndexByte(" \t", text[at]) >= 0 {
			at++
			continue
		}
		end := at + 1
		if strings.IndexByte(",+*", text[at]) < 0 {
			for end < len(text) && strings.IndexByte(" \t,+*", text[end]) < 0 {
				end++
			}
		}
		m.words = append(m.words, mustWord{text[at:end], rw.textCol + min(at, len(rw.text))})
		at = end
	}
}

func (m *mustReader) refuse(w mustWord, format string, args ...any) {
	if !m.bad {
		m.add(m.line, w.col, RuleMust, format, args...)
	}
	m.bad = true
}

// peek returns the next word; an empty one at the end.
func (m *mustReader) peek() mustWord {
	if len(m.words) == 0 {
		return mustWord{col: m.end}
	}
	return m.words[0]
}

func (m *mustReader) next() mustWord {
	w := m.peek()
	m.words = m.words[min(1, len(m.words)):]
	return w
}

// take takes the words if they come next.
func (m *mustReader) take(words ...string) bool {
	for i, w := range words {
		if i >= len(m.words) || m.words[i].text != w {
			return false
		}
	}
	m.words = m.words[len(words):]
	return true
}

// path returns the path of an argument that a rule names. In a lib file the names of the row's fields come first.
func (m *mustReader) path(name string) string {
	if m.rows != nil && slices.ContainsFunc(m.rows.Fields, func(f spec.Field) bool { return f.Name == name }) {
		m.ofRow = append(m.ofRow, name)
		return m.rows.Name + "." + name
	}
	return name
}

// field reads the name of an argument.
func (m *mustReader) field(w mustWord) (path string, f spec.Field) {
	path = m.path(w.text)
	f, ok := m.fn.Arg(path)
	switch {
	case m.bad:
		return path, f
	case (!ok || f.Kind == spec.KindKey) && m.rows != nil && nameForm.MatchString(w.text):
		m.absent, m.bad = w.text, true
		return path, f
	case !ok || f.Kind == spec.KindKey:
		m.refuse(w, "no argument is called %q%s", w.text, spelling.DidYouMean(w.text, paths(m.fn.Params)))
		return path, f
	}
	if group, _, inRow := strings.Cut(path, "."); inRow {
		switch g, _ := m.fn.Arg(group); {
		case !g.Kind.Group():
			m.refuse(w, "%s is a %s: rules name the fields of groups only", group, g.Kind)
		case m.rule.Group != "" && m.rule.Group != group:
			m.refuse(w, "%s and %s are different groups: a rule is about the rows of one", m.rule.Group, group)
		}
		m.rule.Group = group
	}
	return path, f
}

func (m *mustReader) read() {
	subject := m.peek()
	be := slices.IndexFunc(m.words, func(w mustWord) bool { return w.text == "be" })
	if be > 0 && be+1 < len(m.words) && slices.Contains([]string{"at", "above", "below"}, m.words[be+1].text) {
		m.compare(m.expression())
	} else {
		fields, either := m.list()
		m.verb(subject, fields, either)
	}
	m.conditions()
	if w := m.peek(); w.text != "" {
		m.refuse(w, "unexpected %q: a reason follows a colon", w.text)
	}
}

// list reads `a`, `a and b`, or `a, b or c`.
func (m *mustReader) list() (fields []mustWord, either bool) {
	for !m.bad {
		w := m.next()
		path, _ := m.field(w)
		fields = append(fields, w)
		m.rule.Fields = append(m.rule.Fields, path)
		switch {
		case m.take("or"):
			either = true
		case !m.take("and") && !m.take(","):
			return fields, either
		}
	}
	return fields, either
}

func (m *mustReader) verb(subject mustWord, fields []mustWord, either bool) {
	w := m.peek()
	one := func() {
		if len(fields) > 1 {
			m.refuse(fields[1], "only rules that say given or omitted are about several arguments: write a rule for %s", fields[1].text)
		}
	}
	switch {
	case m.bad:
	case m.take("be", "given"):
		m.rule.Kind = spec.RuleGiven
		if either {
			m.rule.Kind = spec.RuleOneGiven
		}
		m.presence(fields)
	case m.take("be", "omitted"):
		m.rule.Kind = spec.RuleOmitted
		m.presence(fields)
	case m.take("differ"):
		one()
		m.differ(subject)
	case m.take("have", "as", "many", "rows", "as"):
		one()
		m.rule.Kind = spec.RuleAsMany
		other := m.next()
		for _, w := range []mustWord{subject, other} {
			if _, f := m.field(w); !f.Kind.Group() && !f.Kind.Repeated() {
				m.refuse(w, "%s has no rows", w.text)
			}
		}
		m.rule.Fields = append(m.rule.Fields, other.text)
	case m.take("not", "be"):
		one()
		m.values(subject, spec.RuleIsNot)
	case w.text != "be":
		m.refuse(w, "@must %s has no rule: write one of %s", subject.text, mustForms)
	default:
		m.next()
		one()
		m.values(subject, spec.RuleIs)
	}
}

// presence finds fields that are always there.
func (m *mustReader) presence(fields []mustWord) {
	for _, w := range fields {
		_, f := m.field(w)
		switch {
		case m.bad || mayLack(f):
		case m.rows != nil && m.rule.Kind == spec.RuleGiven: // other functions omit it
			m.bad = true
		default:
			m.refuse(w, "%s is always there: only an argument that is optional and has no default, or may have no rows, is given or omitted", w.text)
		}
	}
}

// mayLack reports whether a call can lack the argument, so that it has no value.
func mayLack(f spec.Field) bool {
	if f.Kind.Group() || f.Kind.Repeated() {
		return f.Min == 0
	}
	_, given := f.DefaultWord()
	return f.Kind == spec.KindBool || f.Optional && !given
}

// differ reads what is behind `limits differ`: `in kind and name`, nothing, or `from payer`.
func (m *mustReader) differ(subject mustWord) {
	m.rule.Kind = spec.RuleDiffer
	_, f := m.field(subject)
	switch {
	case m.bad:
	case m.take("from"):
		other := m.next()
		path, g := m.field(other)
		if !m.bad && (f.Kind != g.Kind || f.Kind.Group() || f.Kind.Repeated() || f.Kind == spec.KindFloat) {
			m.refuse(other, "%s is a %s and %s a %s: only values of one type, without fractions, differ from each other", subject.text, f.Kind, other.text, g.Kind)
		}
		m.rule.Fields = append(m.rule.Fields, path)
	case f.Kind == spec.KindList:
		m.rule.Group = subject.text
		if f.Fields[0].Kind == spec.KindFloat {
			m.refuse(subject, "items with fractions cannot be told apart")
		}
	case !f.Kind.Group():
		m.refuse(subject, "%s is a %s: the rows of a group or the items of a list differ, or one argument from another", subject.text, f.Kind)
	case !m.take("in"):
		m.refuse(m.peek(), "say in which fields the rows of %s differ: differ in name", subject.text)
	default:
		m.rule.Fields = nil
		for !m.bad {
			w := m.next()
			w.text = subject.text + "." + strings.TrimPrefix(w.text, subject.text+".")
			path, f := m.field(w)
			if f.Kind == spec.KindFloat {
				m.refuse(w, "%s has a fraction: rows cannot be told apart by it", path)
			}
			m.rule.Fields = append(m.rule.Fields, path)
			if !m.take("or") && !m.take("and") && !m.take(",") {
				return
			}
		}
	}
}

// values reads `kind be gcra or quota` and `cost be 1`.
func (m *mustReader) values(subject mustWord, kind spec.RuleKind) {
	m.rule.Kind = kind
	_, f := m.field(subject)
	if !m.bad && f.Kind != spec.KindEnum && !f.Kind.Integer() {
		m.refuse(m.peek(), "%s is a %s: only enums and whole numbers have values in rules; otherwise write one of %s", subject.text, f.Kind, mustForms)
	}
	for !m.bad {
		w := m.next()
		m.rule.Values = append(m.rule.Values, m.valueOf(f, w))
		if !m.take("or") && !m.take(",") {
			return
		}
	}
}

func (m *mustReader) valueOf(f spec.Field, w mustWord) string {
	if w.text == "" {
		m.refuse(w, "say what %s is: one of its values", f.Name)
		return ""
	}
	if f.Kind == spec.KindEnum {
		if !slices.Contains(f.Values, w.text) {
			m.refuse(w, "%s has no value %q%s (values: %s)", f.Name, w.text, spelling.DidYouMean(w.text, f.Values), strings.Join(f.Values, ", "))
		}
		return w.text
	}
	n, message := readBound(w.text, f.Kind)
	switch {
	case message != "":
		m.refuse(w, "%s", message)
	case n < f.Min || n > f.Max:
		m.refuse(w, "%s is outside the bounds of %s", w.text, f.Name)
	}
	return strconv.FormatInt(n, 10)
}

// A side is one of a comparison, with the unit of what it amounts to, which a product has not.
type side struct {
	spec.Expression
	unit string
}

// compare reads what is behind the left side of a comparison.
func (m *mustReader) compare(left side) {
	if w := m.peek(); !m.take("be") {
		m.refuse(w, "unexpected %q", w.text)
	}
	how, swap := m.next(), false
	m.rule.Kind = spec.RuleBelow
	switch {
	case m.bad:
		return
	case how.text == "at" && m.take("most"):
		m.rule.Kind = spec.RuleAtMost
	case how.text == "at" && m.take("least"):
		m.rule.Kind, swap = spec.RuleAtMost, true
	case how.text == "above":
		swap = true
	case how.text != "below":
		m.refuse(how, "a comparison is at most, at least, above or below")
		return
	}
	w := m.peek()
	right := m.expression()
	if !m.bad && left.unit != "" && right.unit != "" && left.unit != right.unit {
		m.refuse(w, "a %s cannot be compared with a %s", left.unit, right.unit)
	}
	m.rule.Left, m.rule.Right = &left.Expression, &right.Expression
	if swap {
		m.rule.Left, m.rule.Right = m.rule.Right, m.rule.Left
	}
	if len(m.rule.Fields) == 0 {
		m.refuse(how, "the rule compares no arguments")
	}
}

// expression reads a sum or a product.
func (m *mustReader) expression() side {
	var e side
	for !m.bad {
		first := len(e.Terms) == 0
		w := m.peek()
		unit := m.operand(&e)
		switch {
		case first:
			e.unit = unit
		case e.Product:
			e.unit = ""
		case e.unit == unit || unit == unitDuration && e.unit == unitTime:
		default:
			m.refuse(w, "a %s cannot be added to a %s", unit, e.unit)
		}
		w = m.peek()
		plus, times := m.take("+"), m.take("*")
		if len(e.Terms) > 1 && (plus && e.Product || times && !e.Product) {
			m.refuse(w, "a side of a comparison is a sum or a product, not both")
		}
		e.Product = e.Product || times
		if !plus && !times {
			return e
		}
	}
	return e
}

// Units of terms, as messages call them. A number without a unit is a number of anything that has none.
const (
	unitNumber   = "number"
	unitDuration = "duration"
	unitTime     = "time"
	unitMicros   = "amount of micros"
)

var numberForm = regexp.MustCompile(`^\d+[a-z]*$`)

// operand adds a term, and returns its unit.
func (m *mustReader) operand(e *side) string {
	w := m.next()
	if _, hidden := m.fn.Arg(spec.Now); w.text == spec.Now && !hidden {
		e.Terms = append(e.Terms, spec.Term{Now: true})
		return unitTime
	}
	if numberForm.MatchString(w.text) {
		kind, unit := spec.KindCount, unitNumber
		if strings.Trim(w.text, "0123456789") != "" {
			kind, unit = spec.KindDuration, unitDuration
		}
		n, message := readNumber(w.text, kind)
		if message != "" {
			m.refuse(w, "%s", message)
		}
		e.Terms = append(e.Terms, spec.Term{Number: n})
		return unit
	}
	path, f := m.field(w)
	e.Terms = append(e.Terms, spec.Term{Field: path})
	m.rule.Fields = append(m.rule.Fields, path)
	switch f.Kind {
	case spec.KindCount, spec.KindInt, spec.KindFloat:
		return unitNumber
	case spec.KindDuration:
		return unitDuration
	case spec.KindTime:
		return unitTime
	case spec.KindMicros:
		return unitMicros
	}
	m.refuse(w, "%s is a %s: only numbers are compared", w.text, f.Kind)
	return ""
}

// conditions reads `if budgets and no receipt`, `unless kind is gcra or quota or shadow`, or both.
func (m *mustReader) conditions() {
	for !m.bad {
		m.take(",")
		unless, joint := false, "and"
		switch {
		case m.take("if"):
		case m.take("unless"):
			unless, joint = true, "or"
		default:
			return
		}
		for !m.bad {
			m.condition(unless)
			comma := m.take(",")
			if _, another := m.fn.Arg(m.path(m.peek().text)); comma && (another || m.peek().text == "no") {
				continue
			}
			if w := m.peek(); w.text == "and" || w.text == "or" {
				m.next()
				if w.text != joint {
					m.refuse(w, "a rule applies if each condition is met, and unless one is: write if A and B, or unless A or B")
				}
				continue
			}
			break
		}
	}
}

// condition reads `kind is gcra or quota`, `shadow` or `no receipt`.
func (m *mustReader) condition(unless bool) {
	c := spec.Condition{Not: m.take("no") != unless}
	w := m.next()
	path, f := m.field(w)
	c.Field = path
	switch {
	case m.bad:
	case m.take("is"):
		if f.Kind != spec.KindEnum {
			m.refuse(w, "%s is a %s: only an enum has values in a condition", w.text, f.Kind)
		}
		for !m.bad {
			c.Values = append(c.Values, m.valueOf(f, m.next()))
			m.take(",")
			if len(m.words) < 2 || m.words[0].text != "or" || !slices.Contains(f.Values, m.words[1].text) {
				break
			}
			m.next()
		}
	case !mayLack(f):
		m.refuse(w, "%s is always there: a condition is an argument that may be omitted, a bool, or an enum and its values, as kind is gcra", w.text)
	}
	m.rule.If = append(m.rule.If, c)
}

// write sets the text of a refusal: what must be, in the header's words. The name of the group is left out where the refusal begins with it,
// and otherwise stands before each field of its rows.
func (m *mustReader) write(text string) {
	asked, reason, _ := strings.Cut(text, ":")
	switch {
	case m.rule.OfRow() && m.rows == nil:
		asked = strings.ReplaceAll(" "+asked, " "+m.rule.Group+".", " ")[1:]
	case !m.rule.OfRow() && m.rows != nil:
		words := strings.Fields(asked)
		for i, w := range words {
			if slices.Contains(m.ofRow, w) {
				words[i] = m.rows.Name + "." + w
			}
		}
		asked = strings.Join(words, " ")
	}
	if reason != "" {
		asked += ":" + reason
	}
	if at := verbForm.FindStringIndex(asked); at != nil {
		m.rule.Text = asked[:at[0]] + " must" + asked[at[0]:]
	}
}

var verbForm = regexp.MustCompile(` (not be|be|differ|have)\b`)
