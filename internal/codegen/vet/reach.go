package vet

import (
	"maps"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/codegen/annotation"
	"github.com/rlfunc/rlfunc/internal/codegen/source"
)

// An edge is one call of a function.
type edge struct {
	site
	to    *function
	named bool        // by its name, and not through a table
	needs []*variable // parameters of the caller that are true where it calls
	args  []ast.Expr
	off   []bool // whether each argument is surely false
}

// calls notes a call in the round that walks the function.
func (w *pass) calls(to *function, at ast.Expr, exprs []ast.Expr, args []value) {
	e := edge{site: site{w.file, w.file.at(at)}, to: to, args: exprs}
	call, _ := at.(*ast.FuncCallExpr)
	var b bound
	if call != nil && call.Func != nil {
		e.named = w.byName(call)
		b = w.env.bonds[w.file.named(call.Func)]
	}
	for _, p := range w.fn.params {
		needed := p.assigned == 0 && p.all.may(falsy) && !w.variable(p).may(falsy|isOther)
		if b.bond != nil && !needed && slices.Contains(b.vars, p) { // a function that was chosen where the parameter is true
			callee, place := w.file.named(call.Func), slices.Index(b.vars, p)
			needed = !slices.ContainsFunc(b.left(), func(t tuple) bool {
				return slices.Contains(t.at(slices.Index(b.vars, callee)).fns, to) && t.at(place).may(falsy)
			})
		}
		if needed {
			e.needs = append(e.needs, p)
		}
	}
	for _, v := range args {
		e.off = append(e.off, v.only(falsy))
	}
	w.fn.flow.calls = append(w.fn.flow.calls, e)
}

// byName reports whether a call names a function of the author, and not a field of a table that holds several.
func (w *pass) byName(call *ast.FuncCallExpr) bool {
	switch f := call.Func.(type) {
	case *ast.IdentExpr:
		return w.file.refs[f] != nil && w.file.bodies[w.file.refs[f]] != nil
	case *ast.AttrGetExpr:
		_, named := f.Key.(*ast.StringExpr)
		v := w.file.named(f.Object)
		return named && (v == nil || v.top())
	}
	return false
}

// called adds the functions that a function may call, where some of its parameters are surely false.
func (c *checker) called(fn *function, off map[*variable]bool, seen map[*function]map[*variable]bool) {
	if before, again := seen[fn]; again {
		both := map[*variable]bool{}
		for v := range before {
			both[v] = off[v]
		}
		maps.DeleteFunc(both, func(_ *variable, off bool) bool { return !off })
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
		c.called(e.to, inner, seen)
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
	called := map[*function]map[*variable]bool{}
	c.called(fn, nil, called)
	for f := range called {
		reached[f] = true
	}
	commands, codes := map[string]bool{}, map[string]bool{}
	for f := range reached {
		maps.Copy(commands, f.flow.commands)
		maps.Copy(codes, f.flow.codes)
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
	called := map[*function]map[*variable]bool{}
	for _, e := range f.chunk.flow.calls {
		c.called(e.to, nil, called)
	}
	for fn := range called {
		if p := fn.flow.provided; p != nil {
			rule := map[string]string{"redis.log": RuleLoadLog, "redis.call": RuleLoadCall, "redis.pcall": RuleLoadCall}[p.name]
			if rule == "" {
				rule = RuleLoadLibrary
			}
			c.add(p.site, rule, "%s runs while Redis loads the library, and does not exist there: the top of %s calls %s", p.name, f.src.Path, fn.name)
		}
	}
}

// circles reports functions that call themselves, unless they count down.
func (c *checker) circles() {
	for _, f := range c.sorted {
		for _, fn := range f.funcs {
			if fn.countsDown() {
				continue
			}
			for _, e := range fn.flow.calls {
				if e.named && (e.to == fn || e.to.leadsTo(fn, map[*function]bool{})) {
					c.add(e.site, RuleRecursion, "%s calls itself, perhaps without end: write a loop with a bound, and keep what is still to do in a table, or count down a parameter and compare it", fn.name)
				}
			}
		}
	}
}

// leadsTo reports whether calls by name lead to a function.
func (fn *function) leadsTo(to *function, seen map[*function]bool) bool {
	return slices.ContainsFunc(fn.flow.calls, func(e edge) bool {
		if !e.named || seen[e.to] {
			return false
		}
		seen[e.to] = true
		return e.to == to || e.to.leadsTo(to, seen)
	})
}

// countsDown reports whether a function compares a parameter, and passes itself that parameter plus or minus a number.
func (fn *function) countsDown() bool {
	compared, stepped := map[*variable]bool{}, map[*variable]bool{}
	fn.walk(func(node any, _ *function) {
		if r, ok := node.(*ast.RelationalOpExpr); ok {
			compared[fn.file.named(r.Lhs)] = true
		}
	})
	for _, e := range fn.flow.calls {
		for i, a := range e.args {
			if op, ok := a.(*ast.ArithmeticOpExpr); ok && e.to == fn && i < len(fn.params) && fn.file.named(op.Lhs) == fn.params[i] && (op.Operator == "+" || op.Operator == "-") {
				_, constant := op.Rhs.(*ast.NumberExpr)
				stepped[fn.params[i]] = constant
			}
		}
	}
	return slices.ContainsFunc(fn.params, func(p *variable) bool { return compared[p] && stepped[p] })
}
