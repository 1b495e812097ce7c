package vet

import (
	"maps"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// A flow is what all rounds have found of a function.
type flow struct {
	returns  []*tuple
	calls    []edge
	commands map[string]bool // as an ACL names them
	writes   map[string]site
	provided *provided       // the first function of Lua or Redis that it calls
	codes    map[string]bool // first words of the errors that it makes
}

type provided struct {
	site
	name string
}

// A tuple is what one return gives, which stays together: where the first is nil, the second is the refusal of that return.
type tuple struct {
	stmt, leaf any // the return, and that of the function whose results it passes on
	vals       []value
	rest       *value // what further places may hold, if any number of values is returned
}

func (t tuple) at(i int) value {
	switch {
	case i < len(t.vals):
		return t.vals[i]
	case t.rest != nil:
		v := *t.rest
		v.kinds |= isDoubt // there may be fewer
		return v
	}
	return of(isNil)
}

// A bond says what one call has given several variables, by whether one of them is true.
type bond struct {
	guard       *variable
	vars        []*variable
	truthy, not []value // of vars
}

// An env is what is known at one place of a function.
type env struct {
	vars  map[*variable]*value // never changed where they are
	paths map[string]value     // of fields and elements, by pathOf
	bonds []*bond
	dead  bool // nothing gets here
}

func newEnv() *env {
	return &env{vars: map[*variable]*value{}, paths: map[string]value{}}
}

func (e *env) clone() *env {
	return &env{vars: maps.Clone(e.vars), paths: maps.Clone(e.paths), bonds: slices.Clone(e.bonds), dead: e.dead}
}

// merge joins two branches.
func merge(a, b *env) *env {
	if a.dead {
		return b
	}
	if b.dead {
		return a
	}
	a.bonds = slices.DeleteFunc(a.bonds, func(x *bond) bool { return !slices.Contains(b.bonds, x) })
	for v, val := range a.vars {
		other, ok := b.vars[v]
		if !ok {
			delete(a.vars, v) // declared in one of them, or known by all that it gets
			continue
		}
		if val != other {
			both := join(*val, *other)
			a.vars[v] = &both
		}
	}
	for p, val := range a.paths {
		other, ok := b.paths[p]
		if !ok {
			delete(a.paths, p)
			continue
		}
		a.paths[p] = join(val, other)
	}
	return a
}

// unbind forgets bonds of a variable that gets another value.
func (e *env) unbind(v *variable) {
	e.bonds = slices.DeleteFunc(e.bonds, func(b *bond) bool { return b.guard == v || slices.Contains(b.vars, v) })
}

// A pass walks one file in one round.
type pass struct {
	*checker
	file  *file
	fn    *function
	env   *env
	loops []*loop
}

// A loop is one around the walk's position, in the same function.
type loop struct {
	breaks *env // what is known behind it, or nil
}

func (w *pass) report(node any, rule, format string, args ...any) {
	w.reportAt(site{w.file, w.file.at(node)}, rule, format, args...)
}

func (w *pass) reportAt(at site, rule, format string, args ...any) {
	if !w.final || w.env.dead || w.said[said{at, rule}] {
		return
	}
	w.said[said{at, rule}] = true
	w.add(at, rule, format, args...)
}

// body walks the statements of a function, at whose end it returns nothing.
func (w *pass) body(stmts []ast.Stmt) {
	w.block(stmts)
	if !w.env.dead && w.fn.parent != nil {
		w.returns(w.fn, tuple{})
	}
}

func (w *pass) block(stmts []ast.Stmt) {
	for _, s := range stmts {
		w.stmt(s)
	}
}

func (w *pass) returns(fn *function, t tuple) {
	for _, old := range fn.flow.returns {
		if old.stmt == t.stmt && old.leaf == t.leaf {
			for len(old.vals) < len(t.vals) {
				w.changed = true
				old.vals = append(old.vals, old.at(len(old.vals)))
			}
			for i := range old.vals {
				w.changed = grow(&old.vals[i], t.at(i)) || w.changed
			}
			if t.rest != nil {
				if old.rest == nil {
					old.rest = &value{}
				}
				w.changed = grow(old.rest, *t.rest) || w.changed
			}
			return
		}
	}
	w.changed = true
	fn.flow.returns = append(fn.flow.returns, &t)
}

func (w *pass) stmt(s ast.Stmt) {
	if w.env.dead {
		return // functions in it have no callers that count
	}
	switch s := s.(type) {
	case *ast.LocalAssignStmt:
		w.local(s)
	case *ast.AssignStmt:
		w.assign(s)
	case *ast.FuncCallStmt:
		w.multi(s.Expr)
	case *ast.DoBlockStmt:
		w.block(s.Stmts)
	case *ast.IfStmt:
		w.condition(s.Condition)
		other := w.env.clone()
		w.refine(s.Condition, true)
		w.block(s.Then)
		then := w.env
		w.env = other
		w.refine(s.Condition, false)
		w.block(s.Else)
		w.env = merge(then, w.env)
	case *ast.WhileStmt:
		w.turns(s, s.Stmts, func() { w.condition(s.Condition) }, s.Condition)
	case *ast.RepeatStmt:
		w.repeat(s)
	case *ast.NumberForStmt:
		w.numberFor(s)
	case *ast.GenericForStmt:
		w.genericFor(s)
	case *ast.FuncDefStmt:
		w.define(s)
	case *ast.ReturnStmt:
		w.returned(s)
		w.env.dead = true
	case *ast.BreakStmt:
		if n := len(w.loops); n > 0 {
			l := w.loops[n-1]
			if l.breaks == nil {
				l.breaks = w.env.clone()
			} else {
				l.breaks = merge(l.breaks, w.env.clone())
			}
		}
		w.env.dead = true
	}
}

// set gives a variable a value.
func (w *pass) set(v *variable, val value) {
	w.named(v, &val)
	w.grow(&v.all, val)
	w.chooses(v, val)
	w.env.vars[v] = &val
	w.env.unbind(v)
	w.forget(v)
}

// local declares locals. What one call gives several of them stays together.
func (w *pass) local(s *ast.LocalAssignStmt) {
	vars := w.file.decls[s]
	if fn := w.file.bodies[vars[0]]; fn != nil && len(vars) == 1 && len(s.Exprs) == 1 {
		val := value{kinds: isFunc, fns: []*function{fn}}
		w.set(vars[0], val) // local function f can call f
		w.one(s.Exprs[0])
		return
	}
	vals, tuples := w.list(s.Exprs, len(vars))
	for i, v := range vars {
		if i < len(s.Exprs) {
			w.units(s.Exprs[i], v.name, vals[i])
		}
		w.set(v, vals[i])
	}
	w.bind(vars[max(min(len(s.Exprs), len(vars))-1, 0):], tuples)
}

// list evaluates expressions for n targets. Where the last one gives several values, it also returns their tuples.
func (w *pass) list(exprs []ast.Expr, n int) (vals []value, tuples []tuple) {
	for i, e := range exprs {
		if i < len(exprs)-1 || !open(e) || n <= i {
			vals = append(vals, w.one(e))
			continue
		}
		tuples = w.multi(e)
		if call, ok := e.(*ast.FuncCallExpr); ok && call.Func != nil && !w.file.provided(call.Func) {
			doubtLater(tuples, n-i)
		}
		for j := range n - i {
			var v value
			for _, t := range tuples {
				v = join(v, t.at(j))
			}
			vals = append(vals, v)
		}
	}
	for len(vals) < n {
		vals = append(vals, of(isNil))
	}
	return vals, tuples
}

// doubtLater puts in doubt that further results of an author's function are nil: what the first one says, or an argument, may exclude it.
func doubtLater(tuples []tuple, n int) {
	for i, t := range tuples {
		vals := slices.Clone(t.vals)
		for j := len(vals); j < n; j++ {
			vals = append(vals, t.at(j))
		}
		for j := 1; j < len(vals); j++ {
			vals[j] = vals[j].doubted()
		}
		tuples[i].vals = vals
	}
}

// bind keeps together what one call has given several variables: where one of them is nil or false, the others may only be what comes with that.
func (w *pass) bind(vars []*variable, tuples []tuple) {
	if len(vars) < 2 || len(tuples) < 2 {
		return
	}
	for g, guard := range vars {
		b := &bond{guard: guard, vars: vars, truthy: make([]value, len(vars)), not: make([]value, len(vars))}
		for _, t := range tuples {
			for i := range vars {
				if k := t.at(g).kinds; k == 0 || k&^falsy != 0 {
					b.truthy[i] = join(b.truthy[i], t.at(i))
				}
				if k := t.at(g).kinds; k == 0 || k&(falsy|isOther) != 0 {
					b.not[i] = join(b.not[i], t.at(i))
				}
			}
		}
		w.env.bonds = append(w.env.bonds, b)
	}
}

func (w *pass) assign(s *ast.AssignStmt) {
	vals, tuples := w.list(s.Rhs, len(s.Lhs))
	var vars []*variable
	for i, lhs := range s.Lhs {
		w.put(lhs, vals[i], s.Rhs[min(i, len(s.Rhs)-1)])
		if v := w.file.named(lhs); v != nil && !v.shared && i >= len(s.Rhs)-1 {
			vars = append(vars, v)
		}
	}
	if len(vars) == len(s.Lhs)-len(s.Rhs)+1 {
		w.bind(vars, tuples)
	}
}

// put assigns to a variable, a field or an element.
func (w *pass) put(lhs ast.Expr, val value, from ast.Expr) {
	switch lhs := lhs.(type) {
	case *ast.IdentExpr:
		if v := w.file.refs[lhs]; v != nil {
			w.units(from, v.name, val)
			w.set(v, val)
			w.grow(&v.later, val)
		}
	case *ast.AttrGetExpr:
		object := w.one(lhs.Object)
		w.indexable(lhs, object)
		w.libraryState(lhs, lhs.Object, object)
		key := w.one(lhs.Key)
		name, fixed := key.literal()
		_, plain := lhs.Key.(*ast.StringExpr)
		if plain {
			w.units(from, name, val)
		}
		for _, o := range object.objs {
			switch {
			case fixed && plain:
				w.written[name] = true
				o.fieldAt(name).assigned = true
				w.grow(o.fieldAt(name), val)
			default:
				if key.may(isString | isOther) {
					o.named = true
				}
				o.replaced = o.replaced || !w.appends(lhs)
				w.grow(&o.elem, val.without(isNil))
				w.grow(&o.stored, val)
			}
		}
		w.forgetField(name, plain)
		if path := w.file.pathOf(lhs); path != "" {
			w.env.paths[path] = val
		}
	}
}

// appends reports whether an element is behind the last one of its table.
func (w *pass) appends(e *ast.AttrGetExpr) bool {
	sum, ok := e.Key.(*ast.ArithmeticOpExpr)
	if !ok || sum.Operator != "+" {
		return false
	}
	length, ok := sum.Lhs.(*ast.UnaryLenOpExpr)
	return ok && w.file.pathOf(length.Expr) == w.file.pathOf(e.Object)
}

func (w *pass) define(s *ast.FuncDefStmt) {
	val := value{kinds: isFunc, fns: []*function{w.file.byExpr[s.Func]}}
	w.one(s.Func)
	switch name := s.Name.Func.(type) {
	case *ast.IdentExpr:
		if v := w.file.refs[name]; v != nil {
			w.set(v, val)
		}
	case *ast.AttrGetExpr:
		if key, ok := name.Key.(*ast.StringExpr); ok {
			for _, o := range w.one(name.Object).objs {
				w.grow(o.fieldAt(key.Value), val)
				o.set[key.Value] = true
			}
		}
	}
}

// closure walks the body of a function where it is defined, with what is known there of the variables around it.
func (w *pass) closure(fn *function) {
	inner := &pass{checker: w.checker, file: w.file, fn: fn, env: w.env.clone()}
	inner.env.dead = false
	for _, p := range fn.params {
		val := p.all.value
		w.named(p, &val)
		inner.env.vars[p] = &val
	}
	if fn.contract != nil {
		inner.withKeys(fn.contract)
	}
	inner.body(fn.expr.Stmts)
	if w.final && fn.contract != nil && !inner.env.dead && len(fn.contract.Results) > 0 {
		line := fn.expr.LastLine()
		w.reportAt(site{w.file, position{line, w.file.src.Indent(line)}}, RuleMissingReturn, "%s can end without a return: return its results, %s, at the end", fn.name, resultNames(fn.contract.Results))
	}
}

// turns walks a loop: each turn may begin with whatever its body assigns.
func (w *pass) turns(s ast.Stmt, body []ast.Stmt, head func(), cond ast.Expr) {
	w.loops = append(w.loops, &loop{})
	w.loosen(s)
	head()
	after := w.env.clone()
	if cond != nil {
		w.refine(cond, true)
	}
	w.block(body)
	if cond != nil {
		behind := w.env
		w.env = after
		w.refine(cond, false)
		after = w.env
		w.env = behind
	}
	l := w.loops[len(w.loops)-1]
	w.loops = w.loops[:len(w.loops)-1]
	if l.breaks != nil {
		after = merge(after, l.breaks)
	}
	w.env = after
}

func (w *pass) repeat(s *ast.RepeatStmt) {
	w.loops = append(w.loops, &loop{})
	w.loosen(s)
	w.block(s.Stmts)
	w.condition(s.Condition)
	w.refine(s.Condition, true)
	l := w.loops[len(w.loops)-1]
	w.loops = w.loops[:len(w.loops)-1]
	if l.breaks != nil {
		w.env = merge(w.env, l.breaks)
	}
}

// loosen forgets what a loop may change, before its first turn.
func (w *pass) loosen(s ast.Stmt) {
	changed := map[*variable]bool{}
	w.file.visit(w.fn, s, func(node any, _ *function) {
		switch node := node.(type) {
		case *ast.AssignStmt:
			for _, lhs := range node.Lhs {
				if v := w.file.named(lhs); v != nil {
					changed[v] = true
				} else if at, ok := lhs.(*ast.AttrGetExpr); ok {
					key, plain := at.Key.(*ast.StringExpr)
					if plain {
						w.forgetField(key.Value, true)
					} else {
						w.forgetField("", false)
					}
				}
			}
		case *ast.FuncCallExpr:
			w.forgetCalled(node)
		}
	})
	for v := range changed {
		if val, ok := w.env.vars[v]; ok {
			both := join(*val, v.later.value)
			w.env.vars[v] = &both
		}
		w.env.unbind(v)
		w.forget(v)
	}
}

func (w *pass) numberFor(s *ast.NumberForStmt) {
	first, last := w.one(s.Init), w.one(s.Limit)
	if s.Step != nil {
		w.one(s.Step)
	}
	w.number(s.Init, first, "count from")
	w.number(s.Limit, last, "count to")
	v := w.file.decls[s][0]
	w.turns(s, s.Stmts, func() { w.set(v, of(isNumber)) }, nil)
}

func (w *pass) genericFor(s *ast.GenericForStmt) {
	var vals []value
	if call, ok := s.Exprs[0].(*ast.FuncCallExpr); ok {
		vals = w.iterates(call)
	} else {
		w.one(s.Exprs[0])
	}
	w.turns(s, s.Stmts, func() {
		for i, v := range w.file.decls[s] {
			if i < len(vals) {
				w.set(v, vals[i])
			} else {
				w.set(v, anything())
			}
		}
	}, nil)
}

// open reports whether an expression may give other than one value.
func open(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Comma3Expr:
		return !e.AdjustRet
	case *ast.FuncCallExpr:
		return !e.AdjustRet
	}
	return false
}
