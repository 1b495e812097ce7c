package vet

import (
	"maps"
	"math"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// ofNumbers are the marks of numbers that say nothing of a text's bytes.
const ofNumbers = increased | adrift | setBack

// setsBack returns the mark of a number that is below 0 after the clock was set back, or for some time of the caller: what has passed since a
// stored time, or between the clock and a time argument, that nothing compares with the clock, and what is calculated from it.
func (r *run) setsBack(e *ast.ArithmeticOpExpr, a, b value, in interval) taint {
	if in.known && in.low >= 0 {
		return 0
	}
	switch e.Operator {
	case "-":
		if (a.isClock() && (b.isStoredTime() || b.isCallersTime()) || b.isClock() && a.isCallersTime()) && !r.compared(e) {
			return setBack
		}
		return a.taint & setBack
	case "+":
		return (a.taint | b.taint) & setBack
	case "*":
		if a.taint&setBack != 0 {
			a, b = b, a
		}
		if a.isNeverNegative() {
			return b.taint & setBack
		}
	case "/":
		if b.isNeverNegative() {
			return a.taint & setBack
		}
	}
	return 0
}

// compared reports whether the function that subtracts, or one of those that passed it the sides, compares them.
func (r *run) compared(e *ast.ArithmeticOpExpr) bool {
	lhs, rhs := e.Lhs, e.Rhs
	for depth := len(r.frames) - 1; depth >= 0; depth-- {
		f := r.frames[depth]
		if f.fn.file != r.file || r.comparedIn(f.fn, pairOf{lhs, rhs}) {
			return true
		}
		if depth > 0 {
			lhs, rhs = f.argumentOf(lhs), f.argumentOf(rhs)
			if lhs == nil || rhs == nil {
				return true
			}
		}
	}
	return false
}

// argumentOf returns what the caller of a function has passed for a parameter, a variable of an outer function as it is, or nil.
func (f *frame) argumentOf(e ast.Expr) ast.Expr {
	v := f.fn.file.named(e)
	i := slices.Index(f.fn.params, v)
	switch {
	case v == nil:
		return nil
	case i >= 0 && i < len(f.passed.exprs) && v.assigned == 0:
		return f.passed.exprs[i]
	case v.owner != f.fn:
		return e
	}
	return nil
}

// A pairOf is two sides of a subtraction.
type pairOf struct{ from, less ast.Expr }

// comparedIn reports whether a function has a comparison, or a call such as math.min, with one of the sides on its one side, and the other on
// its other.
func (r *run) comparedIn(fn *function, e pairOf) bool {
	f, known := r.here(), r.subtracted().compared
	if compared, ok := known[e]; ok {
		return compared
	}
	sides := map[*variable]int{} // 1 is the left side, 2 the right, 3 both
	for i, side := range [2]ast.Expr{e.from, e.less} {
		for _, v := range f.variablesIn(side) {
			sides[v] |= i + 1
		}
	}
	direct, compared := maps.Clone(sides), false
	for _, side := range direct {
		compared = compared || side == 3 // as in now - math.min(at, now)
	}
	for i, side := range [2]ast.Expr{e.from, e.less} {
		for _, o := range f.involved(side) {
			if direct[o.v] == 0 {
				sides[o.v] |= i + 1
			}
		}
	}
	beside := func(list ...ast.Expr) {
		has := 0
		for _, e := range list {
			one := 0
			for _, v := range f.variablesIn(e) {
				one |= sides[v]
			}
			if one < 3 {
				has |= one
			}
		}
		compared = compared || has == 3
	}
	fn.walk(func(node any, _ *function) {
		switch node := node.(type) {
		case *ast.RelationalOpExpr:
			beside(node.Lhs, node.Rhs)
		case *ast.FuncCallExpr:
			if node.Func == nil || exprText(node.Func) != "redis.call" && f.bodies[f.named(node.Func)] == nil {
				beside(node.Args...)
			}
		}
	})
	known[e] = compared
	return compared
}

// isStoredTime reports whether a value may be a time that a key holds, of which only what every time is has been tested.
func (v *value) isStoredTime() bool {
	in := v.interval()
	return len(v.reply) > 0 && v.may(isNumber) && !v.lenient && !v.content && v.left == 0 && (!in.known || in.high >= maxWhole)
}

// isCallersTime reports whether a value is a time argument, or one plus or minus spans of arguments.
func (v *value) isCallersTime() bool {
	return v.unit.isTime() && v.in.known && !math.IsInf(v.in.high, 1) && !v.lenient && v.literal == nil && len(v.reply) == 0 && v.left == 0
}

func (v *value) isNeverNegative() bool {
	in := v.interval()
	return in.known && in.low >= 0
}

// behind reports a result without a sign that is below 0 after the clock was set back.
func (r *run) behind(node ast.PositionHolder, name string, v value) {
	switch {
	case v.taint&setBack == 0 || v.isNeverNegative() || v.lenient:
	case len(v.reply) == 0:
		r.report(r.at(node), RuleNumberRange, "result %s may be below 0, because nothing compares the caller's time with the clock: clamp it with math.max(..., 0), or compare before", name)
	default:
		r.report(r.at(node), RuleNumberRange, "result %s may be below 0 after the clock was set back, because nothing compares the stored time with the clock: clamp what has passed with math.max(..., 0)", name)
	}
}
