package goclient

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/rule"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// A rowType is the Go type of a group's row.
type rowType struct {
	Type     string
	Of       string // what has such rows
	Group    string // the name in errors
	Fields   []spec.Field
	Packed   spec.Field
	Required int
	Rules    string // statements that hold one against its rules while it is packed
	RuleDoc  string
	Kept     bool // a pack keeps its rows, for rules of calls
}

// rowName returns the prefix of a group's type names; owner is the function's Go name. Rows of a lib file have the same type in
// every function of the library.
func rowName(owner string, g spec.Field) string {
	if g.Rows != "" {
		return goName(g.Rows)
	}
	return owner + goName(g.Name)
}

func rowOf(fn *spec.Function, owner, of string, g spec.Field) rowType {
	_, required := g.Cells()
	r := rowType{Type: rowName(owner, g), Of: of, Group: g.Name, Fields: rowFields(g), Packed: g, Required: required}
	if g.Kind == spec.KindPacked {
		r.Rules, r.RuleDoc, r.Kept = packRules(fn, g), ruleDoc(rule.OfPack(fn, g.Name), true), rule.Needs(fn, g)
	}
	return r
}

// groups returns the groups of a function whose rows its own file declares.
func groups(fn *spec.Function, owner, of string, fields []spec.Field) []rowType {
	var out []rowType
	for _, f := range fields {
		if f.Kind.Group() && f.Rows == "" {
			out = append(out, rowOf(fn, owner, of+"."+goName(f.Name), f))
		}
	}
	return out
}

// sharedRows are the rows that lib files declare and the functions of a library use.
type sharedRows struct {
	Root, Lib, Package string
	Imports            imports
	Packs, Cmp         bool
	Params, Results    []rowType
	Enums              []enum
}

// rowsOf collects the rows of lib files; nil when a library has none.
func rowsOf(lib *source.Library) *sharedRows {
	s := &sharedRows{Root: lib.Root, Lib: lib.Spec.Name, Package: lib.Spec.Name}
	seen, all := map[string]bool{}, []spec.Field{}
	add := func(fn *spec.Function, list *[]rowType, of string, fields []spec.Field) {
		for _, g := range fields {
			if g.Rows == "" {
				continue
			}
			row := rowOf(fn, "", fmt.Sprintf(of, g.Rows), g)
			if seen[of+g.Rows] {
				i := slices.IndexFunc(*list, func(r rowType) bool { return r.Type == row.Type })
				(*list)[i].Kept = (*list)[i].Kept || row.Kept
				continue
			}
			seen[of+g.Rows] = true
			shared := g
			shared.Name = g.Rows
			row.Group = g.Rows
			*list = append(*list, row)
			s.Cmp = s.Cmp || strings.Contains(row.Rules, "cmp.Or(")
			all = append(all, shared)
			s.Packs = s.Packs || shared.Kind == spec.KindPacked || slices.ContainsFunc(shared.Fields, func(f spec.Field) bool { return f.Kind == spec.KindMicros })
		}
	}
	for i := range lib.Spec.Functions {
		fn := &lib.Spec.Functions[i]
		add(fn, &s.Params, "the groups that take their rows from lib/%s.lua", fn.Params)
		add(fn, &s.Results, "the answers that lib/%s.lua declares", fn.Results)
	}
	if len(s.Params)+len(s.Results) == 0 {
		return nil
	}
	known := map[string]bool{}
	for _, r := range append(s.Params[:len(s.Params):len(s.Params)], s.Results...) {
		s.Enums = append(s.Enums, enumsOf(r.Type, r.Fields, known)...)
	}
	s.Imports = importsOf(all)
	return s
}

// Kept reports whether a pack of the file keeps its rows.
func (s *sharedRows) Kept() bool {
	return slices.ContainsFunc(s.Params, func(r rowType) bool { return r.Kept })
}

// packCells returns the statements that add the cells of one row, hold it against its rules, and add its keys.
func packCells(g spec.Field, rules string) string {
	var b strings.Builder
	for _, f := range rowFields(g) {
		b.WriteString(encode("", "row", f) + "\n")
	}
	b.WriteString(rules)
	for _, k := range g.Keys() {
		suffix := fmt.Sprintf("%q", k.Suffix)
		if k.SuffixKind != "" {
			suffix = fmt.Sprintf("string(row.%s)", goName(k.SuffixKind))
		}
		fmt.Fprintf(&b, "p.Key(%s, row.%s)\n", suffix, goName(k.SuffixOf))
	}
	return b.String()
}

// RowType returns the Go type of a group's row, whose owner is the function's Go name.
func RowType(owner string, g spec.Field) string { return rowName(owner, g) }
