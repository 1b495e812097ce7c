package vet

import (
	"math"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// signedBits is what a function of the bit library returns: it reads 32 bits, and the last is the sign.
var signedBits = between(math.MinInt32, math.MaxInt32)

// bitCall checks the arguments of a function of the bit library, and returns its result.
func (r *run) bitCall(e *ast.FuncCallExpr, name string, args []value) value {
	out := value{kinds: isInt, in: bitRange(name, args)}
	for i, v := range args {
		out.reply = union(out.reply, v.reply)
		if i == 1 && (strings.HasSuffix(name, "shift") || name == "bit.rol" || name == "bit.ror") {
			r.within32(argument(e, i), v, name)
			continue
		}
		r.below32Bits(argument(e, i), v, name)
	}
	out.in.related = r.here().lib != ""
	return out
}

// bitRange returns the range of a result.
func bitRange(name string, args []value) interval {
	a, b := valueAt(args, 0).interval(), valueAt(args, 1).interval()
	positive := func(in interval) bool { return in.known && in.low >= 0 && in.high <= math.MaxInt32 }
	all := signedBits
	if a.known && (len(args) < 2 || b.known) {
		all.ends = bothEnds
	}
	switch name {
	case "bit.band":
		for _, v := range args {
			if in := v.interval(); positive(in) {
				all = between(0, min(in.high, all.high))
			}
		}
	case "bit.bor", "bit.bxor":
		most := 0.0
		for _, v := range args {
			if in := v.interval(); !positive(in) {
				return all
			} else if most = max(most, in.high); most < 1 {
				most = 1
			}
		}
		all = between(0, math.Exp2(math.Floor(math.Log2(max(most, 1)))+1)-1)
	case "bit.lshift":
		if shifted := calculated("*", a, power(between(2, 2), b)); positive(a) && positive(b) && positive(shifted) {
			all = shifted
		}
	case "bit.rshift":
		if positive(a) || b.known && b.low >= 1 {
			all = between(0, math.MaxInt32)
		}
	case "bit.arshift", "bit.tobit":
		if positive(a) {
			all = between(0, a.high)
		}
	}
	return all
}

// within32 reports a number of bits to shift by of which a function uses the lower five bits only.
func (r *run) within32(e ast.Expr, v value, name string) {
	in := v.interval()
	if !r.mayBeOutside(v) || in.known && in.low >= 0 && in.high <= 31 {
		return
	}
	node, at := r.origin(e)
	r.report(at, RuleNumberRange, "%s may be outside of 0 to 31, and %s uses its lower 5 bits: bound its @arg, or compare before", exprText(node), name)
}

// below32Bits reports an argument of a function of the bit library that may have more bits.
func (r *run) below32Bits(e ast.Expr, v value, name string) {
	in := v.interval()
	if !r.mayBeOutside(v) || in.known && in.high < 1<<32 && in.low >= math.MinInt32 {
		return
	}
	node, at := r.origin(e)
	r.report(at, RuleNumberRange, "%s may have more than 32 bits, of which %s drops the upper ones: bound its @arg, or calculate with %% and math.floor", exprText(node), name)
}
