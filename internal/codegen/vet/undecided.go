package vet

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// mayRefuse reports whether a result refuses some of the calls that have written: it is a bool of which the call knew before its first write
// whether it holds, and that no condition has tested, or the word that a table has for such a bool.
func (r *run) mayRefuse(s *state, node ast.PositionHolder, result spec.Field, v value) bool {
	by := r.spec.Refused
	if by == nil || by.Result != result.Name || len(r.frames) > 1 {
		return false
	}
	e, ok := node.(ast.Expr)
	if !ok {
		return false
	}
	if result.Kind != spec.KindBool {
		if !slices.ContainsFunc(v.enum(), func(text string) bool { return slices.Contains(by.Values, text) }) {
			return false
		}
		word, ok := r.here().held(e).(*ast.AttrGetExpr)
		if !ok {
			return false
		}
		e = word.Key
	}
	decision := r.here().named(e)
	if decision == nil || !r.decidedBefore(s, decision) || r.testedBeside(s, decision) {
		return false
	}
	truth, alive := s.env.get(decision.id)
	return alive && truth.kinds == isBool || !alive && decision.used == 1 // only the table has got it
}

// held returns the expression whose value a local holds that never changes, and any other expression as it is.
func (f *file) held(e ast.Expr) ast.Expr {
	if v := f.named(e); v != nil && v.assigned == 0 && len(f.given[v]) == 1 {
		return f.given[v][0]
	}
	return e
}

// decidedBefore reports whether a local got its only value above the call's first write.
func (r *run) decidedBefore(s *state, v *variable) bool {
	return v.assigned == 0 && !v.param && s.first != nil && s.first.file == r.file && v.pos.line < s.first.at.line && len(r.here().given[v]) == 1
}

// testedBeside reports whether another comparison has a variable from which a condition is calculated: it may have the same outcome.
func (r *run) testedBeside(s *state, v *variable) (tested bool) {
	f, condition := r.here(), r.here().given[v][0]
	of := map[*variable]bool{}
	for _, o := range f.involved(condition) {
		if val, ok := s.env.get(o.v.id); !ok || len(val.keys()) == 0 {
			of[o.v] = true
		}
	}
	inside := map[*ast.RelationalOpExpr]bool{}
	w := &walker{file: f, visit: func(node any, _ *function) {
		if e, ok := node.(*ast.RelationalOpExpr); ok {
			inside[e] = true
		}
	}}
	w.exprs(condition)
	r.top().fn.walk(func(node any, _ *function) {
		e, ok := node.(*ast.RelationalOpExpr)
		if !ok || inside[e] {
			return
		}
		for _, side := range []ast.Expr{e.Lhs, e.Rhs} {
			if call, ok := side.(*ast.FuncCallExpr); ok && call.Func != nil && exprText(call.Func) == "redis.call" {
				continue // a reply
			}
			tested = tested || slices.ContainsFunc(f.involved(side), func(o origin) bool { return of[o.v] })
		}
	})
	return tested
}
