package annotation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// checkRules finds rules that no call can obey, or that forbid what the header offers.
func (r *fieldReader) checkRules(fn *spec.Function) {
	before := len(*r.found)
	for i := range fn.Rules {
		r.checkOrder(fn, i)
	}
	if len(*r.found) == before {
		r.checkChoices(fn)
	}
}

// place is where a rule of the function's own header stands; a lib file's is found where its group is declared.
func place(fn *spec.Function, rule *spec.Rule) (line, col int) {
	if rule.File != "" {
		g, _ := fn.Arg(rule.Group)
		return g.Line, g.Col
	}
	return rule.Line, rule.Col
}

// checkOrder finds a comparison that bounds make impossible, and one that closes a circle with those before it.
func (r *fieldReader) checkOrder(fn *spec.Function, last int) {
	rule := &fn.Rules[last]
	if rule.Left == nil || rule.Timed() {
		return
	}
	line, col := place(fn, rule)
	least, _ := span(fn, rule.Left)
	_, most := span(fn, rule.Right)
	if least > most || rule.Kind == spec.RuleBelow && least >= most {
		r.add(line, col, RuleMust, "no call obeys it: by the bounds, one side is at least %.0f and the other at most %.0f", least, most)
		return
	}
	from, to := simple(rule.Left), simple(rule.Right)
	if from == "" || to == "" || len(rule.If) > 0 {
		return
	}
	if chain, strict := r.chain(fn.Rules[:last], to, from, nil); chain != nil && (strict || rule.Kind == spec.RuleBelow) {
		r.add(line, col, RuleMust, "no call obeys it together with line %s: %s would be below itself", strings.Join(chain, " and "), from)
	}
}

// simple is the field of an expression of one term.
func simple(e *spec.Expression) string {
	if len(e.Terms) == 1 {
		return e.Terms[0].Field
	}
	return ""
}

// chain returns the lines of comparisons that lead from one field to a greater one, and whether it is greater for sure.
func (r *fieldReader) chain(rules []spec.Rule, from, to string, seen []string) (lines []string, strict bool) {
	if from == to {
		return []string{}, false
	}
	for i := range rules {
		rule := &rules[i]
		if rule.Left == nil || len(rule.If) > 0 || simple(rule.Left) != from || simple(rule.Right) == "" || slices.Contains(seen, from) {
			continue
		}
		rest, below := r.chain(rules, simple(rule.Right), to, append(seen, from))
		if rest != nil && (lines == nil || below || rule.Kind == spec.RuleBelow) {
			lines, strict = append([]string{strconv.Itoa(rule.Line)}, rest...), below || rule.Kind == spec.RuleBelow
		}
	}
	return lines, strict
}

// span returns the least and the greatest value of an expression by the bounds of its fields.
func span(fn *spec.Function, e *spec.Expression) (least, most float64) {
	for i, t := range e.Terms {
		low, high := float64(t.Number), float64(t.Number)
		if f, ok := fn.Arg(t.Field); ok {
			low, high = f.Span()
		}
		switch {
		case i == 0:
			least, most = low, high
		case e.Product:
			all := []float64{least * low, least * high, most * low, most * high}
			least, most = slices.Min(all), slices.Max(all)
		default:
			least, most = least+low, most+high
		}
	}
	return least, most
}

// mostChoices bounds the work of checkChoices, which tries them all.
const mostChoices = 1 << 16

// A choice is an argument that rules say something of, and what a call may do with it: omit it, give it, or give one of the values.
type choice struct {
	path    string
	options []string // "" omits it
}

// checkChoices tries all that a call can omit and all values of enums, and finds what no call can do.
func (r *fieldReader) checkChoices(fn *spec.Function) {
	rules := slices.DeleteFunc(slices.Clone(fn.Rules), func(rule spec.Rule) bool {
		return rule.Left != nil || rule.Kind == spec.RuleDiffer || rule.Kind == spec.RuleAsMany
	})
	var choices []choice
	total := 1
	for i := range rules {
		for _, path := range rules[i].Paths() {
			if !slices.ContainsFunc(choices, func(c choice) bool { return c.path == path }) {
				choices = append(choices, choice{path, options(fn, path, rules)})
				total *= len(choices[len(choices)-1].options)
			}
			if total > mostChoices {
				return
			}
		}
	}
	possible := map[string]bool{}
	for n := range total {
		call, rest := map[string]string{}, n
		for _, c := range choices {
			call[c.path] = c.options[rest%len(c.options)]
			rest /= len(c.options)
		}
		if !slices.ContainsFunc(rules, func(rule spec.Rule) bool { return breaks(fn, rule, call) }) {
			for path, option := range call {
				possible[path+"\x00"+option] = true
			}
		}
	}
	if len(possible) == 0 && len(rules) > 0 {
		line, col := place(fn, &rules[len(rules)-1])
		r.add(line, col, RuleMust, "no call obeys it together with the rules above")
		return
	}
	for _, c := range choices {
		if group, _, inRow := strings.Cut(c.path, "."); inRow {
			if g, _ := fn.Arg(group); g.Rows != "" { // others have such rows, too, and need what this function forbids
				continue
			}
		}
		for _, option := range c.options {
			if !possible[c.path+"\x00"+option] && !r.forbidden(fn, rules, c, option) {
				return
			}
		}
	}
}

// options are what a call may do with an argument, in the eyes of rules.
func options(fn *spec.Function, path string, rules []spec.Rule) (all []string) {
	f, _ := fn.Arg(path)
	if mayLack(f) {
		all = append(all, "")
	}
	switch {
	case f.Kind == spec.KindEnum:
		return append(all, f.Values...)
	case !f.Kind.Integer():
		return append(all, "1")
	}
	for _, rule := range rules {
		if len(rule.Values) > 0 && rule.Fields[0] == path {
			all = append(all, rule.Values...)
		}
	}
	return append(all, "any other")
}

// breaks reports whether what a call does with its arguments breaks a rule; a group has one row.
func breaks(fn *spec.Function, rule spec.Rule, call map[string]string) bool {
	_, broken := fn.Breaks(&rule, func(path string, _ int) (string, bool) {
		value, known := call[path]
		if !known && path == rule.Group {
			return "1", true
		}
		return value, value != ""
	})
	return broken
}

// forbidden reports what no call can do, unless one rule says just that: then its author meant it.
func (r *fieldReader) forbidden(fn *spec.Function, rules []spec.Rule, c choice, option string) (meant bool) {
	f, _ := fn.Arg(c.path)
	direct := func(rule spec.Rule) bool {
		return len(rule.If) == 0 && slices.Contains(rule.Fields, c.path) && (rule.Kind == spec.RuleIs || rule.Kind == spec.RuleIsNot)
	}
	if slices.ContainsFunc(rules, direct) && f.Kind == spec.KindEnum && option != "" {
		return true
	}
	if f.Kind.Integer() && option != "" {
		return true
	}
	what := "give " + c.path
	switch {
	case option == "":
		what = "omit " + c.path
	case f.Kind == spec.KindEnum:
		what = fmt.Sprintf("have %s %s", c.path, option)
	}
	var about []string
	line, col := 0, 0
	for i := range rules {
		if slices.Contains(rules[i].Paths(), c.path) {
			line, col = place(fn, &rules[i])
			about = append(about, fmt.Sprintf("%q", rules[i].Text))
		}
	}
	r.add(line, col, RuleMust, "no call can %s: %s", what, strings.Join(about, " and "))
	return false
}
