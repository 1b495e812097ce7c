package breaking_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/codegen/breaking"
	"github.com/rlfunc/rlfunc/codegen/internal/goclient"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// goAPI is all that a caller can name in the package that is generated for a library, one thing a line, with its type.
func goAPI(t *testing.T, lib *source.Library) map[string]bool {
	t.Helper()
	files, err := goclient.Files(lib)
	if err != nil {
		t.Fatal(err)
	}
	api := map[string]bool{}
	for name, text := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				receiver := ""
				if decl.Recv != nil {
					receiver = types.ExprString(decl.Recv.List[0].Type) + "."
				}
				if decl.Name.IsExported() {
					api["func "+receiver+decl.Name.Name+" "+types.ExprString(decl.Type)] = true
				}
			case *ast.GenDecl:
				for _, s := range decl.Specs {
					declared(api, s)
				}
			}
		}
	}
	return api
}

func declared(api map[string]bool, s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for i, name := range s.Names {
			if name.IsExported() && s.Type != nil {
				api[fmt.Sprintf("const %s %s = %s", name.Name, types.ExprString(s.Type), types.ExprString(s.Values[i]))] = true
			}
		}
	case *ast.TypeSpec:
		fields, ok := s.Type.(*ast.StructType)
		if !ok {
			api["type "+s.Name.Name+" "+types.ExprString(s.Type)] = true
			return
		}
		api["type "+s.Name.Name] = true
		for _, f := range fields.Fields.List {
			for _, name := range f.Names {
				if name.IsExported() {
					api["field "+s.Name.Name+"."+name.Name+" "+types.ExprString(f.Type)] = true
				}
			}
		}
	}
}

// A change is one edit of a list of fields; nil where it does not apply to the i-th one.
type change struct {
	name string
	edit func(list []spec.Field, i int) []spec.Field
}

func one(edit func(f *spec.Field) bool) func([]spec.Field, int) []spec.Field {
	return func(list []spec.Field, i int) []spec.Field {
		if !edit(&list[i]) {
			return nil
		}
		return list
	}
}

var changes = []change{
	{"remove", func(list []spec.Field, i int) []spec.Field { return slices.Delete(list, i, i+1) }},
	{"add", func(list []spec.Field, i int) []spec.Field {
		return slices.Insert(list, i, spec.Field{Name: "added", Lua: "added", Doc: "added", Kind: spec.KindCount, Max: 9, Optional: true, Line: 1, Col: 1})
	}},
	{"swap", func(list []spec.Field, i int) []spec.Field {
		if i == 0 || list[i-1].Kind == spec.KindKey { // keys have an order of their own
			return nil
		}
		list[i-1], list[i] = list[i], list[i-1]
		return list
	}},
	{"rename", one(func(f *spec.Field) bool { f.Name = "renamed"; return f.Kind != spec.KindText || f.Optional })}, // a row's key may be named after a text
	{"another kind", one(func(f *spec.Field) bool {
		if !f.Kind.Integer() {
			return false
		}
		f.Kind = map[bool]spec.Kind{true: spec.KindCount, false: spec.KindDuration}[f.Kind == spec.KindDuration]
		return true
	})},
	{"narrower", one(func(f *spec.Field) bool { f.Max--; return f.Kind.Integer() && f.Max > f.Min })},
	{"wider", one(func(f *spec.Field) bool { f.Min--; return f.Kind.Integer() && f.Min >= 0 })},
	{"from zero", one(func(f *spec.Field) bool { f.Min = 0; return f.Kind.Integer() })},
	{"optional", one(func(f *spec.Field) bool { f.Optional = !f.Optional; f.Default = nil; return f.Kind.Integer() })},
	{"one value less", one(func(f *spec.Field) bool { return f.Kind == spec.KindEnum && drop(f) })},
	{"one value more", one(func(f *spec.Field) bool { f.Values = append(f.Values, "another"); return f.Kind == spec.KindEnum })},
	{"values turned round", one(func(f *spec.Field) bool {
		slices.Reverse(f.Values)
		f.Default = nil
		return f.Kind == spec.KindEnum && !f.Optional
	})},
	{"another text", one(func(f *spec.Field) bool { f.Doc += " or so"; return true })},
}

func drop(f *spec.Field) bool {
	f.Values = f.Values[:len(f.Values)-1]
	f.Default = nil
	return len(f.Values) > 0
}

