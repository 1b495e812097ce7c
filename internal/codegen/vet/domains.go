package vet

import (
	"math"

	"github.com/yuin/gopher-lua/ast"
)

// A domain is the numbers for which a function has a result that is a number.
type domain struct {
	low, high float64
	without   bool // low itself is none of them
	text      string
}

var domains = map[string]domain{
	"math.sqrt":  {low: 0, high: math.Inf(1), text: "0 or more"},
	"math.log":   {low: 0, high: math.Inf(1), without: true, text: "more than 0"},
	"math.log10": {low: 0, high: math.Inf(1), without: true, text: "more than 0"},
	"math.acos":  {low: -1, high: 1, text: "-1 to 1"},
	"math.asin":  {low: -1, high: 1, text: "-1 to 1"},
}

func (d domain) has(in interval) bool {
	if !in.known || in.high > d.high {
		return false
	}
	return in.low > d.low || in.low == d.low && (!d.without || d.low == 0 && in.nonzero)
}

// inDomain reports an argument for which a function of the math library is NaN or infinite.
func (r *run) inDomain(e ast.Expr, name string, v value) {
	d, ok := domains[name]
	if !ok || !r.mayBeOutside(v) || d.has(v.interval()) {
		return
	}
	node, at := r.origin(e)
	if r.reportOnce(at, RuleNumberRange) {
		r.report(at, RuleNumberRange, "%s may be outside of what %s takes, %s, and its result is then NaN or infinite: bound its @arg, or compare before", exprText(node), name, d.text)
	}
}

// mayBeOutside reports whether it is for vet to judge the range of a number: it knows the range, or it is a stored number that nothing
// bounds.
func (r *run) mayBeOutside(v value) bool {
	if v.lenient || !v.may(isNumber) || !r.sees(v) {
		return false
	}
	return v.in.known || v.literal != nil || len(v.reply) > 0 && (v.may(isNum) || v.in.ends == bothEnds) && !v.content && v.left == 0
}

// power returns the range of a ^ b. It ends at the greatest double, so that a rule sees what is infinite.
func power(a, b interval) interval {
	if a.low < 0 || a.low == 0 && b.low < 0 {
		return interval{}
	}
	low, high := math.Inf(1), 0.0
	for _, x := range []float64{a.low, a.high} {
		for _, y := range []float64{b.low, b.high} {
			p := math.Pow(x, y)
			low, high = min(low, p), max(high, p)
		}
	}
	return between(low, min(high, math.MaxFloat64))
}

// monotone returns the range of a function that grows with its argument.
func monotone(in interval, f func(float64) float64) interval {
	low, high := f(in.low), f(in.high)
	if math.IsNaN(low) || math.IsNaN(high) || math.IsInf(low, 0) {
		return interval{}
	}
	return between(low, high)
}

// share returns the range of x / (x + y) for numbers that are not below 0: a share, unless x may be infinite.
func (r *run) share(e *ast.ArithmeticOpExpr, a, b, in interval) interval {
	whole, ok := e.Rhs.(*ast.ArithmeticOpExpr)
	path := r.pathOf(e.Lhs)
	if e.Operator != "/" || !ok || whole.Operator != "+" || path == "" || path != r.pathOf(whole.Lhs) && path != r.pathOf(whole.Rhs) {
		return in
	}
	if !in.known || !a.known || !b.known || a.low < 0 || b.low < a.low || b.high < a.high || a.high >= math.MaxFloat64 {
		return in
	}
	in.low, in.high = 0, min(in.high, 1)
	return in
}
