package annotation

import (
	"regexp"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// goForm is a Go type behind the import path of its package: example.com/shop.Order.
var goForm = regexp.MustCompile(`^[A-Za-z0-9_~-][A-Za-z0-9_.~/-]*\.[A-Z][A-Za-z0-9_]*$`)

// readGo reads `@go payload example.com/shop.Order`: the Go type of the json arguments and results of that name, which are declared
// above.
func readGo(r *fieldReader, rw row, lists ...[]spec.Field) {
	name, rest, col, restCol := word(rw.text, rw.textCol)
	path, extra, pathCol, extraCol := word(rest, restCol)
	if !goForm.MatchString(path) || strings.Contains(path, "//") {
		r.add(rw.line, pathCol, RuleGo, "@go names a json argument or result and its Go type, with the import path: @go payload example.com/shop.Order")
		return
	}
	if w, _, wCol, _ := word(extra, extraCol); w != "" {
		r.add(rw.line, wCol, RuleGo, "unexpected %q after the type", w)
		return
	}
	set, typed := false, false
	for _, fields := range lists {
		for _, f := range named(fields, name) {
			switch {
			case f.Kind != spec.KindJSON:
			case f.Go != "":
				typed = true
			default:
				set, f.Go = true, path
			}
		}
	}
	switch {
	case typed && !set:
		r.add(rw.line, col, RuleDuplicate, "%s has a Go type already", name)
	case !set:
		r.add(rw.line, col, RuleGo, "no json argument or result %s is declared above", name)
	}
}

// named returns the fields of a name, which are a group's behind its name and a dot, and the items of lists and the values of maps.
func named(fields []spec.Field, name string) (out []*spec.Field) {
	group, inner, inGroup := strings.Cut(name, ".")
	for i := range fields {
		f := &fields[i]
		switch {
		case f.Name != group:
		case inGroup && f.Rows == "":
			out = append(out, named(f.Fields, inner)...)
		case !inGroup && (f.Kind == spec.KindList || f.Kind == spec.KindMap):
			out = append(out, &f.Fields[len(f.Fields)-1])
		case !inGroup:
			out = append(out, f)
		}
	}
	return out
}
