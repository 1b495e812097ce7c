// Package clients is what the generators of other languages share: a library's rows, enums and functions as plain data.
package clients

import (
	"fmt"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// Check returns an error if two types of a library's module, or one and a type of the runtime, would have one name.
func Check(language string, m Module, runtime ...string) error {
	seen := map[string]string{}
	for _, name := range runtime {
		seen[name] = "the runtime"
	}
	add := func(name, of string) error {
		if other, taken := seen[name]; taken {
			return fmt.Errorf("generate %s for %s: %s and %s would both declare %s: rename a function, a group or a lib file", language, m.Spec.Name, other, of, name)
		}
		seen[name] = of
		return nil
	}
	all := []Function{{Rows: m.Rows, Enums: m.Enums}}
	for _, f := range append(all, m.Functions...) {
		of := "function " + f.Name
		names := []string{}
		if f.Name == "" {
			of = "a lib file"
		} else {
			names = append(names, f.Class+"Params", f.Class+"Result")
		}
		for _, r := range f.Rows {
			names = append(names, r.Type)
			if r.Group.Kind == spec.KindPacked {
				names = append(names, r.Type+"Pack")
			}
		}
		for _, e := range f.Enums {
			names = append(names, e.Type)
		}
		for _, name := range names {
			if err := add(name, of); err != nil {
				return err
			}
		}
	}
	return nil
}

// A Row is the class of a group's row.
type Row struct {
	Type   string
	Prefix string // of its enums
	Of     string
	Group  spec.Field
	Fields []spec.Field
	Param  bool
	In     *spec.Function // the function whose rows they are: for a lib file's, the first
	Name   string         // of the group in that function
}

// An Enum is a type with its values.
type Enum struct {
	Type   string
	Of     string
	Values []string
}

// A Function is a function with the types that it declares.
type Function struct {
	spec.Function
	Class   string
	Rows    []Row
	Enums   []Enum
	Library string
}

// A Module is a library. Its Rows and Enums are those of lib files.
type Module struct {
	*source.Library
	Rows      []Row // of lib files
	Enums     []Enum
	Functions []Function
}

// New returns a library as a module.
func New(lib *source.Library) Module {
	m := Module{Library: lib}
	seen := map[string]bool{}
	for _, fn := range lib.Spec.Functions {
		f := Function{Function: fn, Class: Class(fn.Name), Library: lib.Spec.Name}
		for _, list := range []struct {
			fields []spec.Field
			param  bool
		}{{fn.Params, true}, {fn.Results, false}} {
			f.Enums = append(f.Enums, enums(f.Class, list.fields, seen)...)
			for _, g := range list.fields {
				if !g.Kind.Group() {
					continue
				}
				r := Row{Type: RowType(f.Class, g, list.param), Prefix: RowPrefix(f.Class, g), Of: fn.Name + "." + g.Name, Group: g, Param: list.param, In: &f.Function, Name: g.Name}
				if seen[r.Type] {
					continue
				}
				seen[r.Type] = true
				for _, inner := range g.Fields {
					if inner.Kind != spec.KindKey {
						r.Fields = append(r.Fields, inner)
					}
				}
				owned := enums(RowPrefix(f.Class, g), r.Fields, seen)
				if g.Rows != "" {
					r.Of, r.Group.Name = "lib/"+g.Rows+".lua", g.Rows
					m.Rows, m.Enums = append(m.Rows, r), append(m.Enums, owned...)
					continue
				}
				f.Rows, f.Enums = append(f.Rows, r), append(f.Enums, owned...)
			}
		}
		m.Functions = append(m.Functions, f)
	}
	return m
}

func enums(owner string, fields []spec.Field, seen map[string]bool) (out []Enum) {
	for _, f := range fields {
		if f.Kind == spec.KindList {
			f = f.Fields[0]
		}
		if f.Kind == spec.KindEnum && !seen[owner+Class(f.Name)] {
			seen[owner+Class(f.Name)] = true
			out = append(out, Enum{owner + Class(f.Name), f.Name, f.Values})
		}
	}
	return out
}

// Class turns snake_case into a class name.
func Class(name string) string {
	var b strings.Builder
	for _, w := range strings.Split(name, "_") {
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return b.String()
}

// RowPrefix begins the names of a group's types. Rows of a lib file have the same type in every function of the library.
func RowPrefix(owner string, g spec.Field) string {
	if g.Rows != "" {
		return Class(g.Rows)
	}
	return owner + Class(g.Name)
}

// RowType is the type of a group's row.
func RowType(owner string, g spec.Field, param bool) string {
	if param {
		return RowPrefix(owner, g)
	}
	return RowPrefix(owner, g) + "Result"
}
