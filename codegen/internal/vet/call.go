package vet

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// passed is what one call passes for a parameter.
type passed struct {
	site
	caller *function
	expr   ast.Expr
	value  value
}

func gives(vals ...value) []tuple { return []tuple{{vals: vals}} }

// multi returns everything that an expression may give: one tuple for each return of a function.
func (w *pass) multi(e ast.Expr) []tuple {
	call, ok := e.(*ast.FuncCallExpr)
	if !ok {
		if _, dots := e.(*ast.Comma3Expr); dots {
			var t tuple
			for _, c := range w.fn.varargs {
				t.vals = append(t.vals, c.value)
			}
			rest := joinAll(t.vals)
			t.rest = &rest
			return []tuple{t}
		}
		return gives(w.one(e))
	}
	defer w.forgetCalled(call)
	if call.Func == nil {
		return w.method(call)
	}
	if w.file.provided(call.Func) {
		return w.provide(call, exprText(call.Func), call.Args)
	}
	callee := w.one(call.Func)
	if callee.only(isNil|isDoubt) && w.final {
		w.report(call.Func, RuleMaybeNil, "cannot call %s: there is no such function here", exprText(call.Func))
		return gives(anything())
	}
	w.usable(call.Func, callee, isFunc, "call")
	args, rest := w.arguments(call.Args)
	if w.fn.parent == nil && len(callee.fns) > 0 && w.file.lib == "" && w.fn == w.file.chunk {
		rest = nil
	}
	return w.apply(callee, call, call.Args, args, rest)
}

// arguments evaluates a list whose last expression may give any number of values.
func (w *pass) arguments(list []ast.Expr) (vals []value, rest *value) {
	for i, e := range list {
		if i < len(list)-1 || !open(e) {
			vals = append(vals, w.one(e))
			continue
		}
		tuples := w.multi(e)
		most := 0
		for _, t := range tuples {
			most = max(most, len(t.vals))
			if t.rest != nil {
				rest = &value{}
			}
		}
		for j := range most {
			var v value
			for _, t := range tuples {
				if j < len(t.vals) || t.rest == nil {
					v = join(v, t.at(j))
				}
			}
			if _, dots := e.(*ast.Comma3Expr); dots {
				v = v.without(isDoubt) // calls that pass fewer
			}
			vals = append(vals, v)
		}
		if rest != nil {
			for _, t := range tuples {
				if t.rest != nil {
					*rest = join(*rest, *t.rest)
				}
			}
		}
	}
	return vals, rest
}

// apply calls what may be several functions.
func (w *pass) apply(callee value, at ast.Expr, exprs []ast.Expr, args []value, rest *value) (out []tuple) {
	for _, fn := range callee.fns {
		w.pass(fn, at, exprs, args, rest)
		for _, t := range fn.flow.returns {
			out = append(out, *t)
		}
	}
	for _, name := range callee.names {
		if call, ok := at.(*ast.FuncCallExpr); ok {
			out = append(out, w.provide(call, name, exprs)...)
		}
	}
	if callee.may(isOther) {
		for _, v := range args {
			w.escape(v)
		}
		any := anything()
		out = append(out, tuple{rest: &any})
	}
	if len(out) == 0 && !callee.may(isFunc) && callee.kinds != 0 {
		return gives(anything())
	}
	if len(out) == 0 {
		return gives(value{})
	}
	return out
}

// pass joins arguments into parameters.
func (w *pass) pass(fn *function, at ast.Expr, exprs []ast.Expr, args []value, rest *value) {
	w.calls(fn, at, exprs, args)
	for i, p := range fn.params {
		var v value
		e := at
		switch {
		case i < len(args):
			v = args[i]
		case rest != nil:
			v = *rest
		default:
			v = of(isNil)
		}
		if len(exprs) > 0 {
			e = exprs[min(i, len(exprs)-1)]
		}
		if i >= len(args) && rest == nil {
			e = at
		}
		if v.kinds == 0 {
			continue
		}
		w.grow(&p.all, v)
		p.from = append(p.from, passed{site{w.file, w.file.at(e)}, w.fn, e, v})
	}
	if fn.expr != nil && fn.expr.ParList.HasVargs {
		for i := len(fn.params); i < len(args) || rest != nil && i == len(args); i++ {
			v := rest
			if i < len(args) {
				v = &args[i]
			}
			if i-len(fn.params) == len(fn.varargs) {
				fn.varargs = append(fn.varargs, &cell{})
			}
			w.grow(fn.varargs[i-len(fn.params)], *v)
		}
		for i := max(len(args)-len(fn.params), 0); i < len(fn.varargs) && rest == nil; i++ {
			w.grow(fn.varargs[i], of(isDoubt))
		}
	}
}

// escape gives the parameters of a function that unknown code may call any values.
func (w *pass) escape(v value) {
	for _, fn := range v.fns {
		for _, p := range fn.params {
			w.grow(&p.all, anything())
		}
	}
}

// blame returns where a parameter gets a value that is wrong: the arguments of calls. Of anything else, that is the place itself.
func (w *pass) blame(e ast.Expr, wrong func(value) bool) []passed {
	return blameIn(passed{site: site{w.file, w.file.at(e)}, caller: w.fn, expr: e}, wrong, 0)
}

func blameIn(p passed, wrong func(value) bool, depth int) (out []passed) {
	v := p.caller.file.named(p.expr)
	if v == nil || depth > 8 || !v.param || v.assigned > 0 || v.owner.contract != nil {
		return []passed{p}
	}
	for _, given := range v.passed {
		if !wrong(given.value) {
			continue
		}
		for _, at := range blameIn(given, wrong, depth+1) {
			if !slices.ContainsFunc(out, func(p passed) bool { return p.site == at.site }) {
				out = append(out, at)
			}
		}
	}
	if out == nil {
		return []passed{p}
	}
	return out
}

// returned notes what a return gives, and checks it if the function is public.
func (w *pass) returned(s *ast.ReturnStmt) {
	var prefix []value
	tuples := []tuple{{stmt: s}}
	for i, e := range s.Exprs {
		if i < len(s.Exprs)-1 || !open(e) {
			prefix = append(prefix, w.one(e))
			continue
		}
		tuples = nil
		for _, t := range w.multi(e) {
			leaf := t.leaf
			if leaf == nil {
				leaf = t.stmt
			}
			tuples = append(tuples, tuple{stmt: s, leaf: leaf, vals: t.vals, rest: t.rest})
		}
	}
	for _, t := range tuples {
		t.vals = slices.Concat(prefix, t.vals)
		w.returns(w.fn, t)
		if w.fn.contract != nil {
			w.result(s, t)
		}
	}
}
