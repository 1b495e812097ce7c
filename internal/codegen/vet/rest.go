package vet

import "github.com/yuin/gopher-lua/ast"

// isRest reports whether a subtraction gives what a remainder lacks, as in `a - b % a`: it is above 0 if a is.
func (r *run) isRest(s *state, e *ast.ArithmeticOpExpr) bool {
	whole := r.here().named(e.Lhs)
	if whole == nil {
		return false
	}
	if rest := r.here().named(e.Rhs); rest != nil {
		if len(s.facts) == 0 || !s.facts.has(rest.mark+"<"+whole.mark) {
			return false
		}
	} else if r.dividesBy(e.Rhs) != whole {
		return false
	}
	v, ok := r.number(s, e.Lhs)
	return ok && v.in.known && v.in.low > 0
}

// dividesBy returns the variable b of `a % b`, or nil.
func (r *run) dividesBy(e ast.Expr) *variable {
	if op, ok := e.(*ast.ArithmeticOpExpr); ok && op.Operator == "%" {
		return r.here().named(op.Rhs)
	}
	return nil
}
