package vet

import (
	"math"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// growths are locals that a loop multiplies, with the assignments that do.
type growths map[*variable][]ast.Expr

// growsIn returns the locals that each turn of a loop multiplies, with the assignments that do. Nothing in the loop compares them, and nothing
// leaves it.
func (r *run) growsIn(l loop) growths {
	f := r.here()
	if known, ok := f.grows[l.stmt]; ok {
		return known
	}
	found := growths{}
	for _, stmt := range l.body {
		assign, ok := stmt.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
			continue
		}
		v := f.named(assign.Lhs[0])
		if v != nil && !v.top() && !v.captured && slices.Contains(f.variablesIn(assign.Rhs[0]), v) {
			found[v] = append(found[v], assign.Rhs[0])
		}
	}
	changed := r.changedIn(l.body)
	w := &walker{file: f, visit: func(node any, _ *function) {
		switch node := node.(type) {
		case *ast.BreakStmt, *ast.ReturnStmt:
			clear(found)
		case *ast.RelationalOpExpr:
			for v := range found {
				if f.mentions(node.Lhs, v) || f.mentions(node.Rhs, v) {
					delete(found, v)
				}
			}
		}
	}}
	w.stmts(l.body)
	for v, list := range found {
		if changed[v] != len(list) {
			delete(found, v)
		}
	}
	f.grows[l.stmt] = found
	return found
}

// growUp gives locals that each turn of a for multiplies the range that they have after all of its turns, of which two have been followed.
func (r *run) growUp(before *state, flow flow, l loop, turns float64) {
	for v, list := range r.growsIn(l) {
		from, ok := before.env.get(v.id)
		if !ok || from.lenient || !from.interval().known {
			continue
		}
		by := 1.0
		for _, e := range list {
			by *= r.multiplies(before, l, v, e)
		}
		if !(by > 1) || r.boundsTurns(l) {
			continue
		}
		two := math.Inf(-1)
		for _, after := range flow.next {
			if now, ok := after.env.get(v.id); ok && !now.lenient && now.interval().known {
				two = max(two, now.interval().high)
			}
		}
		all := two * math.Pow(by, turns-2)
		if len(from.reply) > 0 { // a reply's range is not one that it surely has
			all = from.interval().low * math.Pow(by, turns)
		}
		all = min(all, math.MaxFloat64)
		if !(two > 0 && all > maxWhole) {
			continue
		}
		for _, after := range flow.next {
			if now, ok := after.env.get(v.id); ok && !now.lenient && now.interval().known && now.interval().high == two {
				grown := *now
				grown.in.high, grown.in.summed = all, true
				grown.in.ends |= highEnd
				after.own(env).env.set(v.id, &grown)
			}
		}
	}
}

// multiplies returns by how much at least an expression multiplies a variable of it, or 0 if that is not known: sums and products of numbers that
// the loop does not change, and added terms.
func (r *run) multiplies(s *state, l loop, v *variable, e ast.Expr) float64 {
	f := r.here()
	if f.named(e) == v {
		return 1
	}
	op, ok := e.(*ast.ArithmeticOpExpr)
	if !ok {
		return 0
	}
	lhs, rhs := f.mentions(op.Lhs, v), f.mentions(op.Rhs, v)
	switch {
	case op.Operator == "+" && lhs && rhs:
		x, y := r.multiplies(s, l, v, op.Lhs), r.multiplies(s, l, v, op.Rhs)
		if x == 0 || y == 0 {
			return 0
		}
		return x + y
	case op.Operator == "+" && rhs:
		return r.multiplies(s, l, v, op.Rhs)
	case op.Operator == "+" || op.Operator == "-" && !rhs:
		return r.multiplies(s, l, v, op.Lhs)
	case op.Operator != "*" || lhs && rhs:
		return 0
	}
	grown, other := op.Lhs, op.Rhs
	if rhs {
		grown, other = op.Rhs, op.Lhs
	}
	by, ok := r.number(s, other)
	changed := r.changedIn(l.body)
	if !ok || !by.interval().known || slices.ContainsFunc(f.variablesIn(other), func(v *variable) bool { return changed[v] > 0 }) {
		return 0
	}
	return r.multiplies(s, l, v, grown) * max(by.interval().low, 0)
}

// boundsTurns reports whether a comparison that vet does not follow may bound the turns of a for.
func (r *run) boundsTurns(l loop) bool {
	var limit ast.Expr
	switch stmt := l.stmt.(type) {
	case *ast.NumberForStmt:
		limit = stmt.Limit
	case *ast.GenericForStmt:
		return len(stmt.Exprs) == 0 || r.comparedAround(stmt.Exprs[0], ofLengths)
	}
	if length, ok := limit.(*ast.UnaryLenOpExpr); ok {
		return r.comparedAround(length, ofLengths)
	}
	return limit == nil || !isConstant(limit) && r.comparedAround(limit, withOthers)
}
