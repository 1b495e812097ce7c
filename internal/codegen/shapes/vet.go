// Package vet finds code in annotated Lua that crashes a server, desyncs a connection or uses Redis in a wrong form, by the shape of the text.
//
// It walks each file with simple types of values: which kinds of value an expression may be, which declared key, which command's reply. What
// calls pass to a function, what it returns and what tables hold is joined over the whole tree, in rounds until nothing changes; the last
// round reports. It follows no paths and proves no behaviour: luatest.Contract runs the functions for that.
package vet

import (
	"maps"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/codegen/annotation"
	"github.com/rlfunc/rlfunc/internal/codegen/diag"
	"github.com/rlfunc/rlfunc/internal/codegen/luasrc"
	"github.com/rlfunc/rlfunc/internal/codegen/source"
)

// A checker holds what is known of a tree.
type checker struct {
	tree    *source.Tree
	libs    map[string]*file
	files   map[*luasrc.File]*file
	sorted  []*file // lib files before those that use them
	objects map[any]*object
	written map[string]bool // names of fields that some statement sets
	ignore  *ignores
	found   diag.List
	said    map[said]bool
	keyUses map[*spec.Field]*keyUse
	cells   []*cell
	changed bool
	descending bool // rounds begin anew
	prepared map[*function]bool // what prepare calls, which runs once for many calls
	final   bool // the round that reports
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
	c := &checker{tree: tree, libs: map[string]*file{}, files: map[*luasrc.File]*file{}, objects: map[any]*object{}, written: map[string]bool{}, said: map[said]bool{}, keyUses: map[*spec.Field]*keyUse{}}
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
	for range 3 {
		c.descend()
	}
	c.final = true
	c.prepared = c.preparing()
	c.keyUses = map[*spec.Field]*keyUse{}
	for _, f := range c.sorted {
		for _, fn := range f.funcs {
			fn.flow.commands, fn.flow.writes, fn.flow.codes = nil, nil, nil
		}
	}
	c.descend()
	report := Report{Commands: make([][][]string, len(tree.Libraries))}
	for l, lib := range tree.Libraries {
		for i := range lib.Files {
			report.Commands[l] = append(report.Commands[l], c.function(lib, i))
		}
		c.library(lib)
	}
	c.circles()
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

// descend walks every file, and keeps only what this round finds.
func (c *checker) descend() {
	c.descending = true
	c.round()
	for _, cell := range c.cells {
		cell.value, cell.next = cell.next, value{}
	}
	for _, f := range c.sorted {
		for _, fn := range append(f.funcs, f.chunk) {
			fn.flow.returns, fn.flow.next = fn.flow.next, nil
		}
	}
}

// grow joins a value into what is known across functions.
func (c *checker) grow(to *cell, v value) {
	if !to.listed {
		to.listed = true
		c.cells = append(c.cells, to)
	}
	switch {
	case c.descending:
		grow(&to.next, v)
	case grow(&to.value, v):
		c.changed = true
	}
}

// object returns the table that a node makes.
func (c *checker) object(node any) *object {
	o := c.objects[node]
	if o == nil {
		o = newObject()
		c.objects[node] = o
	}
	return o
}

// function checks one public function as a whole, and returns its commands.
func (c *checker) function(lib *source.Library, i int) []string {
	contract := &lib.Spec.Functions[i]
	fn := c.files[lib.Files[i]].public(contract.Name)
	if fn == nil {
		return nil
	}
	reached := c.reachedBy(fn, contract)
	commands, codes := map[string]bool{}, map[string]bool{}
	for f := range reached {
		for name := range f.flow.commands {
			commands[name] = true
		}
		for code := range f.flow.codes {
			codes[code] = true
		}
		if contract.Has("no-writes") {
			c.noWrites(fn, f, contract)
		}
	}
	c.codesReturned(fn, contract, codes)
	c.clockTwice(fn)
	return slices.Sorted(maps.Keys(commands))
}

// Commands returns the commands that each function of a library mentions, and TYPE, which the generated entry runs: sorted as those of a Report,
// without those whose names are in variables, that a table's functions run, or that publish to any channel. It checks nothing, which is fast.
func Commands(lib *source.Library) (all [][]string) {
	tree := &source.Tree{Libraries: []*source.Library{lib}, Libs: map[string]*annotation.Lib{}}
	for _, used := range lib.Libs {
		tree.Libs[used.Name] = used
	}
	c := newChecker(tree)
	for i, src := range lib.Files {
		names := map[string]bool{"TYPE": true}
		if fn := c.files[src].public(lib.Spec.Functions[i].Name); fn != nil {
			for f := range c.reachedBy(fn, &lib.Spec.Functions[i]) {
				f.mentionedCommands(names)
			}
		}
		delete(names, "PUBLISH")
		all = append(all, slices.Sorted(maps.Keys(names)))
	}
	return all
}

// mentionedCommands adds the commands that a function's text names.
func (fn *function) mentionedCommands(names map[string]bool) {
	fn.walk(func(node any, in *function) {
		call, ok := node.(*ast.FuncCallExpr)
		if !ok || in != fn || call.Func == nil || len(call.Args) == 0 {
			return
		}
		if name := exprText(call.Func); name != "redis.call" && name != "redis.pcall" {
			return
		}
		if cmd, ok := call.Args[0].(*ast.StringExpr); ok {
			var second *string
			if len(call.Args) > 1 {
				if s, ok := call.Args[1].(*ast.StringExpr); ok {
					second = &s.Value
				}
			}
			names[permission(strings.ToUpper(cmd.Value), second)] = true
		}
	})
}

// permission returns what an ACL names for a command: with its subcommand, XGROUP|CREATE, and with the channel to which it always publishes.
func permission(name string, second *string) string {
	switch {
	case second == nil:
		return name
	case name == "PUBLISH":
		return name + "|" + *second
	case name == "OBJECT" || name == "XGROUP" || name == "XINFO":
		return name + "|" + strings.ToUpper(*second)
	}
	return name
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

// reachedBy returns a public function and every function that it mentions. That includes code that no call reaches, because an ACL without
// one of its commands would break a call.
func (c *checker) reachedBy(fn *function, contract *spec.Function) map[*function]bool {
	seen := map[*function]bool{}
	c.reach(fn, seen)
	for _, p := range contract.Params {
		if lib := c.libs[p.Rows]; p.Prepare && lib != nil {
			c.reach(lib.members["prepare"], seen)
		}
	}
	return seen
}

func (c *checker) reach(fn *function, seen map[*function]bool) {
	if fn == nil || seen[fn] {
		return
	}
	seen[fn] = true
	f := fn.file
	fn.walk(func(node any, in *function) {
		switch node := node.(type) {
		case *ast.FunctionExpr:
			c.reach(f.byExpr[node], seen)
		case *ast.IdentExpr:
			if v := f.refs[node]; v != nil {
				c.reach(f.bodies[v], seen)
			}
		case *ast.AttrGetExpr:
			id, ok := node.Object.(*ast.IdentExpr)
			key, named := node.Key.(*ast.StringExpr)
			if !ok || !named {
				return
			}
			if f.refs[id] != nil {
				if f.refs[id].top() {
					c.reach(f.members[id.Value+"."+key.Value], seen)
				}
				return
			}
			if lib := c.libs[id.Value]; lib != nil && slices.Contains(f.uses, id.Value) {
				c.reach(lib.members[key.Value], seen)
			}
		}
	})
}

// circles reports functions that call themselves.
func (c *checker) circles() {
	for _, f := range c.sorted {
		for _, fn := range f.funcs {
			if again := fn.flow.calls[fn]; c.callsItself(fn) && !(again && fn.countsDown()) {
				c.add(site{f, fn.pos}, RuleRecursion, "%s calls itself, perhaps without end: write a loop with a bound, and keep what is still to do in a table", fn.name)
			}
		}
	}
}

// callsItself reports whether calls by name lead back to a function.
func (c *checker) callsItself(fn *function) bool {
	seen := map[*function]bool{}
	var follow func(*function) bool
	follow = func(from *function) bool {
		for next, named := range from.flow.calls {
			if named && next == fn {
				return true
			}
			if named && !seen[next] {
				seen[next] = true
				if follow(next) {
					return true
				}
			}
		}
		return false
	}
	return follow(fn)
}

// countsDown reports whether a function compares a parameter with a number, and passes itself that parameter plus or minus a number.
func (fn *function) countsDown() bool {
	f, compared, stepped := fn.file, map[*variable]bool{}, map[*variable]bool{}
	fn.walk(func(node any, _ *function) {
		switch node := node.(type) {
		case *ast.RelationalOpExpr:
			if _, ok := node.Rhs.(*ast.NumberExpr); ok {
				compared[f.named(node.Lhs)] = true
			}
		case *ast.FuncCallExpr:
			if v := f.named(node.Func); v == nil || f.bodies[v] != fn {
				return
			}
			for i, a := range node.Args {
				op, ok := a.(*ast.ArithmeticOpExpr)
				if !ok || i >= len(fn.params) || f.named(op.Lhs) != fn.params[i] {
					continue
				}
				if _, constant := op.Rhs.(*ast.NumberExpr); constant && (op.Operator == "+" || op.Operator == "-") {
					stepped[fn.params[i]] = true
				}
			}
		}
	})
	for _, p := range fn.params {
		if compared[p] && stepped[p] {
			return true
		}
	}
	return false
}

func (c *checker) calls(fn *function, seen map[*function]bool) {
	if !seen[fn] {
		seen[fn] = true
		for next := range fn.flow.calls {
			c.calls(next, seen)
		}
	}
}
