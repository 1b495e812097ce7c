// Package vet finds code in annotated Lua that crashes a server, desyncs a connection, loses a key's expiry, or behaves
// differently on another engine.
//
// It follows every path of each public function, into the lib files that it uses, and tracks the possible values of each expression: see
// run. The end of docs/vet.md lists the limits.
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

// A checker holds the state that all runs over a tree share.
type checker struct {
	tree   *source.Tree
	libs   map[string]*file
	files  map[*luasrc.File]*file
	uses   map[*file][]string
	found  diag.List
	ignore *ignores
	said   map[said]bool
	quiet  bool
	ran    map[string]bool // commands that a run reached
	nextID int
	argued map[argued]bool // results of comparesArgument
}

// said identifies a finding by rule and position.
type said struct {
	site
	rule string
}

func newChecker(tree *source.Tree) *checker {
	c := &checker{tree: tree, libs: map[string]*file{}, files: map[*luasrc.File]*file{}, uses: map[*file][]string{}, ran: map[string]bool{}, argued: map[argued]bool{}, said: map[said]bool{}}
	for _, name := range slices.Sorted(maps.Keys(tree.Libs)) {
		lib := tree.Libs[name]
		c.libs[name] = c.resolve(lib.File, name, lib.Uses)
	}
	for _, lib := range tree.Libraries {
		for i, src := range lib.Files {
			c.resolve(src, "", lib.Spec.Functions[i].Uses)
		}
	}
	c.ignore = readIgnores(c.files)
	return c
}

func (c *checker) resolve(src *luasrc.File, lib string, uses []string) *file {
	f, next := resolve(src, lib, uses, c.nextID)
	c.nextID = next
	f.id = len(c.files)
	c.files[src] = f
	c.uses[f] = uses
	return f
}

func (f *file) usesLib(c *checker, name string) bool {
	return slices.Contains(c.uses[f], name)
}

// add reports a finding unless a comment silences it there or at one of the calls that led there.
func (c *checker) add(at site, also []site, rule, format string, args ...any) {
	if c.quiet || c.ignore.silences(rule, append(also, at)) {
		return
	}
	c.found.Add(at.file.src.Path, at.at.line, at.at.col, rule, format, args...)
}

// A Report is the result of Examine.
type Report struct {
	Found diag.List // sorted
	// Commands are the Redis commands that each function of each library may run, directly or through lib files: upper
	// case, with the subcommand or the channel where it is always the same, sorted, in the order of the tree. They omit commands that only the generated entry runs.
	Commands [][][]string
}

// Examine checks a tree that source.Load has read, and changes nothing.
func Examine(tree *source.Tree) Report {
	c := newChecker(tree)
	for _, f := range c.files {
		c.syntax(f)
	}
	report := Report{Commands: make([][][]string, len(tree.Libraries))}
	for l, lib := range tree.Libraries {
		for i := range lib.Files {
			report.Commands[l] = append(report.Commands[l], c.function(lib, i))
		}
	}
	c.unreached()
	c.orphans()
	c.ignore.report(&c.found)
	c.found.Sort()
	report.Found = c.found
	return report
}

// Check returns every finding of Examine.
func Check(tree *source.Tree) diag.List { return Examine(tree).Found }

// function runs one public function, and returns its commands.
func (c *checker) function(lib *source.Library, i int) []string {
	clear(c.ran)
	contract := lib.Spec.Functions[i]
	f := c.files[lib.Files[i]]
	if fn := f.public(contract.Name); fn != nil {
		r := newRun(c, f)
		r.lib = lib
		r.public(fn, &contract)
		c.mentioned(fn, &contract)
	}
	return slices.Sorted(maps.Keys(c.ran))
}

func (c *checker) mentioned(fn *function, contract *spec.Function) {
	seen := map[*function]bool{}
	c.reach(fn, seen)
	for _, p := range contract.Params {
		if p.Prepare {
			c.reach(c.libs[p.Rows].members["prepare"], seen)
		}
	}
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
		c.ran = map[string]bool{"TYPE": true}
		if fn := c.files[src].public(lib.Spec.Functions[i].Name); fn != nil {
			c.mentioned(fn, &lib.Spec.Functions[i])
		}
		delete(c.ran, "PUBLISH")
		all = append(all, slices.Sorted(maps.Keys(c.ran)))
	}
	return all
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

// unreached runs the functions that no public function calls, with unknown arguments.
func (c *checker) unreached() {
	for _, f := range c.sorted() {
		for _, fn := range f.funcs {
			if !fn.entered {
				newRun(c, f).alone(fn, c.uses[f])
			}
		}
	}
}

// orphans reports lib files that no function uses, directly or through others.
func (c *checker) orphans() {
	for name, lib := range c.tree.Libs {
		if !slices.ContainsFunc(c.tree.Libraries, func(by *source.Library) bool { return slices.Contains(by.Libs, lib) }) {
			c.found.Add(lib.File.Path, 1, 1, annotation.RuleUse, "no function uses %s: add `--- @use %s` where it is needed, or remove the file", name, name)
		}
	}
}

func (c *checker) sorted() []*file {
	files := slices.Collect(maps.Values(c.files))
	slices.SortFunc(files, func(a, b *file) int { return strings.Compare(a.src.Path, b.src.Path) })
	return files
}

// reach collects the commands in a function and in every function that it mentions. It includes commands that no run reached, because
// an ACL without one of them breaks a call.
func (c *checker) reach(fn *function, seen map[*function]bool) {
	if fn == nil || seen[fn] {
		return
	}
	seen[fn] = true
	f := fn.file
	fn.walk(func(node any, _ *function) {
		switch node := node.(type) {
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
			if lib := c.libs[id.Value]; lib != nil && f.usesLib(c, id.Value) {
				c.reach(lib.members[key.Value], seen)
			}
		case *ast.FuncCallExpr:
			if node.Func == nil || len(node.Args) == 0 {
				return
			}
			if name := exprText(node.Func); name != "redis.call" && name != "redis.pcall" {
				return
			}
			if cmd, ok := node.Args[0].(*ast.StringExpr); ok {
				var second *string
				if len(node.Args) > 1 {
					if s, ok := node.Args[1].(*ast.StringExpr); ok {
						second = &s.Value
					}
				}
				c.ran[permission(strings.ToUpper(cmd.Value), second)] = true
			}
		}
	})
}
