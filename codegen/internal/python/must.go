package python

import (
	"fmt"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/clients"
	"github.com/rlfunc/rlfunc/codegen/internal/rule"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// language writes rules in Python. The arguments are variables, and those of a row are attributes of its variable.
func language(fn *spec.Function, row string) rule.Language {
	value := func(path string) (string, spec.Field) {
		f, _ := fn.Arg(path)
		if strings.Contains(path, ".") {
			return row + "." + variable(f.Name), f
		}
		return variable(f.Name), f
	}
	rows := func(path string) string {
		v, f := value(path)
		if f.Kind == spec.KindPacked {
			return "len(rows_of(" + v + "))"
		}
		return "len(" + v + ")"
	}
	given := func(path string, is bool) string {
		v, f := value(path)
		switch {
		case (f.Kind.Group() || f.Kind.Repeated()) && is:
			return rows(path) + " > 0"
		case f.Kind.Group() || f.Kind.Repeated():
			return rows(path) + " == 0"
		case f.TrueByDefault() && is:
			return "(" + v + " is None or " + v + ")"
		case f.TrueByDefault():
			return v + " is not None and not " + v
		case f.Kind == spec.KindBool && is:
			return v
		case f.Kind == spec.KindBool:
			return "not " + v
		case is:
			return v + " is not None"
		}
		return v + " is None"
	}
	return rule.Language{
		And: "and", Or: "or", Equal: "==", Unequal: "!=",
		Given:   func(path string) string { return given(path, true) },
		Omitted: func(path string) string { return given(path, false) },
		Number: func(path string, float bool) string {
			v, f := value(path)
			number := v
			if f.Kind == spec.KindDuration || f.Kind == spec.KindTime {
				number = "us(" + v + ")"
			}
			word, given := f.DefaultWord()
			if given {
				number = fmt.Sprintf("%s if %s is None else %s", word, v, number)
			}
			switch {
			case float:
				return "float(" + number + ")"
			case given:
				return "(" + number + ")"
			}
			return number
		},
		Constant: func(n int64, _ bool) string { return fmt.Sprint(n) },
		Word:     func(path string) string { v, _ := value(path); return v },
		Quote:    quote,
		Rows:     rows,
		Same: func(one, other string) string {
			a, _ := value(one)
			b, _ := value(other)
			return "same(" + a + ", " + b + ")"
		},
	}
}

// callRules returns the statements that hold a call against the rules of its header.
func callRules(fn clients.Function) string {
	var b strings.Builder
	for _, r := range rule.OfCall(&fn.Function) {
		g, _ := fn.Arg(r.Group)
		list, row := variable(g.Name), rowVariable(g)
		if g.Kind == spec.KindPacked {
			list = "rows_of(" + list + ")"
		}
		switch {
		case r.Group == "":
			fmt.Fprintf(&b, "        if %s:\n            a.must(%s)\n", rule.Broken(&fn.Function, r, language(&fn.Function, "")), quote(r.Text))
		case r.Kind == spec.RuleDiffer:
			of := "()"
			if g.Kind == spec.KindPacked && len(g.Keys()) > 0 {
				of = g.Name + "_of"
			}
			fmt.Fprintf(&b, "        a.differ(%s, [(%s) for %s in %s], %s)\n", quote(r.Text), cellsOf(&fn.Function, r, g, row), row, list, of)
		default:
			each, place := row+" in "+list, ""
			if r.OfRow() {
				each, place = "i, "+row+" in enumerate("+list+")", fmt.Sprintf(", f\"%s.{i}.\"", r.Group)
			}
			fmt.Fprintf(&b, "        for %s:\n            if %s:\n                a.must(%s%s)\n",
				each, rule.Broken(&fn.Function, r, language(&fn.Function, row)), quote(r.Text), place)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "    if not a.problems:\n" + b.String()
}

// cellsOf returns what of a row, or of a list's item, must differ.
func cellsOf(fn *spec.Function, r *spec.Rule, g spec.Field, row string) string {
	if g.Kind == spec.KindList {
		return row + ","
	}
	all := make([]string, len(r.Fields))
	for i, path := range r.Fields {
		if f, _ := fn.Arg(path); f.Kind.Integer() && f.Default != nil {
			all[i] = language(fn, row).Number(path, false)
		} else {
			all[i] = language(fn, row).Word(path)
		}
	}
	if len(all) == 1 {
		return all[0] + ","
	}
	return strings.Join(all, ", ")
}

// rowRules returns the statements that hold a row against the rules of its group while it is packed.
func rowRules(r clients.Row) string {
	var b strings.Builder
	for _, one := range rule.OfPack(r.In, r.Name) {
		fmt.Fprintf(&b, "            if %s:\n                a.must(%s, f\"{a.group}.{a.row}.\")\n", rule.Broken(r.In, one, language(r.In, "row")), quote(one.Text))
	}
	if b.Len() == 0 {
		return ""
	}
	return "        if not a.problems:\n" + b.String()
}

// rowDoc returns the docstring of a row's class, with the rules that it must obey.
func rowDoc(r clients.Row) string {
	lines := []string{"One row of " + r.Of + "."}
	if rules := rule.OfPack(r.In, r.Name); r.Param && r.Group.Kind == spec.KindPacked && len(rules) > 0 {
		lines = append(lines, "Besides the bounds of each:")
		for _, one := range rules {
			lines = append(lines, "\x00"+rule.Sentence(one, true))
		}
	}
	return literal("    ", strings.ReplaceAll(strings.Join(lines, "\n\n"), "\n\n\x00", "\n\x00"))
}
