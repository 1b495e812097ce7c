package vet

import (
	"math"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// outOfBounds reports a result that may be outside of what its header declares: a literal, and a number of which vet knows that it may be at the
// end of its range that is outside.
func (r *run) outOfBounds(e ast.Expr, f spec.Field, name string, v value) bool {
	in := v.interval()
	if v.lenient || !in.known || !v.may(isNumber) || v.literal == nil && !r.sees(v) {
		return false
	}
	low, high := float64(f.Min), float64(f.Max)
	outside := math.NaN()
	switch {
	case in.low < low && (in.ends&lowEnd != 0 || in.high < low):
		outside = in.low
	case in.high > high && (in.ends&highEnd != 0 || in.low > high) && declaresMost(f):
		outside = in.high
	}
	if math.IsNaN(outside) || math.IsInf(outside, 0) || v.literal == nil && in.low < low && math.Abs(outside) >= maxWhole {
		return false
	}
	if v.literal != nil {
		r.report(r.at(e), RuleNumberRange, "result %s is from %.0f to %.0f in the header, and this is %s", name, low, high, *v.literal)
		return true
	}
	node, at := r.origin(e)
	r.report(at, RuleNumberRange, "%s may be %.0f, and result %s is from %.0f to %.0f in the header: clamp it, compare before, or declare other bounds", exprText(node), outside, name, low, high)
	return true
}

// declaresMost reports whether the header gives a result an upper bound of its own: the sums that inRange accepts may be above that of its type.
func declaresMost(f spec.Field) bool {
	return f.Max < spec.MaxSigned && (f.Kind != spec.KindDuration || f.Max < spec.MaxDuration)
}
