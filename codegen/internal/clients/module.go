// Package clients is what the generators of other languages share: a library's rows, enums and functions as plain data.
package clients

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// Check returns an error if two types of a library's module, or one and a type of the runtime, would have one name.
func Check(language string, m Module, runtime ...string) error {
	seen := map[string]string{}
	add := func(of string, names ...string) error {
		for _, name := range names {
			if other, taken := seen[name]; taken {
				return fmt.Errorf("generate %s for %s: %s and %s would both declare %s: rename a function, a group or a lib file",
					language, m.Spec.Name, other, of, name)
			}
			seen[name] = of
		}
		return nil
	}
	err := add("the runtime", runtime...)
	for _, f := range append([]Function{{Rows: m.Rows, Enums: m.Enums}}, m.Functions...) {
		of, names := "function "+f.Name, []string{f.Class + "Params", f.Class + "Result"}
		if f.Name == "" {
			of, names = "a lib file", nil
		}
		for _, r := range f.Rows {
			names = append(names, r.Type)
		}
		for _, e := range f.Enums {
			names = append(names, e.Type)
		}
		err = cmp.Or(err, add(of, names...))
	}
	return err
}

// A Row is the class of a group's row.
type Row struct {
	Type   string
	Prefix string // of its enums
	Of     string
	Group  spec.Field
	Fields []spec.Field
	Param  bool
	Rules  []spec.Rule // of its lib file
}

// Doc returns the documentation of a row's type.
func (r Row) Doc() string {
	return "One row of " + r.Of + "." + rules(r.Rules)
}

// An Enum is a type with its values.
type Enum struct {
	Type   string
	Of     string
	Values []string
}

// A Function is a function with the types that it declares: those of arguments, then those of results.
type Function struct {
	spec.Function
	Class string
	Rows  []Row
	Enums []Enum
}

// Text returns what a function's documentation says before its arguments.
func (f Function) Text() string {
	text := f.Summary
	if f.Doc != "" {
		text += "\n\n" + f.Doc
	}
	text += rules(f.OwnRules())
	for i, e := range f.Errors {
		text += []string{"\n\n", "\n"}[min(i, 1)] + e.Code + ": " + e.Doc + "."
	}
	return text
}

// rules returns what a documentation says about arguments together.
func rules(all []spec.Rule) (text string) {
	if len(all) > 0 {
		text = "\n\nBesides the bounds of each, by their names on the server:"
	}
	for _, r := range all {
		text += "\n- " + r.Text() + "."
	}
	return text
}

// Args returns the parameters of a call. Those that are keys are subjects: of the call, of each of several keys, or of the keys that go
// with an argument.
func (f Function) Args() []spec.Field {
	doc := strings.TrimSuffix(cmp.Or(f.Subject, "the user, address or other name that the call is about"), ".") + ". The call's keys are made from it"
	args := []spec.Field{{Name: spec.Subject, Kind: spec.KindKey, Doc: doc}}
	for _, p := range f.Params {
		if p.Kind == spec.KindKey && !p.Several {
			continue
		}
		args = append(args, p)
		own := func(k spec.Field) bool { return k.Own && k.With == p.Name }
		if slices.ContainsFunc(f.Params, own) && len(p.Keys()) == 0 {
			args = append(args, spec.Field{
				Name: p.Name + "_of", Kind: spec.KindKey, Optional: true, With: p.Name,
				Doc: "the subject of the keys that " + p.Name + " uses. Defaults to the call's subject",
			})
		}
	}
	return args
}

// A Key is a key of a call, or the keys of a group's rows.
type Key struct {
	spec.Field
	Group bool
}

// CallKeys returns a call's keys in the order of the wire.
func (f Function) CallKeys() (keys []Key) {
	var rows, several []Key
	for _, p := range f.Params {
		switch {
		case p.Several:
			several = append(several, Key{Field: p})
		case p.Kind == spec.KindKey:
			keys = append(keys, Key{Field: p})
		case len(p.Keys()) > 0:
			rows = append(rows, Key{p, true})
		}
	}
	return append(append(keys, rows...), several...)
}

// A Module is a library. Its Rows and Enums are those of lib files.
type Module struct {
	*source.Library
	Rows      []Row // of lib files
	Enums     []Enum
	Functions []Function
}

// New returns a library as a module, in which class makes the names of types out of snake_case.
func New(lib *source.Library, class func(name string) string) Module {
	m := Module{Library: lib}
	seen := map[string]bool{}
	for _, fn := range lib.Spec.Functions {
		f := Function{Function: fn, Class: class(fn.Name)}
		for _, list := range []struct {
			fields []spec.Field
			param  bool
		}{{fn.Params, true}, {fn.Results, false}} {
			f.Enums = append(f.Enums, enums(class, f.Class, list.fields, seen)...)
			for _, g := range list.fields {
				if g.Kind != spec.KindGroup {
					continue
				}
				r := Row{Prefix: f.Class + class(g.Name), Of: fn.Name + "." + g.Name, Group: g, Param: list.param}
				if g.Rows != "" {
					r.Prefix, r.Of = class(g.Rows), "lib/"+g.Rows+".lua"
				}
				r.Type = r.Prefix
				if list.param {
					r.Rules = fn.RulesOf(g.Name)
				} else {
					r.Type += "Result"
				}
				if g.Rows != "" && seen[r.Of+r.Type] {
					continue
				}
				seen[r.Of+r.Type] = true
				r.Fields, _ = g.Cells()
				owned := enums(class, r.Prefix, r.Fields, seen)
				if g.Rows != "" {
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

func enums(class func(string) string, owner string, fields []spec.Field, seen map[string]bool) (out []Enum) {
	for _, f := range fields {
		if f.Kind == spec.KindEnum && !seen[owner+"."+f.Name] { // an argument and a result may share one
			seen[owner+"."+f.Name] = true
			out = append(out, Enum{owner + class(f.Name), f.Name, f.Values})
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
