package vet

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// A comparing is the comparisons that may bound an expression.
type comparing int8

const (
	withOthers comparing = iota // all but those with a constant, which narrow its range
	withAny                     // those with a constant, too
	ofLengths                   // those of a length with anything but 0 and 1
)

// comparedAround reports whether the running functions compare what an expression is calculated from, or pass it to a function that may.
func (r *run) comparedAround(e ast.Expr, by comparing) bool {
	of := map[*variable]bool{}
	r.here().addVariables(of, []ast.Expr{e})
	for depth := len(r.frames) - 1; depth >= 0; depth-- {
		frame := r.frames[depth]
		if r.comparesAny(frame.fn, of, by) {
			return true
		}
		of = r.passedAt(depth, of)
	}
	return false
}

// comparesAny reports whether a function compares what is calculated from some variables, or passes it to math.min, math.max or a function that
// may compare it.
func (r *run) comparesAny(fn *function, of map[*variable]bool, by comparing) (found bool) {
	f := fn.file
	follows := func(e ast.Expr) bool {
		return slices.ContainsFunc(f.involved(e), func(o origin) bool { return of[o.v] })
	}
	fn.walk(func(node any, _ *function) {
		switch node := node.(type) {
		case *ast.GenericForStmt:
			if slices.ContainsFunc(node.Exprs, follows) {
				for _, v := range f.decls[node] {
					of[v] = true
				}
			}
		case *ast.RelationalOpExpr:
			found = found || by.bounds(node.Lhs, node.Rhs) && follows(node.Lhs) || by.bounds(node.Rhs, node.Lhs) && follows(node.Rhs)
		case *ast.FuncCallExpr:
			if node.Func == nil || found {
				return
			}
			name := exprText(node.Func)
			chooses := by != ofLengths && (name == "math.min" || name == "math.max") && !slices.ContainsFunc(node.Args, isConstant)
			for i, arg := range node.Args {
				found = found || follows(arg) && (chooses || r.comparesArgument(fn, node, i, by))
			}
		}
	})
	return found
}

// bounds reports whether a comparison with another expression may bound one.
func (c comparing) bounds(e, other ast.Expr) bool {
	switch c {
	case withOthers:
		return !isConstant(other)
	case withAny:
		return !isConstant(other) || !isRemainder(e)
	}
	n, fixed := other.(*ast.NumberExpr)
	_, length := e.(*ast.UnaryLenOpExpr)
	call, ok := e.(*ast.FuncCallExpr)
	length = length || ok && (call.Method == "len" || call.Func != nil && exprText(call.Func) == "string.len")
	return length && !(fixed && (n.Value == "0" || n.Value == "1"))
}

// An argued is a parameter and the comparisons of it.
type argued struct {
	param *variable
	by    comparing
}

// comparesArgument reports whether a call in a function is to one of the author that may compare argument i.
func (r *run) comparesArgument(fn *function, call *ast.FuncCallExpr, i int, by comparing) bool {
	if !r.callsOn(fn, call) {
		return false
	}
	body := r.bodyOf(fn.file, call)
	if body == nil || i >= len(body.params) {
		return true
	}
	if by == withOthers {
		by = withAny // what a comparison says there is not known here
	}
	of := argued{body.params[i], by}
	if known, ok := r.c.argued[of]; ok {
		return known
	}
	r.c.argued[of] = false // ends a cycle
	compares := r.comparesAny(body, map[*variable]bool{of.param: true}, by)
	body.walk(func(node any, in *function) {
		compares = compares || in != body // a function in it may compare anything
	})
	r.c.argued[of] = compares
	return compares
}

// bodyOf returns the author's function that a call names, or nil.
func (r *run) bodyOf(f *file, call *ast.FuncCallExpr) *function {
	if v := f.named(call.Func); v != nil {
		return f.bodies[v]
	}
	member, ok := call.Func.(*ast.AttrGetExpr)
	if !ok {
		return nil
	}
	id, named := member.Object.(*ast.IdentExpr)
	key, byName := member.Key.(*ast.StringExpr)
	switch {
	case !named || !byName:
	case f.refs[id] != nil:
		return f.members[id.Value+"."+key.Value]
	case r.c.libs[id.Value] != nil && f.usesLib(r.c, id.Value):
		return r.c.libs[id.Value].members[key.Value]
	}
	return nil
}

// setsUntil reports a time at which SET lets its key expire, if it is the caller's and nothing compares it: it may be over.
func (r *run) setsUntil(node ast.Expr, v value) {
	if !v.isCallersTime() || r.comparedAround(node, withOthers) {
		return
	}
	e, at := r.origin(node)
	if r.reportOnce(at, RuleBadTTL) {
		r.report(at, RuleBadTTL, "%s is a time of the caller that may be over: SET then stores nothing, and refuses a time of 0; compare it with clock.now_us() before", exprText(e))
	}
}
