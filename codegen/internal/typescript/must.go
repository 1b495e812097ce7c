package typescript

import (
	"fmt"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/clients"
	"github.com/rlfunc/rlfunc/codegen/internal/rule"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// language writes rules in TypeScript. The arguments are properties of p, and those of a row are properties of row.
func language(fn *spec.Function) rule.Language {
	value := func(path string) (string, spec.Field) {
		f, _ := fn.Arg(path)
		if strings.Contains(path, ".") {
			return "row." + camel(f.Name), f
		}
		return "p." + camel(f.Name), f
	}
	rows := func(path string) string {
		v, f := value(path)
		switch {
		case f.Kind == spec.KindPacked:
			return "rowsOf(" + v + ").length"
		case clients.Optional(f):
			return "(" + v + "?.length ?? 0)"
		}
		return v + ".length"
	}
	given := func(path string, is bool) string {
		v, f := value(path)
		switch {
		case (f.Kind.Group() || f.Kind.Repeated()) && is:
			return rows(path) + " > 0"
		case f.Kind.Group() || f.Kind.Repeated():
			return rows(path) + " === 0"
		case f.TrueByDefault() && is:
			return v + " !== false"
		case f.TrueByDefault():
			return v + " === false"
		case f.Kind == spec.KindBool && is:
			return v
		case f.Kind == spec.KindBool:
			return "!" + v
		case is:
			return v + " !== undefined"
		}
		return v + " === undefined"
	}
	return rule.Language{
		And: "&&", Or: "||", Equal: "===", Unequal: "!==",
		Given:   func(path string) string { return given(path, true) },
		Omitted: func(path string) string { return given(path, false) },
		Number: func(path string, _ bool) string {
			v, f := value(path)
			if word, given := f.DefaultWord(); given {
				return fmt.Sprintf("(%s ?? %s)", v, word)
			}
			return v
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
	l := language(&fn.Function)
	for _, r := range rule.OfCall(&fn.Function) {
		g, grouped := fn.Arg(r.Group)
		rows := ""
		switch {
		case g.Kind == spec.KindPacked:
			rows = "rowsOf(p." + camel(g.Name) + ")"
		case grouped:
			rows = "(" + list(g) + ")"
		}
		switch {
		case r.Group == "":
			fmt.Fprintf(&b, "    if (%s) a.must(%s);\n", rule.Broken(&fn.Function, r, l), quote(r.Text))
		case r.Kind == spec.RuleDiffer:
			of := ""
			if g.Kind == spec.KindPacked && len(g.Keys()) > 0 {
				of = ", p." + camel(g.Name+"_of")
			}
			fmt.Fprintf(&b, "    a.differ(%s, %s.map((row) => [%s])%s);\n", quote(r.Text), rows, cellsOf(&fn.Function, r, g), of)
		case r.OfRow():
			fmt.Fprintf(&b, "    %s.forEach((row, i) => {\n      if (%s) a.must(%s, `%s.${i}.`);\n    });\n",
				rows, rule.Broken(&fn.Function, r, l), quote(r.Text), r.Group)
		default:
			fmt.Fprintf(&b, "    if (%s.some((row) => %s)) a.must(%s);\n", rows, rule.Broken(&fn.Function, r, l), quote(r.Text))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "  if (a.problems.length === 0) {\n" + b.String() + "  }\n"
}

// cellsOf returns what of a row, or of a list's item, must differ.
func cellsOf(fn *spec.Function, r *spec.Rule, g spec.Field) string {
	if g.Kind == spec.KindList {
		return "row"
	}
	all := make([]string, len(r.Fields))
	for i, path := range r.Fields {
		if f, _ := fn.Arg(path); f.Kind.Integer() && f.Default != nil {
			all[i] = language(fn).Number(path, false)
		} else {
			all[i] = language(fn).Word(path)
		}
	}
	return strings.Join(all, ", ")
}

// rowRules returns the statements that hold a row against the rules of its group while it is packed.
func rowRules(r clients.Row) string {
	var b strings.Builder
	for _, one := range rule.OfPack(r.In, r.Name) {
		fmt.Fprintf(&b, "        if (%s) a.must(%s, `${a.group}.${a.row}.`);\n", rule.Broken(r.In, one, language(r.In)), quote(one.Text))
	}
	if b.Len() == 0 {
		return ""
	}
	return "      if (a.problems.length === 0) {\n" + b.String() + "      }\n"
}

// rowDoc returns the comment of a row's interface, with the rules that it must obey.
func rowDoc(r clients.Row) string {
	text := "One row of " + r.Of + "."
	if rules := rule.OfPack(r.In, r.Name); r.Param && r.Group.Kind == spec.KindPacked && len(rules) > 0 {
		text += "\n\nBesides the bounds of each:"
		for _, one := range rules {
			text += "\n\n- " + rule.Sentence(one, true)
		}
	}
	return comment("", text)
}

// paramsDoc returns the comment of a call's arguments, with the rules that they must obey.
func paramsDoc(fn clients.Function) string {
	text := "The arguments of " + camel(fn.Name) + "."
	if rules := rule.Documented(&fn.Function); len(rules) > 0 {
		text += "\n\nBesides the bounds of each:"
		for _, one := range rules {
			text += "\n\n- " + rule.Sentence(one, false)
		}
	}
	return comment("", text)
}
