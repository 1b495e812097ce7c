package spec

import (
	"slices"
	"strconv"
	"strings"
)

// A RuleKind is what a rule asks of the arguments that it names.
type RuleKind string

// The kinds of rules.
const (
	RuleGiven    RuleKind = "given"     // every field is given
	RuleOneGiven RuleKind = "one_given" // at least one of the fields is given
	RuleOmitted  RuleKind = "omitted"   // no field is given
	RuleIs       RuleKind = "is"        // the field is one of the values
	RuleIsNot    RuleKind = "is_not"    // the field is none of the values
	RuleAtMost   RuleKind = "at_most"   // left <= right
	RuleBelow    RuleKind = "below"     // left < right
	RuleDiffer   RuleKind = "differ"    // no two rows of the group are alike in all fields; without a group, no two fields are equal
	RuleAsMany   RuleKind = "as_many"   // the groups or lists have the same number of rows
)

// Now is the server's time as a term of a rule. Only the server knows it, so clients leave such rules to it.
const Now = "now"

// A Rule is what a header asks of several arguments together, beyond the bounds of each: a @must row.
//
// Fields are named by their paths: "cost", or "limits.cost" in the rows of a group. A rule that names fields of a group holds at each of
// its rows. Where a field of a comparison is omitted and has no default, there is nothing to compare, and the rule holds.
type Rule struct {
	Kind   RuleKind    `json:"kind"`
	Text   string      `json:"text"`             // what a refusal says: "cost must be at most limit: it can never be allowed", without the group's name
	Group  string      `json:"group,omitempty"`  // the group whose rows it is about
	Fields []string    `json:"fields"`           // what it is about, in the order of the text; first what its text begins with
	Values []string    `json:"values,omitempty"` // is and is_not: of an enum, or whole numbers
	Left   *Expression `json:"left,omitempty"`   // at_most and below
	Right  *Expression `json:"right,omitempty"`
	If     []Condition `json:"if,omitempty"`   // the rule holds anyway unless all of them are met
	File   string      `json:"file,omitempty"` // where it is declared; absent where that is the function's file
	Line   int         `json:"line"`
	Col    int         `json:"col"`
}

// A Condition says when a rule applies: the enum field has one of the values, or without values, the field is given. A bool is given if
// it is true, a group or a list if it has rows.
type Condition struct {
	Field  string   `json:"field"`
	Values []string `json:"values,omitempty"`
	Not    bool     `json:"not,omitempty"` // the opposite
}

// An Expression is a sum or a product of terms, in their units on the wire. It is calculated from left to right in 64-bit floating point,
// as Lua does, so that server and clients agree.
type Expression struct {
	Product bool   `json:"product,omitempty"`
	Terms   []Term `json:"terms"`
}

// A Term is a field, the server's time, or else a number.
type Term struct {
	Field  string `json:"field,omitempty"`
	Number int64  `json:"number,omitempty"`
	Now    bool   `json:"now,omitempty"`
}

// OfRow reports whether a refusal by the rule begins with the number of a row: "limits.2.cost must be ...".
func (r *Rule) OfRow() bool {
	return r.Group != "" && r.Kind != RuleDiffer && strings.HasPrefix(r.Fields[0], r.Group+".")
}

// Refusal is what a refusal says behind RLARG of a call that breaks the rule at a row.
func (r *Rule) Refusal(row int) string {
	if !r.OfRow() {
		return r.Text
	}
	return r.Group + "." + strconv.Itoa(row) + "." + r.Text
}

// Paths are all fields that decide whether a call breaks the rule, each once.
func (r *Rule) Paths() []string {
	paths := slices.Clone(r.Fields)
	for _, c := range r.If {
		if !slices.Contains(paths, c.Field) {
			paths = append(paths, c.Field)
		}
	}
	return paths
}

// Terms are those of both sides of a comparison.
func (r *Rule) Terms() []Term {
	if r.Left == nil || r.Right == nil {
		return nil
	}
	return slices.Concat(r.Left.Terms, r.Right.Terms)
}

// Timed reports whether the rule depends on the server's time.
func (r *Rule) Timed() bool {
	return slices.ContainsFunc(r.Terms(), func(t Term) bool { return t.Now })
}

// Own reports whether all that the rule depends on are fields of its group's rows, each row by itself.
func (r *Rule) Own() bool {
	return r.Group != "" && r.Kind != RuleDiffer && !r.Timed() &&
		!slices.ContainsFunc(r.Paths(), func(path string) bool { return !strings.HasPrefix(path, r.Group+".") })
}

// Arg returns the argument of a path: "cost", "limits" or "limits.cost".
func (f *Function) Arg(path string) (Field, bool) {
	group, name, inRow := strings.Cut(path, ".")
	for i := range f.Params {
		p := &f.Params[i]
		if p.Name != group || p.Kind == KindKey && !inRow {
			continue
		}
		if !inRow {
			return *p, true
		}
		for j := range p.Fields {
			if p.Fields[j].Name == name {
				return p.Fields[j], true
			}
		}
		return Field{}, false
	}
	return Field{}, false
}

