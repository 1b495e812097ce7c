package bundle

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/rule"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// language writes rules in Lua; of returns the expression of a field of the row at hand.
func language(fn *spec.Function, of func(f spec.Field) string) rule.Language {
	value := func(path string) string {
		f, _ := fn.Arg(path)
		if strings.Contains(path, ".") {
			return of(f)
		}
		return f.Lua
	}
	rows := func(path string) string { return "#" + value(path) }
	repeated := func(path string) bool {
		f, _ := fn.Arg(path)
		return f.Kind.Group() || f.Kind.Repeated()
	}
	return rule.Language{
		And: "and", Or: "or", Equal: "==", Unequal: "~=",
		Given: func(path string) string {
			if repeated(path) {
				return rows(path) + " > 0"
			}
			return value(path)
		},
		Omitted: func(path string) string {
			if repeated(path) {
				return rows(path) + " == 0"
			}
			return "not " + value(path)
		},
		Number:   func(path string, _ bool) string { return value(path) },
		Constant: func(n int64, _ bool) string { return strconv.FormatInt(n, 10) },
		Word:     value,
		Quote:    quote,
		Rows:     rows,
		Same:     func(one, other string) string { return value(one) + " == " + value(other) },
	}
}

// rules writes the checks of the rules that a call's arguments must obey together. Rules of packed rows are checked where a pack is decoded,
// or by the function itself: an entry would repeat them at each call.
func (e *entryWriter) rules() {
	for i := range e.fn.Rules {
		r := &e.fn.Rules[i]
		g, _ := e.fn.Arg(r.Group)
		switch {
		case r.Timed() || g.Kind == spec.KindPacked:
		case r.Group == "":
			e.printf("  if %s then\n    return {err = %s}\n  end\n", rule.Broken(e.fn, r, language(e.fn, nil)), quote("RLARG "+r.Text))
		case r.Kind == spec.RuleDiffer:
			e.differ(r, g, "return {err = %s}")
		default:
			row := func(f spec.Field) string { return "rlfunc_at." + f.Lua }
			e.printf("  for rlfunc_row, rlfunc_at in ipairs(%s) do\n", g.Lua)
			e.printf("    if %s then\n      return {err = %s}\n    end\n  end\n", rule.Broken(e.fn, r, language(e.fn, row)), e.rowText(r))
		}
	}
}

// rowText returns the Lua expression of a refusal's text, at the row rlfunc_row of a group.
func (e *entryWriter) rowText(r *spec.Rule) string {
	if !r.OfRow() {
		return quote("RLARG " + r.Text)
	}
	return fmt.Sprintf("string.format('RLARG %s.%%d.%%s', rlfunc_row - 1, %s)", r.Group, quote(r.Text))
}

// differ writes the check that no two rows of a group, or items of a list, are alike. refuse is the statement that returns the refusal.
func (e *entryWriter) differ(r *spec.Rule, g spec.Field, refuse string) {
	e.printf("  local rlfunc_alike = {}\n  for _, rlfunc_at in ipairs(%s) do\n    local rlfunc_same = rlfunc_alike\n", g.Lua)
	for i, path := range r.Fields {
		value := "rlfunc_at"
		if g.Kind != spec.KindList {
			f, _ := e.fn.Arg(path)
			if value += "." + f.Lua; f.Optional {
				value = "(" + value + " or '')"
			}
		}
		if i == len(r.Fields)-1 {
			e.printf("    if rlfunc_same[%s] then\n      %s\n    end\n    rlfunc_same[%s] = true\n  end\n", value, fmt.Sprintf(refuse, quote("RLARG "+r.Text)), value)
			return
		}
		e.printf("    rlfunc_same[%s] = rlfunc_same[%s] or {}\n    rlfunc_same = rlfunc_same[%s]\n", value, value, value)
	}
}

// rowRules writes the checks of a packed row, once its cells are decoded: those of the lib file that declares the rows, or the function's own.
// prefix leads to a cell. The function's own are checked by one that returns the refusal alone.
func (e *entryWriter) rowRules(g spec.Field, ofLib bool, prefix string) {
	refuse := "nil, "
	if g.Rows != "" && !ofLib {
		refuse = ""
	}
	cell := func(f spec.Field) string { return prefix + f.Lua }
	for i := range e.fn.Rules {
		if r := &e.fn.Rules[i]; r.Group == g.Name && r.Own() && ofLib == (r.File != "") {
			e.printf("  if %s then\n    return %s%s\n  end\n", rule.Broken(e.fn, r, language(e.fn, cell)), refuse, refuseRow(r.Text))
		}
	}
}
