package vet

import (
	"math"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// A tally is the number of elements of a table: at least least, and if it is known, no number but least plus multiples of step. Its zero value
// says nothing.
type tally struct {
	least int32
	step  int32
	most  int32 // of an argument; 0 is unknown
	known bool
}

// sized returns the tally of a table that has n elements.
func sized(n int) tally { return tally{least: int32(n), known: true} }

// or returns the tally of a table that is one of two. Turns of a loop that add the same number each give a step.
func (t tally) or(other tally) tally {
	out := tally{least: min(t.least, other.least), known: t.known && other.known}
	if t.most > 0 && other.most > 0 {
		out.most = max(t.most, other.most)
	}
	if out.known {
		out.step = commonDivisor(commonDivisor(t.step, other.step), max(t.least, other.least)-out.least)
	}
	return out
}

// commonDivisor returns the greatest common divisor of two numbers, of which one may be 0.
func commonDivisor(a, b int32) int32 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// plus returns the tally with n more elements.
func (t tally) plus(n int32) tally {
	t.least, t.most = t.least+n, 0
	return t
}

// atLeast returns the tally of a table of which a comparison has found that it has n elements or more.
func (t tally) atLeast(n int32) tally {
	switch {
	case n <= t.least || t.known && t.step == 0:
		return t
	case t.known:
		n = t.least + (n-t.least+t.step-1)/t.step*t.step
	}
	t.least = n
	return t
}

// removed returns the tally with one element less, if there was one.
func (t tally) removed() tally {
	if t.known && t.step == 0 {
		return sized(int(max(t.least-1, 0)))
	}
	return tally{least: max(t.least-1, 0)}
}

// set returns the tally behind a write to an element: fixed says that its place is known.
func (t tally) set(lhs *ast.AttrGetExpr, place int, fixed bool, val value) tally {
	mayBeNil := val.may(isNil) && !val.vague()
	switch {
	case mayBeNil && fixed:
		return tally{least: min(t.least, max(int32(place)-1, 0))}
	case mayBeNil:
		return tally{}
	case appends(lhs), fixed && t.known && t.step == 0 && place == int(t.least)+1:
		return t.plus(1)
	case fixed && place >= 1 && place <= int(t.least):
		return t
	}
	return tally{least: max(t.least, 1)} // any other element: those before it are assumed
}

// appends reports whether the place of an element is `#t + 1`.
func appends(lhs *ast.AttrGetExpr) bool {
	next, ok := lhs.Key.(*ast.ArithmeticOpExpr)
	if !ok || next.Operator != "+" {
		return false
	}
	_, length := next.Lhs.(*ast.UnaryLenOpExpr)
	by, literal := next.Rhs.(*ast.NumberExpr)
	return length && literal && by.Value == "1"
}

// longestText is the greatest length of a value in Redis, 512 MiB.
const longestText = 1 << 29

// length returns the value of an expression `#v`.
func (r *run) length(s *state, e *ast.UnaryLenOpExpr, v value) value {
	if len(s.paths) > 0 {
		if known, ok := s.paths.get(r.pathOf(e)); ok {
			return *known
		}
	}
	out := value{kinds: isInt, proof: v.proof.length()}
	switch {
	case v.lenient || v.json != 0:
	case v.only(isStr):
		out.in = r.textLength(v.param()).asTold()
	case v.only(isTable) && len(v.objects) > 0:
		out.in = lengths(s, v).asTold()
	}
	return out
}

// holdsAtLeast notes that the table of `#t` has n elements or more, for functions that get it under another name.
func (r *run) holdsAtLeast(s *state, e ast.Expr, n float64) {
	length, ok := e.(*ast.UnaryLenOpExpr)
	if !ok || !(n >= 1 && n <= mostNoted) {
		return
	}
	v, known := r.peek(s, length.Expr)
	if !known || v.lenient || !v.only(isTable) || len(v.objects) != 1 {
		return
	}
	id := v.objects[0]
	if o := s.get(id); o != nil && !o.open && o.size.atLeast(int32(n)) != o.size {
		s.object(id).size = o.size.atLeast(int32(n))
	}
}

// mostNoted is the most elements that holdsAtLeast notes.
const mostNoted = 10_000

// textLength returns the range of the lengths of a text, which may be an argument.
func (r *run) textLength(param string) interval {
	if r.spec != nil && param != "" {
		for _, p := range r.spec.Params {
			if p.Name == param && (p.Kind == spec.KindText || p.Kind == spec.KindBytes) {
				return between(float64(p.Min), float64(p.Max))
			}
		}
	}
	return between(0, longestText)
}

// lengths returns the range of the lengths of tables. Of a table that is not empty only the least is known, because a path with two
// turns of a loop stands for those with more.
func lengths(s *state, v value) (in interval) {
	for i, id := range v.objects {
		one := between(0, math.Inf(1))
		if o := s.get(id); o != nil && !o.open {
			one.low = float64(o.size.least)
			switch {
			case o.size.most > 0:
				one.high = float64(o.size.most)
			case o.size == sized(0):
				one.high = 0
			}
		}
		if i > 0 {
			one = in.join(one)
		}
		in = one
	}
	return in
}