// A Getter returns an argument of a call as it is sent, and whether it is given. The path of a field of rows has the number of its row,
// from 0, and so has a list's item, whose path is the list's. Otherwise the row is -1, and the value of a group or a list is its
// number of rows. "limits.of" is a row's own subject, if it has one, and "now" is the server's time in microseconds, if it is known.
// It need not know defaults: those are the header's.
type Getter func(path string, row int) (value string, given bool)

// Broken returns the first rule that a call breaks and the row, -1 if the rule is about no row; nil if it breaks none.
func (f *Function) Broken(get Getter) (broken *Rule, row int) {
	for i := range f.Rules {
		if row, broken := f.Breaks(&f.Rules[i], get); broken {
			return &f.Rules[i], row
		}
	}
	return nil, -1
}

// Breaks reports whether a call breaks a rule of the function, and at which row, -1 if the rule is about no row.
func (f *Function) Breaks(r *Rule, get Getter) (row int, broken bool) {
	c := ruleCall{f, get}
	if r.Group == "" {
		return -1, c.breaks(r, -1)
	}
	rows := c.rows(r.Group)
	if r.Kind == RuleDiffer {
		return c.repeated(r, rows)
	}
	for row := range rows {
		if c.breaks(r, row) {
			return row, true
		}
	}
	return -1, false
}

// A ruleCall is a call whose arguments rules are held against.
type ruleCall struct {
	fn  *Function
	get Getter
}

func (c ruleCall) rows(path string) int {
	text, _ := c.get(path, -1)
	n, _ := strconv.Atoi(text)
	return n
}

// sent returns an argument as it is sent.
func (c ruleCall) sent(path string, row int) (value string, given bool) {
	if !strings.Contains(path, ".") {
		if f, _ := c.fn.Arg(path); f.Kind != KindList {
			row = -1
		}
	}
	return c.get(path, row)
}

// value returns an argument with its default; "" for none.
func (c ruleCall) value(path string, row int) string {
	if value, given := c.sent(path, row); given {
		return value
	}
	f, _ := c.fn.Arg(path)
	switch {
	case f.TrueByDefault():
		return "1"
	case f.Kind == KindBool:
		return "0"
	}
	word, _ := f.DefaultWord()
	return word
}

// given reports whether an argument is there, a bool is true, and a group has rows.
func (c ruleCall) given(path string, row int) bool {
	switch f, _ := c.fn.Arg(path); {
	case f.Kind.Group() || f.Kind.Repeated():
		return c.rows(path) > 0
	case f.Kind == KindBool:
		return c.value(path, row) == "1"
	}
	_, given := c.sent(path, row)
	return given
}

func (c ruleCall) breaks(r *Rule, row int) bool {
	for _, cond := range r.If {
		met := len(cond.Values) == 0 && c.given(cond.Field, row) || slices.Contains(cond.Values, c.value(cond.Field, row))
		if met == cond.Not {
			return false
		}
	}
	given := func(path string) bool { return c.given(path, row) }
	switch r.Kind {
	case RuleGiven:
		return !all(r.Fields, given)
	case RuleOneGiven:
		return !slices.ContainsFunc(r.Fields, given)
	case RuleOmitted:
		return slices.ContainsFunc(r.Fields, given)
	case RuleIs, RuleIsNot:
		value := c.value(r.Fields[0], row)
		return value != "" && slices.Contains(r.Values, value) == (r.Kind == RuleIsNot)
	case RuleAtMost, RuleBelow:
		left, one := c.calculate(r.Left, row)
		right, other := c.calculate(r.Right, row)
		return one && other && (left > right || r.Kind == RuleBelow && left >= right)
	case RuleDiffer:
		var seen []string
		for _, path := range r.Fields {
			value := c.value(path, row)
			if value != "" && slices.Contains(seen, value) {
				return true
			}
			seen = append(seen, value)
		}
	case RuleAsMany:
		return !all(r.Fields, func(path string) bool { return c.rows(path) == c.rows(r.Fields[0]) })
	}
	return false
}

// repeated returns the first row that is like an earlier one. Rows of different subjects differ.
func (c ruleCall) repeated(r *Rule, rows int) (int, bool) {
	seen := map[string]bool{}
	for row := range rows {
		of, _ := c.get(r.Group+".of", row)
		alike := strconv.Quote(of)
		for _, path := range r.Fields {
			alike += strconv.Quote(c.value(path, row))
		}
		if seen[alike] {
			return row, true
		}
		seen[alike] = true
	}
	return -1, false
}

// calculate returns the value of an expression; false where a term has none.
func (c ruleCall) calculate(e *Expression, row int) (float64, bool) {
	total := 0.0
	for i, t := range e.Terms {
		text := strconv.FormatInt(t.Number, 10)
		switch {
		case t.Now:
			text, _ = c.get(Now, -1)
		case t.Field != "":
			text = c.value(t.Field, row)
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, false
		}
		switch {
		case i == 0:
			total = n
		case e.Product:
			total *= n
		default:
			total += n
		}
	}
	return total, true
}

func all(paths []string, holds func(string) bool) bool {
	return !slices.ContainsFunc(paths, func(path string) bool { return !holds(path) })
}
