// Package rule writes the rules of a header as conditions in any language: those of the clients, which hold a call against them before they
// send it, and Lua's, for the server.
package rule

import (
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// A Language writes the parts of a condition. A path is that of an argument, "cost", or of a field of the row that is at hand, "limits.cost".
type Language struct {
	And, Or, Equal, Unequal string
	// Given is the condition that the argument is there, a bool is true, and a group has rows; Omitted is the opposite.
	Given, Omitted func(path string) string
	// Number is an argument in its unit on the wire, with its default, as floating point or as it is.
	Number func(path string, float bool) string
	// Constant is a number of the language.
	Constant func(n int64, float bool) string
	// Word is the text of an enum, and Quote a constant text.
	Word  func(path string) string
	Quote func(s string) string
	// Rows is the number of a group's rows.
	Rows func(path string) string
	// Same is the condition that two values are equal.
	Same func(one, other string) string
}

// Broken returns the condition under which a call, or the row at hand, breaks a rule that asks nothing of several rows.
func Broken(fn *spec.Function, r *spec.Rule, l Language) string {
	w := writer{fn, l}
	var all []string
	for _, c := range r.If {
		switch {
		case len(c.Values) > 0:
			all = append(all, w.is(c.Field, c.Values, c.Not))
		case c.Not:
			all = append(all, l.Omitted(c.Field))
		default:
			all = append(all, l.Given(c.Field))
		}
	}
	switch r.Kind {
	case spec.RuleGiven:
		all = append(all, w.any(r.Fields, l.Omitted))
	case spec.RuleOneGiven:
		for _, path := range r.Fields {
			all = append(all, l.Omitted(path))
		}
	case spec.RuleOmitted:
		all = append(all, w.any(r.Fields, l.Given))
	case spec.RuleIs, spec.RuleIsNot:
		all = append(all, w.there(r.Fields)...)
		all = append(all, w.is(r.Fields[0], r.Values, r.Kind == spec.RuleIs))
	case spec.RuleAtMost, spec.RuleBelow:
		all = append(all, w.there(r.Fields)...)
		all = append(all, w.compare(r))
	case spec.RuleDiffer:
		all = append(all, w.there(r.Fields)...)
		all = append(all, l.Same(r.Fields[0], r.Fields[1]))
	case spec.RuleAsMany:
		all = append(all, l.Rows(r.Fields[0])+" "+l.Unequal+" "+l.Rows(r.Fields[1]))
	}
	return strings.Join(slices.Compact(all), " "+l.And+" ")
}

// Split returns what a refusal names and what it asks of that: "cost" and "be at most limit".
func Split(r *spec.Rule) (name, asked string) {
	name, asked, _ = strings.Cut(r.Text, " must ")
	return name, asked
}

// OfPack are the rules that hold for each row of a packed group by itself and wherever its rows are used: they are checked once, when rows
// are packed.
func OfPack(fn *spec.Function, g string) (rules []*spec.Rule) {
	for i := range fn.Rules {
		if r := &fn.Rules[i]; r.Group == g && r.Own() && declaredWithRows(fn, r) {
			rules = append(rules, r)
		}
	}
	return rules
}

// OfCall are the rules that a client checks at each call: the others, but for those that only the server's clock decides.
func OfCall(fn *spec.Function) (rules []*spec.Rule) {
	for i := range fn.Rules {
		r := &fn.Rules[i]
		g, _ := fn.Arg(r.Group)
		if !r.Timed() && (g.Kind != spec.KindPacked || !r.Own() || !declaredWithRows(fn, r)) {
			rules = append(rules, r)
		}
	}
	return rules
}

// Documented are the rules that the doc of a call lists: all but those that its packs are documented with.
func Documented(fn *spec.Function) (rules []*spec.Rule) {
	for i := range fn.Rules {
		r := &fn.Rules[i]
		if g, _ := fn.Arg(r.Group); g.Kind != spec.KindPacked || !slices.Contains(OfPack(fn, r.Group), r) {
			rules = append(rules, r)
		}
	}
	return rules
}

// Sentence is a rule in the doc of a call, or of the row that it is about.
func Sentence(r *spec.Rule, ofRow bool) string {
	if r.OfRow() && !ofRow {
		return "each row of " + r.Group + ": " + r.Text + "."
	}
	return r.Text + "."
}

// declaredWithRows reports whether a rule stands where the rows of its group do.
func declaredWithRows(fn *spec.Function, r *spec.Rule) bool {
	g, _ := fn.Arg(r.Group)
	return g.Rows == "" || r.File != ""
}

// Needs reports whether some rule of a call is about the rows of a packed group, so that a pack has to keep them.
func Needs(fn *spec.Function, g spec.Field) bool {
	return g.Kind == spec.KindPacked && slices.ContainsFunc(OfCall(fn), func(r *spec.Rule) bool { return r.Group == g.Name })
}

type writer struct {
	fn *spec.Function
	Language
}

// any joins conditions of which one has to hold.
func (w writer) any(paths []string, holds func(string) string) string {
	all := make([]string, len(paths))
	for i, path := range paths {
		all[i] = holds(path)
	}
	if len(all) == 1 {
		return all[0]
	}
	return "(" + strings.Join(all, " "+w.Or+" ") + ")"
}

// there are the conditions that fields which a call may lack are given.
func (w writer) there(paths []string) (all []string) {
	for _, path := range paths {
		f, _ := w.fn.Arg(path)
		if _, given := f.DefaultWord(); f.Optional && !given && f.Kind != spec.KindBool {
			all = append(all, w.Given(path))
		}
	}
	return all
}

// is returns the condition that a field has one of the values, or none of them.
func (w writer) is(path string, values []string, not bool) string {
	f, _ := w.fn.Arg(path)
	equal, join := w.Equal, w.Or
	if not {
		equal, join = w.Unequal, w.And
	}
	all := make([]string, len(values))
	for i, v := range values {
		if f.Kind == spec.KindEnum {
			all[i] = w.Word(path) + " " + equal + " " + w.Quote(v)
		} else {
			all[i] = w.Number(path, false) + " " + equal + " " + v
		}
	}
	if len(all) > 1 && !not {
		return "(" + strings.Join(all, " "+join+" ") + ")"
	}
	return strings.Join(all, " "+join+" ")
}

// compare returns the condition that a comparison does not hold. Sums and products are calculated in floating point, as Lua does.
func (w writer) compare(r *spec.Rule) string {
	float := len(r.Left.Terms) > 1 || len(r.Right.Terms) > 1
	for _, t := range r.Terms() {
		if f, _ := w.fn.Arg(t.Field); f.Kind == spec.KindFloat {
			float = true
		}
	}
	op := ">"
	if r.Kind == spec.RuleBelow {
		op = ">="
	}
	return w.expression(r.Left, float) + " " + op + " " + w.expression(r.Right, float)
}

func (w writer) expression(e *spec.Expression, float bool) string {
	terms := make([]string, len(e.Terms))
	for i, t := range e.Terms {
		if t.Field == "" {
			terms[i] = w.Constant(t.Number, float)
		} else {
			terms[i] = w.Number(t.Field, float)
		}
	}
	if e.Product {
		return strings.Join(terms, " * ")
	}
	return strings.Join(terms, " + ")
}
