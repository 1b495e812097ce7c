package goclient

import (
	"fmt"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/rule"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// language writes rules in Go. The arguments are fields of p, and those of a row of its variable.
func language(fn *spec.Function, row string) rule.Language {
	value := func(path string) (string, spec.Field) {
		f, _ := fn.Arg(path)
		if _, name, inRow := strings.Cut(path, "."); inRow {
			return row + "." + goName(name), f
		}
		return "p." + goName(path), f
	}
	rows := func(path string) string {
		v, f := value(path)
		if f.Kind == spec.KindPacked {
			return v + ".Len()"
		}
		return "len(" + v + ")"
	}
	given := func(path string, is bool) string {
		v, f := value(path)
		equal, no := "!=", ""
		if !is {
			equal, no = "==", "!"
		}
		switch {
		case f.Kind.Group() || f.Kind.Repeated():
			return rows(path) + " " + equal + " 0"
		case f.Kind == spec.KindBool && Pointer(f) && is:
			return fmt.Sprintf("(%s == nil || *%s)", v, v)
		case f.Kind == spec.KindBool && Pointer(f):
			return fmt.Sprintf("%s != nil && !*%s", v, v)
		case f.Kind == spec.KindBool:
			return no + v
		case Pointer(f):
			return v + " " + equal + " nil"
		case f.Kind == spec.KindTime && is:
			return "!" + v + ".IsZero()"
		case f.Kind == spec.KindTime:
			return v + ".IsZero()"
		case f.Kind == spec.KindText || f.Kind == spec.KindEnum:
			return v + " " + equal + ` ""`
		case f.Kind.Sized():
			return "len(" + v + ") " + equal + " 0"
		}
		return v + " " + equal + " 0"
	}
	return rule.Language{
		And: "&&", Or: "||", Equal: "==", Unequal: "!=",
		Given:   func(path string) string { return given(path, true) },
		Omitted: func(path string) string { return given(path, false) },
		Number: func(path string, float bool) string {
			v, f := value(path)
			word, given := f.DefaultWord()
			switch {
			case given && Pointer(f):
				v = fmt.Sprintf("fcall.Or(%s, %s)", v, word)
				if f.Kind == spec.KindDuration {
					v = fmt.Sprintf("fcall.Or(%s, %s*time.Microsecond)", v, word)
				}
			case given && !zeroByDefault(f) && f.Kind == spec.KindDuration:
				v = fmt.Sprintf("cmp.Or(%s, %s*time.Microsecond)", v, word)
			case given && !zeroByDefault(f):
				v = fmt.Sprintf("cmp.Or(%s, %s)", v, word)
			case Pointer(f):
				v = "*" + v
			}
			switch f.Kind {
			case spec.KindDuration:
				v = "fcall.ArgDuration(" + v + ")"
			case spec.KindTime:
				v = "fcall.ArgTime(" + v + ")"
			}
			if float && f.Kind != spec.KindFloat {
				return "float64(" + v + ")"
			}
			return v
		},
		Constant: func(n int64, _ bool) string { return fmt.Sprint(n) },
		Word:     func(path string) string { v, _ := value(path); return v },
		Quote:    func(s string) string { return fmt.Sprintf("%q", s) },
		Rows:     rows,
		Same: func(one, other string) string {
			a, f := value(one)
			b, g := value(other)
			if Pointer(f) {
				a = "*" + a
			}
			if Pointer(g) {
				b = "*" + b
			}
			switch f.Kind {
			case spec.KindTime, spec.KindDuration:
				name := map[spec.Kind]string{spec.KindTime: "Time", spec.KindDuration: "Duration"}[f.Kind]
				return fmt.Sprintf("fcall.Arg%s(%s) == fcall.Arg%s(%s)", name, a, name, b)
			case spec.KindBytes, spec.KindEnum:
				return fmt.Sprintf("string(%s) == string(%s)", a, b)
			}
			return a + " == " + b
		},
	}
}

// callRules returns the statements that hold a call against the rules of its header.
func callRules(fn *spec.Function) string {
	var b strings.Builder
	rows := map[string]*strings.Builder{} // statements by group
	var groups []string
	for _, r := range rule.OfCall(fn) {
		name, asked := rule.Split(r)
		switch {
		case r.Kind == spec.RuleDiffer && r.Group != "":
			fmt.Fprintf(&b, "a.Differ(%q, %q, %s, func(i, j int) bool { return %s })\n", name, asked, length(fn, r.Group), alike(fn, r))
			continue
		case r.Group == "":
			fmt.Fprintf(&b, "if %s {\na.Must(%q, %q)\n}\n", rule.Broken(fn, r, language(fn, "row")), name, asked)
			continue
		}
		if rows[r.Group] == nil {
			rows[r.Group] = &strings.Builder{}
			groups = append(groups, r.Group)
		}
		method := "Must"
		if r.OfRow() {
			method = fmt.Sprintf("MustRow(%q, i, ", r.Group)
		} else {
			method += "("
		}
		fmt.Fprintf(rows[r.Group], "if %s {\na.%s%q, %q)\n}\n", rule.Broken(fn, r, language(fn, "row")), method, name, asked)
	}
	for _, g := range groups {
		index := "_"
		if strings.Contains(rows[g].String(), "MustRow(") {
			index = "i"
		}
		fmt.Fprintf(&b, "for %s, row := range %s {\n%s}\n", index, list(fn, g), rows[g])
	}
	if b.Len() == 0 {
		return ""
	}
	return "if a.Err() == nil {\n" + b.String() + "}\n"
}

// list is the expression of a group's rows.
func list(fn *spec.Function, group string) string {
	if g, _ := fn.Arg(group); g.Kind == spec.KindPacked {
		return "p." + goName(group) + ".rows"
	}
	return "p." + goName(group)
}

func length(fn *spec.Function, group string) string { return "len(" + list(fn, group) + ")" }

// alike is the condition that the rows i and j of a group, or the items of a list, are alike.
func alike(fn *spec.Function, r *spec.Rule) string {
	g, _ := fn.Arg(r.Group)
	rows := list(fn, r.Group)
	if g.Kind == spec.KindList {
		return rows + "[i] == " + rows + "[j]"
	}
	var all []string
	for _, path := range r.Fields {
		f, _ := fn.Arg(path)
		one, other := language(fn, rows+"[i]"), language(fn, rows+"[j]")
		switch {
		case f.Kind == spec.KindEnum || f.Kind == spec.KindText || f.Kind == spec.KindBool && !Pointer(f):
			all = append(all, one.Word(path)+" == "+other.Word(path))
		case f.Kind == spec.KindBytes:
			all = append(all, "string("+one.Word(path)+") == string("+other.Word(path)+")")
		case f.Kind.Integer():
			all = append(all, one.Number(path, false)+" == "+other.Number(path, false))
		}
	}
	if g.Kind == spec.KindPacked && len(g.Keys()) > 0 {
		of := "p." + goName(g.Name) + "Of"
		all = append(all, fmt.Sprintf("(len(%s) == 0 || %s[i] == %s[j])", of, of, of))
	}
	return strings.Join(all, " && ")
}

// packRules returns the statements that hold a row against the rules of its group while it is packed.
func packRules(fn *spec.Function, g spec.Field) string {
	var b strings.Builder
	for _, r := range rule.OfPack(fn, g.Name) {
		name, asked := rule.Split(r)
		fmt.Fprintf(&b, "if %s {\na.Must(%q, %q)\n}\n", rule.Broken(fn, r, language(fn, "row")), name, asked)
	}
	if b.Len() == 0 {
		return ""
	}
	return "if a.Err() == nil {\n" + b.String() + "}\n"
}

// ruleDoc returns the paragraph of a comment that lists rules, of a call or of a row; nothing without any.
func ruleDoc(rules []*spec.Rule, ofRow bool) string {
	if len(rules) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("//\n// Besides the bounds of each:\n")
	for _, r := range rules {
		lines := strings.Split(paragraphs(rule.Sentence(r, ofRow)), "\n")
		for i, line := range lines {
			lead := "//     "
			if i == 0 {
				lead = "//   - "
			}
			b.WriteString(lead + strings.TrimPrefix(line, "// ") + "\n")
		}
	}
	return b.String()
}
