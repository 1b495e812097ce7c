package vet

import (
	"math"

	"github.com/yuin/gopher-lua/ast"
)

// mostOnStack is the most values that Lua's unpack leaves on the stack, with its arguments. One more raises an error.
const mostOnStack = 8_000

// hold notes up to which element a write to a computed place may fill a table.
func (o *object) hold(place value) {
	if in := place.interval(); in.known && in.low < in.high && in.high <= mostTurns && !place.lenient {
		o.held = max(o.held, int32(in.high))
	}
}

// loopFor follows a for, and notes how many elements it may add to tables, and how much to sums.
func (r *run) loopFor(s *state, l loop, turns float64) flow {
	r.nested *= turns
	defer func() { r.nested /= turns }()
	sums, fills := turns > 2 && len(r.sumsOf(l)) > 0, r.nested >= mostUnpacked && r.nested <= mostTurns
	grows := turns > 2 && len(r.growsIn(l)) > 0
	if !sums && !fills && !grows {
		return r.loop(s, l)
	}
	before := s.clone()
	f := r.loop(s, l)
	if sums {
		r.sumUp(before, f, l, turns)
	}
	if grows {
		r.growUp(before, f, l, turns)
	}
	if fills {
		for _, after := range f.next {
			filledBy(r.nested, before, after)
		}
	}
	return f
}

// filledBy notes how many elements a for may have added to the tables that it has found, on a path behind it.
func filledBy(turns float64, before, after *state) {
	for _, e := range after.heap {
		old, o := before.get(e.id), e.v
		if old == nil || old == o || old.size == o.size || o.open || o.held > old.held {
			continue
		}
		each := max(o.size.least-old.size.least, 2) / 2 // of two turns
		if o.size.known && o.size.step > 0 {
			each = o.size.step
		}
		held := float64(old.size.least) + float64(each)*turns/max(float64(o.around), 1)
		after.object(e.id).held = int32(min(held, mostTurns))
	}
}

// overflows reports an unpack of a table that may have more elements than Lua's stack takes.
func (r *run) overflows(s *state, e *ast.FuncCallExpr, v value) {
	most := 0.0
	if !v.lenient && r.unpacksAll(e) && !r.refills(e.Args[0]) {
		for _, id := range v.objects {
			if o := s.get(id); o != nil {
				most = max(most, float64(o.held), float64(o.size.most))
			}
		}
		if length, ok := s.paths.get("#" + r.pathOf(e.Args[0])); ok && length.in.known {
			most = min(most, length.in.high)
		}
	}
	if len(e.Args) == 3 {
		if between := numberOf(e.Args[2]) - numberOf(e.Args[1]) + 1; !math.IsNaN(between) {
			most = max(most, between)
		}
	}
	if limit := float64(mostOnStack - len(e.Args)); most > limit && r.reportOnce(r.at(e), RuleUnpack) {
		r.report(r.at(e), RuleUnpack, "unpack may give %.0f values here, and raises an error above %.0f: pass fewer elements at once, or loop", most, limit)
	}
}

// numberOf returns a number literal, or NaN.
func numberOf(e ast.Expr) float64 {
	if n, ok := e.(*ast.NumberExpr); ok {
		if f, ok := parseNumber(n.Value); ok {
			return f
		}
	}
	return math.NaN()
}

// refills reports whether a variable gets another table after its first, so that nothing bounds what one of them holds.
func (r *run) refills(e ast.Expr) bool {
	v := r.here().named(e)
	return v != nil && v.assigned > 0
}
