// Package goclient generates the typed Go client of a library.
package goclient

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/rlfunc/rlfunc/codegen/internal/bundle"
	"github.com/rlfunc/rlfunc/codegen/internal/clients"
	"github.com/rlfunc/rlfunc/codegen/internal/rule"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

//go:embed *.tmpl
var files embed.FS

var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"goName":       goName,
		"lowerFirst":   lowerFirst,
		"paragraphs":   paragraphs,
		"fieldDoc":     fieldDoc,
		"forever":      forever,
		"requires":     requires,
		"args":         func(fn *spec.Function) []spec.Field { return clients.Args(*fn) },
		"goType":       goType,
		"answerType":   answerType,
		"encode":       encode,
		"decode":       decode,
		"quote":        func(s string) string { return fmt.Sprintf("%q", s) },
		"countKeys":    countKeys,
		"countArgs":    countArgs,
		"keyFields":    keyFields,
		"groups":       groups,
		"enums":        enums,
		"results":      func(fields []spec.Field) string { return results(spec.Sent(fields)) },
		"returnValues": returnValues,
		"packCells":    packCells,
		"own":          clients.HasOwn,
	}).ParseFS(files, "*.tmpl"))
})

// Files returns the Go files of a library's package by name, formatted.
func Files(lib *source.Library, b bundle.Bundle) (map[string][]byte, error) {
	out := map[string][]byte{}
	err := render(out, libraryFile, "library.go.tmpl", map[string]any{
		"Lib": lib.Spec, "Root": lib.Root, "Sections": b.Sections,
	})
	if err != nil {
		return nil, err
	}
	if shared := rowsOf(lib); shared != nil {
		if err := render(out, rowsFile, "rows", shared); err != nil {
			return nil, err
		}
	}
	for i := range lib.Spec.Functions {
		fn := &lib.Spec.Functions[i]
		if err := render(out, fileOf(fn), "function.go.tmpl", functionData(fn)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Files that do not belong to one function: the library and its client, and the rows that lib files declare.
const (
	libraryFile = "library.go"
	rowsFile    = "rows.go"
)

// fileOf names a function's file. The suffix hides names such as x_test and x_linux from the go tool.
func fileOf(fn *spec.Function) string { return fn.Name + "_gen.go" }

func render(out map[string][]byte, name, tmpl string, data any) error {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, tmpl, data); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	formatted, err := format.Source(b.Bytes())
	if err != nil {
		return fmt.Errorf("format %s: %w\n%s", name, err, b.String())
	}
	out[name] = formatted
	return nil
}

type data struct {
	*spec.Function
	Package string
	Go      string // SlidingLog
	Private string // slidingLog
	Imports imports
	Own     bool // needs package cmp
	Kept    bool // needs package slices
	Rules   string
	RuleDoc string
}

func functionData(fn *spec.Function) data {
	d := data{Function: fn, Go: goName(fn.Name), Private: privateName(fn.Name)}
	d.Package = packageOf(fn)
	d.Rules, d.RuleDoc = callRules(fn), ruleDoc(rule.Documented(fn), false)
	d.Own = strings.Contains(d.Rules, "cmp.Or(")
	var own []spec.Field // but the rows of lib files
	for _, f := range slices.Concat(fn.Params, fn.Results) {
		d.Own = d.Own || f.Own || strings.Contains(packRules(fn, f), "cmp.Or(")
		d.Kept = d.Kept || f.Rows == "" && rule.Needs(fn, f)
		if f.Rows == "" {
			own = append(own, f)
		}
	}
	d.Imports = importsOf(own)
	return d
}

// requires returns a paragraph of the servers that a library requires, or nothing.
func requires(lib spec.Library) string {
	if len(lib.Requires) == 0 {
		return ""
	}
	return "\n\nIt requires " + lib.Requires.String() + " or later."
}

// forever returns the suffixes of the keys that last, as the elements of a Go literal.
func forever(lib spec.Library) string {
	var out []string
	for _, fn := range lib.Functions {
		for _, p := range fn.Params {
			for _, k := range append(p.Keys(), p) {
				switch {
				case !k.Forever:
				case k.SuffixKind == "":
					out = append(out, k.Suffix)
				default:
					i := slices.IndexFunc(p.Fields, func(f spec.Field) bool { return f.Name == k.SuffixKind })
					out = append(out, p.Fields[i].Values...)
				}
			}
		}
	}
	slices.Sort(out)
	return quoted(slices.Compact(out))
}
