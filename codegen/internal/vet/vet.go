// Package vet finds code in annotated Lua that crashes a server, desyncs a connection or uses Redis in a wrong form, by the shape of the text.
//
// It resolves the names of a file, visits each statement and expression once, and looks at what stands there: a literal, a local and what it
// is given, a helper and what it returns. It follows no paths and proves no behaviour: luatest.Contract runs the functions for that.
package vet

import (
	"maps"
	"slices"

	"github.com/rlfunc/rlfunc/codegen/internal/annotation"
	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
)

// A checker holds the files of a tree.
type checker struct {
	libs   map[string]*file
	found  diag.List
	shapes map[given]shape
}

func (f *file) report(at position, rule, format string, args ...any) {
	if !f.silenced(rule, at.line) {
		f.checker.found.Add(f.src.Path, at.line, at.col, rule, format, args...)
	}
}

// Check returns what is wrong with a tree that source.Load has read, sorted.
func Check(tree *source.Tree) diag.List {
	c := &checker{libs: map[string]*file{}, shapes: map[given]shape{}}
	var files []*file
	for _, name := range slices.Sorted(maps.Keys(tree.Libs)) {
		c.libs[name] = c.resolve(tree.Libs[name].File, name, tree.Libs[name].Uses, nil)
		files = append(files, c.libs[name])
		if !slices.ContainsFunc(tree.Libraries, func(by *source.Library) bool { return slices.Contains(by.Libs, tree.Libs[name]) }) {
			c.found.Add(tree.Libs[name].File.Path, 1, 1, annotation.RuleUse, "no function uses %s: add `--- @use %s` where it is needed, or remove the file", name, name)
		}
	}
	for _, lib := range tree.Libraries {
		for i, src := range lib.Files {
			files = append(files, c.resolve(src, "", lib.Spec.Functions[i].Uses, &lib.Spec.Functions[i]))
		}
	}
	for _, f := range files {
		f.visit()
		f.ignored()
	}
	c.found.Sort()
	return c.found
}
