package vet

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// drifts returns the mark of a span that may be 0 or less: the difference of the clock and a time of the caller or of a key, which nothing
// compares, a span times a number that may be 0, and what is calculated from them with arguments and constants.
func (r *run) drifts(e *ast.ArithmeticOpExpr, a, b value, in interval) taint {
	marked := (a.taint|b.taint)&adrift != 0
	switch e.Operator {
	case "-":
		if len(r.frames) == 1 && (a.isClock() && b.isGiven() || b.isClock() && a.isGiven()) && !r.meet(e, e.Lhs, e.Rhs) {
			return adrift
		}
	case "*":
		span := a.unit == spanMicros || b.unit == spanMicros
		if span && a.literal == nil && b.literal == nil && r.here() == r.file && mayBeOver(in) && in.ends&lowEnd != 0 && r.sees(a) && r.sees(b) {
			return adrift
		}
	}
	if !marked {
		return 0
	}
	_, fixedA := a.number()
	_, fixedB := b.number()
	switch e.Operator {
	case "+", "-":
		if fixedB || b.span() != "" && len(b.reply) == 0 {
			return a.taint & adrift
		}
		if fixedA || a.span() != "" && len(a.reply) == 0 {
			return b.taint & adrift
		}
	case "*", "/":
		if fixedB || e.Operator == "/" && b.in.known && b.in.low > 0 && len(b.reply) == 0 {
			return a.taint & adrift
		}
	}
	return 0
}

// isClock reports whether a value is the clock's time, perhaps with a constant.
func (v *value) isClock() bool {
	return v.unit.isTime() && !v.in.known && !v.lenient && len(v.reply) == 0 && v.name() == "" && v.span() == ""
}

// isGiven reports whether a value is a time of the caller, or a stored number of which nothing is known.
func (v *value) isGiven() bool {
	return v.unit.isTime() && v.in.known || len(v.reply) > 0 && !v.in.known && !v.lenient && !v.content && v.left == 0 && v.may(isNumber)
}

// meet reports whether a comparison, or a call with several arguments, has both of two expressions, or what is calculated from them. The node
// stands for the two.
func (r *run) meet(e, lhs, rhs ast.Expr) bool {
	f := r.here()
	met, known := f.met[e]
	if known {
		return met
	}
	sides := map[*variable]int{} // 1 is the left side, 2 the right, 3 both
	for i, side := range [2]ast.Expr{lhs, rhs} {
		for _, o := range f.involved(side) {
			sides[o.v] |= i + 1
		}
	}
	for i, side := range [2]ast.Expr{lhs, rhs} {
		for _, v := range f.variablesIn(side) {
			sides[v] = i + 1
		}
	}
	ends := map[ast.Expr]bool{} // conditions of loops, which bound no number
	r.top().fn.walk(func(node any, _ *function) {
		switch node := node.(type) {
		case *ast.WhileStmt:
			ends[node.Condition] = true
		case *ast.RepeatStmt:
			ends[node.Condition] = true
		case *ast.RelationalOpExpr:
			met = met || !ends[node] && f.haveBoth(sides, node.Lhs, node.Rhs)
		case *ast.FuncCallExpr:
			if n := len(node.Args); n > 1 && node.Func != nil && exprText(node.Func) != "redis.call" {
				bounds := strings.HasPrefix(exprText(node.Func), "math.") || !f.haveBoth(sides, node.Args[n-1]) // and does not get the result
				met = met || bounds && f.haveBoth(sides, node.Args...)
			}
		}
	})
	f.met[e] = met
	return met
}

// haveBoth reports whether expressions follow from variables of one side only, and from such of the other.
func (f *file) haveBoth(sides map[*variable]int, list ...ast.Expr) bool {
	has := 0
	for _, e := range list {
		for _, o := range f.involved(e) {
			if side := sides[o.v]; side < 3 {
				has |= side
			}
		}
	}
	return has == 3
}
