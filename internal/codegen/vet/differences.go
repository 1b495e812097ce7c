package vet

import (
	"math"

	"github.com/yuin/gopher-lua/ast"
)

// A pair is two variables of a subtraction.
type pair struct{ from, less *variable }

// The differences of a file are the pairs of variables that it subtracts, with the path of the result, and such expressions with theirs.
type differences struct {
	of    map[pair]string
	paths map[*ast.ArithmeticOpExpr]string

	compared map[pairOf]bool // results of comparedIn
}

// subtracted returns the differences in the running function's file.
func (r *run) subtracted() *differences {
	f := r.here()
	if f.subtracted == nil {
		all := &differences{map[pair]string{}, map[*ast.ArithmeticOpExpr]string{}, map[pairOf]bool{}}
		f.subtracted = all
		f.chunk.walk(func(node any, _ *function) {
			e, ok := node.(*ast.ArithmeticOpExpr)
			if !ok || e.Operator != "-" {
				return
			}
			if both := (pair{f.named(e.Lhs), f.named(e.Rhs)}); both.from != nil && both.less != nil {
				all.of[both] = r.pathOf(e)
				all.paths[e] = all.of[both]
			}
		})
	}
	return f.subtracted
}

// differ notes what a comparison that was true says of a difference: `a < b` of `b - a`, and `a - b < 5` of `a - b`.
func (r *run) differ(s *state, e *ast.RelationalOpExpr, operator string) {
	if operator == "==" || operator == "~=" {
		return
	}
	all := r.subtracted()
	if len(all.of) == 0 {
		return
	}
	for i, side := range [2]ast.Expr{e.Lhs, e.Rhs} {
		other := e.Rhs
		if i == 1 {
			operator, other = mirrored[operator], e.Lhs
		}
		if minus, ok := side.(*ast.ArithmeticOpExpr); ok {
			if limit, ok := other.(*ast.NumberExpr); ok && all.paths[minus] != "" {
				r.differsBy(s, all.paths[minus], minus.Lhs, minus.Rhs, operator, numberLiteral(&limit.Value).interval())
			}
			continue
		}
		both := pair{r.here().named(side), r.here().named(other)}
		if both.from == nil || both.less == nil {
			continue
		}
		if path := all.of[both]; path != "" {
			r.differsBy(s, path, side, other, operator, between(0, 0))
		}
	}
}

func (r *run) differsBy(s *state, path string, a, b ast.Expr, operator string, limit interval) {
	x, xOK := r.number(s, a)
	y, yOK := r.number(s, b)
	if !xOK || !yOK {
		return
	}
	known := value{kinds: isNum}
	if old, ok := s.paths.get(path); ok {
		known = *old
	}
	known.in = known.in.narrowed(operator, limit, x.only(isInt) && y.only(isInt))
	s.paths = s.paths.with(path, &known)
}

// differing returns the part of a difference's range that comparisons have left.
func (r *run) differing(s *state, e *ast.ArithmeticOpExpr, in interval) interval {
	if e.Operator != "-" || len(s.paths) == 0 {
		return in
	}
	path := r.subtracted().paths[e]
	if path == "" {
		return in
	}
	v, ok := s.paths.get(path)
	if !ok {
		return in
	}
	if !in.known {
		in.known, in.low, in.high = true, math.Inf(-1), math.Inf(1)
	}
	if v.in.low > in.low {
		in.low = v.in.low
		in.ends &^= lowEnd
	}
	if v.in.high < in.high {
		in.high = v.in.high
		in.ends &^= highEnd
	}
	return in
}
