package vet

import (
	"fmt"
	"math"

	"github.com/yuin/gopher-lua/ast"
)

// latest is the greatest time in microseconds that the clock gives, in the year 2096.
const latest = 4e15

// stepped returns why the steps of a while or repeat may be more than 1,000,000: its variable steps from one number to another, of which the
// header's bounds and the clock say how far they are apart.
func (r *run) stepped(s *state, l loop) string {
	if leaves(l.body) {
		return ""
	}
	list := conjuncts(l)
	for _, e := range list {
		if r.fewSteps(s, l, e) {
			return ""
		}
	}
	if len(list) == 0 {
		return ""
	}
	id, op := r.stepIn(l, list[0])
	other := list[0].Rhs
	if r.same(other, id) {
		other = list[0].Lhs
	}
	return fmt.Sprintf("this loop may run more than 1,000,000 turns, as %s goes to %s in steps of %s: divide to count the steps, or bring %s near %s before", id.Value, exprText(other), exprText(op.Rhs), id.Value, exprText(other))
}

// conjuncts returns the comparisons of which any ends a loop, or nil if its condition has others.
func conjuncts(l loop) (out []*ast.RelationalOpExpr) {
	var add func(e ast.Expr) bool
	add = func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.RelationalOpExpr:
			out = append(out, e)
			return true
		case *ast.LogicalOpExpr:
			return (e.Operator == "and") != l.atEnd && add(e.Lhs) && add(e.Rhs)
		}
		return false
	}
	if !add(l.condition) {
		return nil
	}
	return out
}

// stepIn returns the variable of a comparison that the loop steps through, and the step, if all else that changes in the comparison is nothing.
func (r *run) stepIn(l loop, e *ast.RelationalOpExpr) (*ast.IdentExpr, *ast.ArithmeticOpExpr) {
	changed := r.changedIn(l.body)
	for _, stmt := range l.body {
		id, op := r.stepTo(stmt)
		if id == nil || op.Operator != "+" && op.Operator != "-" || !r.same(e.Lhs, id) && !r.same(e.Rhs, id) {
			continue
		}
		total := 0
		for _, v := range r.here().variablesIn(e) {
			total += changed[v]
		}
		for _, v := range r.here().variablesIn(op.Rhs) {
			total += changed[v]
		}
		if total == 1 {
			return id, op
		}
	}
	return nil, nil
}

// fewSteps reports whether a comparison ends its loop soon, as far as vet can know.
func (r *run) fewSteps(s *state, l loop, e *ast.RelationalOpExpr) bool {
	id, op := r.stepIn(l, e)
	if id == nil {
		return true
	}
	operator, other := e.Operator, e.Rhs
	if r.same(e.Rhs, id) {
		operator, other = mirrored[operator], e.Lhs
	}
	if l.atEnd {
		operator = opposite[operator]
	}
	from, fromOK := r.number(s, id)
	to, toOK := r.number(s, other)
	step, stepOK := r.number(s, op.Rhs)
	by := step.interval()
	if !fromOK || !toOK || !stepOK || !by.known || by.low <= 0 || operator == "==" || operator == "~=" {
		return true
	}
	a, aOK := r.ticks(s, id, from)
	b, bOK := r.ticks(s, other, to)
	if !aOK {
		a, aOK = r.onClock(from)
	}
	if !bOK {
		b, bOK = r.onClock(to)
	}
	up := operator[0] == '<'
	if up && op.Operator == "+" && to.isClock() && from.isGiven() && !r.meet(e, id, other) {
		return fewTurns(between(0, 0), between(0, latest), by, up)
	}
	if r.near(id, up, e, other) || !aOK || !bOK || !from.in.known && !to.in.known && from.literal == nil && to.literal == nil || up != (op.Operator == "+") {
		return true
	}
	return fewTurns(a, b, by, up)
}

// fewTurns reports whether steps from one number to another are few.
func fewTurns(a, b, by interval, up bool) bool {
	way := b.high - a.low
	if !up {
		way = a.high - b.low
	}
	return way/by.low <= mostTurns || math.IsInf(way, 0)
}

// onClock returns the range of a number. A time of which nothing else is known is one of the clock.
func (r *run) onClock(v value) (in interval, ok bool) {
	in = v.interval()
	if v.unit == timeMicros {
		if !in.known {
			return between(latest/4, latest), true
		}
		in.low, in.high = max(in.low, 0), min(in.high, latest)
	}
	return in, in.known && !v.content && r.sees(v)
}

// near reports whether a comparison beside the loop's, or a function that gave the variable its value, has both the variable and what ends the loop:
// it may bring one near the other. math.min only lowers a number, and math.max only raises it.
func (r *run) near(id *ast.IdentExpr, up bool, condition *ast.RelationalOpExpr, other ast.Expr) bool {
	f := r.here()
	ends, begins := map[*variable]bool{}, map[*variable]bool{}
	for _, o := range f.involved(other) {
		ends[o.v] = true
	}
	for _, o := range f.involved(id) {
		begins[o.v] = !ends[o.v]
	}
	both := func(list ...ast.Expr) bool {
		begin, end := false, false
		for _, e := range list {
			for _, v := range f.variablesIn(e) {
				begin, end = begin || begins[v], end || ends[v]
			}
		}
		return begin && end
	}
	found := false
	r.top().fn.walk(func(node any, _ *function) {
		if e, ok := node.(*ast.RelationalOpExpr); ok && e != condition {
			found = found || both(e.Lhs, e.Rhs)
		}
	})
	away := "math.max"
	if up {
		away = "math.min"
	}
	w := &walker{file: f, visit: func(node any, _ *function) {
		if call, ok := node.(*ast.FuncCallExpr); ok && call.Func != nil && exprText(call.Func) != away {
			found = found || both(call.Args...)
		}
	}}
	for v := range begins {
		w.exprs(f.given[v]...)
	}
	return found
}
