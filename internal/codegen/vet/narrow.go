package vet

import (
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

var opposite = map[string]string{"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "~=", "~=": "=="}

var mirrored = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "~=": "~="}

// noteNarrowing notes the comparisons of a variable with a constant in a condition: narrow learns all that they say, so both ends of the
// variable's range stay possible.
func (r *run) noteNarrowing(e ast.Expr) {
	switch e := e.(type) {
	case *ast.LogicalOpExpr:
		r.noteNarrowing(e.Lhs)
		r.noteNarrowing(e.Rhs)
	case *ast.UnaryNotOpExpr:
		r.noteNarrowing(e.Expr)
	case *ast.RelationalOpExpr:
		r.branching[e] = true
		_, left := e.Lhs.(*ast.IdentExpr)
		_, right := e.Rhs.(*ast.IdentExpr)
		if left && r.isFixed(e.Rhs) || right && r.isFixed(e.Lhs) {
			r.narrowing[e] = true
		}
	}
}

func isConstant(e ast.Expr) bool {
	_, number := e.(*ast.NumberExpr)
	return number
}

// isFixed reports whether an expression is a number of the code: a literal, a local at the top of the file that holds one, or its negative.
func (r *run) isFixed(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.UnaryMinusOpExpr:
		return r.isFixed(e.Expr)
	case *ast.IdentExpr:
		v := r.here().refs[e]
		if v == nil || !v.top() {
			return false
		}
		val := r.static[v]
		return val.literal != nil && val.only(isNumber)
	}
	return isConstant(e)
}

// narrow learns the ranges of numbers from a condition that was true or false.
func (r *run) narrow(s *state, e ast.Expr, truth bool) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		if condition := r.here().conditionIn(e); condition != nil {
			r.narrow(s, condition, truth)
		}
	case *ast.UnaryNotOpExpr:
		r.narrow(s, e.Expr, !truth)
	case *ast.LogicalOpExpr:
		if (e.Operator == "and") == truth {
			r.narrow(s, e.Lhs, truth)
			r.narrow(s, e.Rhs, truth)
		} else {
			r.unordered(s, e)
		}
	case *ast.RelationalOpExpr:
		operator := e.Operator
		if !truth {
			operator = opposite[operator]
		}
		r.orders(s, e, operator)
		r.differ(s, e, operator)
		a, knownA := r.number(s, e.Lhs)
		b, knownB := r.number(s, e.Rhs)
		if !knownA || !knownB {
			return
		}
		if a.literal != nil && b.literal != nil && excluded(operator, a.interval(), b.interval()) {
			s.note(impossible)
		}
		r.narrowTo(s, e.Lhs, a, operator, b)
		r.narrowTo(s, e.Rhs, b, mirrored[operator], a)
	}
}

// impossible is the fact that a condition on constants has excluded a path, as one on a counter that is 0.
const impossible = "impossible"

// excluded reports whether a comparison of two constants is false.
func excluded(operator string, a, b interval) bool {
	truth, sure := holds(operator, a, b)
	return sure && !truth || operator == "~=" && a.low == b.low
}

// number evaluates an expression without effects to a number.
func (r *run) number(s *state, e ast.Expr) (value, bool) {
	if n, ok := e.(*ast.NumberExpr); ok {
		return numberLiteral(&n.Value), true
	}
	if minus, ok := e.(*ast.UnaryMinusOpExpr); ok {
		v, ok := r.number(s, minus.Expr)
		n, fixed := v.number()
		if !ok || !fixed {
			return value{}, false
		}
		text := strconv.FormatFloat(-n, 'f', -1, 64)
		return numberLiteral(&text), true
	}
	v, ok := r.peek(s, e)
	return v, ok && !v.lenient && v.may(isNumber)
}

func (r *run) narrowTo(s *state, e ast.Expr, v value, operator string, other value) {
	if v.literal != nil {
		return
	}
	in := v.in.narrowed(operator, other.interval(), v.only(isInt))
	if in == v.in {
		return
	}
	v.in = in
	if !in.has(0) {
		v.minusZero = false
	}
	if in.low > 0 {
		v.taint &^= adrift
	}
	if in.low >= 0 {
		v.taint &^= setBack
	}
	r.replace(s, e, v)
	r.holdsAtLeast(s, e, in.low)
}

// hasDivision reports whether an expression has a division, so that it matters whether a number in it may be 0.
func hasDivision(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ArithmeticOpExpr:
		return e.Operator == "/" || e.Operator == "%" || hasDivision(e.Lhs) || hasDivision(e.Rhs)
	case *ast.RelationalOpExpr:
		return hasDivision(e.Lhs) || hasDivision(e.Rhs)
	case *ast.LogicalOpExpr:
		return hasDivision(e.Lhs) || hasDivision(e.Rhs)
	case *ast.UnaryNotOpExpr:
		return hasDivision(e.Expr)
	case *ast.FuncCallExpr:
		for _, arg := range e.Args {
			if hasDivision(arg) {
				return true
			}
		}
	}
	return false
}
