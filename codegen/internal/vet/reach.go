package vet

import (
	"maps"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/internal/annotation"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// An edge is one call of a function.
type edge struct {
	to    *function
	needs []*variable // parameters of the caller that are true where it calls
	args  []ast.Expr
	off   []bool // whether each argument is surely false
}

// calls notes a call in the round that walks the function.
func (w *pass) calls(to *function, at ast.Expr, exprs []ast.Expr, args []value) {
	e := edge{to: to, args: exprs, needs: w.sure()}
	if call, ok := at.(*ast.FuncCallExpr); ok && call.Func != nil {
		if v := w.file.named(call.Func); v != nil {
			e.needs = append(e.needs, v.chosen[to]...)
		}
	}
	for _, v := range args {
		e.off = append(e.off, v.only(falsy))
	}
	w.fn.flow.calls = append(w.fn.flow.calls, e)
}

// sure returns the parameters that may be false, and are surely true here.
func (w *pass) sure() (out []*variable) {
	for _, p := range w.fn.params {
		if p.assigned == 0 && p.all.may(falsy) && !w.variable(p).may(falsy|isOther) {
			out = append(out, p)
		}
	}
	return out
}

// chooses notes which parameters are true where a local gets a function.
func (w *pass) chooses(v *variable, val value) {
	for _, fn := range val.fns {
		if v.chosen == nil {
			v.chosen = map[*function][]*variable{}
		}
		needs, again := v.chosen[fn]
		v.chosen[fn] = w.sure()
		if again {
			v.chosen[fn] = slices.DeleteFunc(v.chosen[fn], func(p *variable) bool { return !slices.Contains(needs, p) })
		}
	}
}

// called adds the functions that a function may call, where some of its parameters are surely false.
func called(fn *function, off map[*variable]bool, seen map[*function]map[*variable]bool) {
	if before, again := seen[fn]; again {
		both := map[*variable]bool{}
		for v := range before {
			if off[v] {
				both[v] = true
			}
		}
		if len(both) == len(before) {
			return
		}
		off = both
	}
	if off == nil {
		off = map[*variable]bool{}
	}
	seen[fn] = off
	for _, e := range fn.flow.calls {
		if slices.ContainsFunc(e.needs, func(v *variable) bool { return off[v] }) {
			continue
		}
		inner := map[*variable]bool{}
		for i, p := range e.to.params {
			if i >= len(e.off) || e.off[i] || i < len(e.args) && off[fn.file.named(e.args[i])] {
				inner[p] = true
			}
		}
		called(e.to, inner, seen)
	}
}

// function checks one public function as a whole, and returns its commands.
func (c *checker) function(lib *source.Library, i int) []string {
	contract := &lib.Spec.Functions[i]
	fn := c.files[lib.Files[i]].public(contract.Name)
	if fn == nil {
		return nil
	}
	reached := c.reachedBy(fn, contract)
	all := map[*function]map[*variable]bool{}
	called(fn, nil, all)
	for f := range all {
		reached[f] = true
	}
	commands, codes := map[string]bool{}, map[string]bool{}
	for f := range reached {
		maps.Copy(commands, f.flow.commands)
		maps.Copy(codes, f.flow.codes)
		if f.file == fn.file && contract.Has("no-writes") {
			for name, at := range f.flow.writes {
				c.add(at, RuleNoWrites, "%s has the flag no-writes, and %s writes or is replicated: Redis refuses it at run time; remove the flag or the command", contract.Name, name)
			}
		}
	}
	c.codesReturned(fn, contract, codes)
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
			switch {
			case !ok || !named:
			case f.refs[id] != nil:
				if f.refs[id].top() {
					c.reach(f.members[id.Value+"."+key.Value], seen)
				}
			case c.libs[id.Value] != nil && slices.Contains(f.uses, id.Value):
				c.reach(c.libs[id.Value].members[key.Value], seen)
			}
		}
	})
}

// load reports functions of Lua or Redis that run while Redis loads a file, because its top calls what calls them.
func (c *checker) load(f *file) {
	all := map[*function]map[*variable]bool{}
	for _, e := range f.chunk.flow.calls {
		called(e.to, nil, all)
	}
	for fn := range all {
		if p := fn.flow.provided; p != nil {
			rule := map[string]string{"redis.log": RuleLoadLog, "redis.call": RuleLoadCall, "redis.pcall": RuleLoadCall}[p.name]
			if rule == "" {
				rule = RuleLoadLibrary
			}
			c.add(p.site, rule, "%s runs while Redis loads the library, and does not exist there: the top of %s calls %s", p.name, f.src.Path, fn.name)
		}
	}
}
