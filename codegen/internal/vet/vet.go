// Package vet finds code in annotated Lua that crashes a server, desyncs a connection or uses Redis in a wrong form, by the shape of the text.
//
// It walks each file with simple types of values: which kinds of value an expression may be, which declared key, which command's reply. What
// calls pass to a function, what it returns and what tables hold is joined over the whole tree, in rounds until nothing changes; the last
// round reports. It follows no paths and proves no behaviour: luatest.Contract runs the functions for that.
package vet

import (
	"maps"
	"slices"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/internal/annotation"
	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
)

// A checker holds what is known of a tree.
type checker struct {
	tree     *source.Tree
	libs     map[string]*file
	files    map[*luasrc.File]*file
	sorted   []*file // lib files before those that use them
	objects  map[any]*object
	written  map[string]bool // names of fields that some statement sets
	ignore   *ignores
	found    diag.List
	said     map[said]bool
	changed  bool
	prepared map[*function]map[*variable]bool // what prepare calls
	final    bool                             // the round that reports
}

type site struct {
	file *file
	at   position
}

// said identifies a finding by rule and position: one is enough.
type said struct {
	site
	rule string
}

func newChecker(tree *source.Tree) *checker {
	c := &checker{tree: tree, libs: map[string]*file{}, files: map[*luasrc.File]*file{}, objects: map[any]*object{}, written: map[string]bool{}, said: map[said]bool{}}
	for _, name := range slices.Sorted(maps.Keys(tree.Libs)) {
		c.lib(name)
	}
	for _, lib := range tree.Libraries {
		for i, src := range lib.Files {
			c.file(src, "", lib.Spec.Functions[i].Uses)
		}
	}
	c.ignore = readIgnores(c.sorted)
	return c
}

func (c *checker) lib(name string) {
	lib := c.tree.Libs[name]
	if lib == nil || c.libs[name] != nil {
		return
	}
	c.libs[name] = &file{} // ends a circle
	for _, used := range lib.Uses {
		c.lib(used)
	}
	c.libs[name] = c.file(lib.File, name, lib.Uses)
}

func (c *checker) file(src *luasrc.File, lib string, uses []string) *file {
	f := resolve(src, lib, uses)
	c.files[src] = f
	c.sorted = append(c.sorted, f)
	return f
}

func (c *checker) add(at site, rule, format string, args ...any) {
	if !c.ignore.silences(rule, at) {
		c.found.Add(at.file.src.Path, at.at.line, at.at.col, rule, format, args...)
	}
}

// A Report is the result of Examine.
type Report struct {
	Found diag.List // sorted
	// Commands are the Redis commands that each function of each library may run, directly or through lib files: upper
	// case, with the subcommand or the channel where it is always the same, sorted, in the order of the tree. They omit commands that only the generated entry runs.
	Commands [][][]string
}

const mostRounds = 30 // far more than any tree needs: types only grow

// Examine checks a tree that source.Load has read, and changes nothing.
func Examine(tree *source.Tree) Report {
	c := newChecker(tree)
	for _, f := range c.sorted {
		c.names(f)
	}
	for range mostRounds {
		if c.round(); !c.changed {
			break
		}
	}
	c.final = true
	c.prepared = c.preparing()
	for _, f := range c.sorted {
		for _, fn := range f.funcs {
			fn.flow.commands, fn.flow.writes, fn.flow.codes = nil, nil, nil
		}
	}
	c.round()
	report := Report{Commands: make([][][]string, len(tree.Libraries))}
	for l, lib := range tree.Libraries {
		for i := range lib.Files {
			report.Commands[l] = append(report.Commands[l], c.function(lib, i))
		}
	}
	for _, f := range c.sorted {
		c.load(f)
	}
	c.orphans()
	c.ignore.report(&c.found)
	c.found.Sort()
	report.Found = c.found
	return report
}

// Check returns every finding of Examine.
func Check(tree *source.Tree) diag.List { return Examine(tree).Found }

// round walks every file once.
func (c *checker) round() {
	c.changed = false
	for _, f := range c.sorted {
		for _, fn := range f.funcs {
			for _, p := range fn.params {
				p.passed, p.from = p.from, nil
			}
			for _, v := range fn.vars {
				v.chosen = nil
			}
			fn.flow.calls = nil
		}
	}
	for _, lib := range c.tree.Libraries {
		for i := range lib.Files {
			c.header(lib, i)
		}
	}
	for _, f := range c.sorted {
		w := &pass{checker: c, file: f, fn: f.chunk, env: newEnv()}
		w.body(f.src.Chunk)
	}
}

// grow joins a value into what is known across functions.
func (c *checker) grow(to *cell, v value) { c.changed = grow(&to.value, v) || c.changed }

// object returns the table that a node makes.
func (c *checker) object(node any) *object {
	o := c.objects[node]
	if o == nil {
		o = newObject()
		c.objects[node] = o
	}
	return o
}

// public returns the function that a file is named after.
func (f *file) public(name string) *function {
	for _, stmt := range f.src.Chunk {
		if local, ok := stmt.(*ast.LocalAssignStmt); ok && len(local.Names) == 1 && local.Names[0] == name && len(local.Exprs) == 1 {
			if e, ok := local.Exprs[0].(*ast.FunctionExpr); ok {
				return f.byExpr[e]
			}
		}
	}
	return nil
}

// orphans reports lib files that no function uses, directly or through others.
func (c *checker) orphans() {
	for name, lib := range c.tree.Libs {
		if !slices.ContainsFunc(c.tree.Libraries, func(by *source.Library) bool { return slices.Contains(by.Libs, lib) }) {
			c.found.Add(lib.File.Path, 1, 1, annotation.RuleUse, "no function uses %s: add `--- @use %s` where it is needed, or remove the file", name, name)
		}
	}
}