// TestCompare_knowsTheAPI changes one thing of a library's contract at a time. A change that no rule covers leaves everything in the
// generated Go, Python and TypeScript clients that a caller can name; and what only rules of the Go API speak of does not.
func TestCompare_knowsTheAPI(t *testing.T) {
	tried, quiet, seen := 0, 0, 0
	for _, tree := range own(t) {
		for _, lib := range tree.Libraries {
			for _, fn := range lib.Spec.Functions {
				// The others have the same kinds of fields, and each change generates a client.
				if lib.Spec.Name != "everything" && !slices.Contains([]string{"check", "reserve", "attempt"}, fn.Name) {
					continue
				}
				was := *lib
				was.Spec.Functions = []spec.Function{fn}
				before, clientsBefore := goAPI(t, &was), clientAPI(t, &was)
				everywhere(fn, func(where string, list func(*spec.Function) *[]spec.Field, at int) {
					for _, c := range changes {
						now := was
						now.Spec = clone(was.Spec, 0)
						fields := list(&now.Spec.Functions[0])
						*fields = c.edit(*fields, at)
						share(&now.Spec.Functions[0], fields)
						if *fields == nil || !legal(&now.Spec.Functions[0]) {
							continue
						}
						if seen++; testing.Short() && seen%4 != 0 {
							continue
						}
						tried++
						found := breaking.Compare(only(was.Spec), only(now.Spec))
						if slices.ContainsFunc(found, func(f breaking.Finding) bool { return f.Category != breaking.API }) {
							continue // whatever clients lose
						}
						what := fmt.Sprintf("%s of %s.%s: %s", where, lib.Spec.Name, fn.Name, c.name)
						lost := missing(before, goAPI(t, &now))
						if len(found) > 0 {
							if len(lost) == 0 {
								t.Errorf("%s: Go has lost nothing, and found was %s", what, lines(found))
							}
							continue
						}
						quiet++
						if len(lost) > 0 {
							t.Errorf("%s: nothing was found, and Go has lost %s", what, strings.Join(lost, ", "))
						}
						if lost := missing(clientsBefore, clientAPI(t, &now)); len(lost) > 0 {
							t.Errorf("%s: nothing was found, and clients have lost %s", what, strings.Join(lost, ", "))
						}
					}
				})
			}
		}
	}
	t.Logf("%d changes, %d of them break nothing", tried, quiet)
	if tried < 300 || quiet < 100 || quiet > tried/2 {
		t.Errorf("%d changes, but %d of them break nothing: the test proves too little", tried, quiet)
	}
}

func only(s spec.Library) *breaking.Snapshot {
	return &breaking.Snapshot{Root: "functions", Libraries: []breaking.Library{{Spec: s}}}
}

func missing(before, after map[string]bool) []string {
	var lost []string
	for name := range before {
		if !after[name] {
			lost = append(lost, name)
		}
	}
	return lost
}

// legal reports whether an enum that is an argument and a result has one list of values, as the header has to have it.
func legal(fn *spec.Function) bool {
	for _, k := range fn.Keys() {
		if k.With != "" && !slices.ContainsFunc(fn.Params, func(p spec.Field) bool {
			return p.Name == k.With && (p.Kind == spec.KindText && p.Optional || p.Kind == spec.KindGroup && p.Min == 0)
		}) {
			return false
		}
	}
	same := true
	var visit func(params, results []spec.Field)
	visit = func(params, results []spec.Field) {
		for _, p := range params {
			for _, r := range results {
				if p.Name == r.Name {
					same = same && slices.Equal(p.Values, r.Values)
					visit(p.Fields, r.Fields)
				}
			}
		}
	}
	visit(fn.Params, fn.Results)
	return same
}

// share changes the rows of a lib file for every group that has them.
func share(fn *spec.Function, changed *[]spec.Field) {
	for _, list := range [][]spec.Field{fn.Params, fn.Results} {
		for i := range list {
			if &list[i].Fields != changed || list[i].Rows == "" {
				continue
			}
			for j := range list {
				if list[j].Rows == list[i].Rows {
					list[j].Fields = *changed
				}
			}
		}
	}
}

// everywhere visits each field of a function, those of groups included.
func everywhere(fn spec.Function, visit func(where string, list func(*spec.Function) *[]spec.Field, at int)) {
	for side, top := range map[string]func(*spec.Function) *[]spec.Field{
		"argument": func(f *spec.Function) *[]spec.Field { return &f.Params },
		"result":   func(f *spec.Function) *[]spec.Field { return &f.Results },
	} {
		for i, f := range *top(&fn) {
			if f.Kind != spec.KindKey {
				visit(side+" "+f.Name, top, i)
			}
			for j, inner := range f.Fields {
				if inner.Kind == spec.KindKey {
					continue
				}
				visit(side+" "+f.Name+"."+inner.Name, func(f *spec.Function) *[]spec.Field { return &(*top(f))[i].Fields }, j)
			}
		}
	}
}

// clone returns a library whose fields of function at are copies.
func clone(s spec.Library, at int) spec.Library {
	s.Functions = slices.Clone(s.Functions)
	f := &s.Functions[at]
	f.Params, f.Results = copied(f.Params), copied(f.Results)
	return s
}

func copied(fields []spec.Field) []spec.Field {
	fields = slices.Clone(fields)
	for i := range fields {
		f := &fields[i]
		if f.Values, f.Fields = slices.Clone(f.Values), copied(f.Fields); f.Default != nil {
			f.Default = new(*f.Default)
		}
	}
	return fields
}
