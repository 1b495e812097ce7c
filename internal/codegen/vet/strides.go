package vet

import (
	"math"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// A stride is a table of which each turn of a for sets as many places, t[2 * i - 1] and t[2 * i], so that it has that many for each turn.
type stride struct {
	of   *ast.IdentExpr
	each int
}

// stridesOf returns the tables that the body of a for fills in strides on every turn, and does not mention otherwise.
func (r *run) stridesOf(stmt *ast.NumberForStmt) (found []stride) {
	f := r.here()
	if known, ok := f.strides[stmt]; ok {
		return known
	}
	places, i := map[*variable][]float64{}, f.decls[stmt][0]
	for _, inner := range stmt.Stmts {
		assign, ok := inner.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 1 {
			continue
		}
		at, ok := assign.Lhs[0].(*ast.AttrGetExpr)
		if !ok {
			continue
		}
		table, isName := at.Object.(*ast.IdentExpr)
		step, begin, linear := f.linear(at.Key, i)
		if !isName || !linear || step < 2 || step > mostItems || f.refs[table] == nil || f.refs[table].captured {
			continue
		}
		v := f.refs[table]
		if places[v] = append(places[v], begin); len(places[v]) == int(step) && f.fillsStride(stmt.Stmts, v, places[v]) {
			found = append(found, stride{table, int(step)})
		}
	}
	f.strides[stmt] = found
	return found
}

// linear returns a and b of an expression a * i + b.
func (f *file) linear(e ast.Expr, i *variable) (a, b float64, ok bool) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		return 1, 0, f.refs[e] == i
	case *ast.NumberExpr:
		n, ok := parseNumber(e.Value)
		return 0, n, ok && n == math.Trunc(n)
	case *ast.ArithmeticOpExpr:
		c, d, lhsOK := f.linear(e.Lhs, i)
		k, n, rhsOK := f.linear(e.Rhs, i)
		switch {
		case !lhsOK || !rhsOK:
		case e.Operator == "+":
			return c + k, d + n, true
		case e.Operator == "-":
			return c - k, d - n, true
		case e.Operator == "*" && (c == 0 || k == 0):
			return c*n + k*d, d * n, true
		}
	}
	return 0, 0, false
}

// fillsStride reports whether the places are those behind the ones of the turn before, whether nothing else in the body names the table, and
// whether each turn reaches its end.
func (f *file) fillsStride(body []ast.Stmt, v *variable, begins []float64) bool {
	slices.Sort(begins)
	for n, begin := range begins {
		if begin != float64(n+1-len(begins)) {
			return false
		}
	}
	uses, ends := 0, true
	w := &walker{file: f, visit: func(node any, _ *function) {
		switch node := node.(type) {
		case *ast.IdentExpr:
			if f.refs[node] == v {
				uses++
			}
		case *ast.BreakStmt:
			ends = false
		}
	}}
	w.stmts(body)
	return ends && uses == len(begins)
}

// strode notes how many elements a for has given to the tables that it fills in strides and that were empty before it.
func (r *run) strode(before, after *state, list []stride, turns interval) {
	for _, t := range list {
		was, ok := r.peek(before, t.of)
		if !ok || !empty(before, was) {
			continue
		}
		for _, id := range was.objects {
			o := after.get(id)
			if len(was.objects) > 1 || o == nil || o.elem == nil || o.open || o.holed || o.size.least == 0 {
				continue
			}
			size := tally{least: int32(t.each), step: int32(t.each), known: true}
			if turns.known && turns.low > 1 && turns.low*float64(t.each) <= mostTurns {
				size.least *= int32(turns.low)
			}
			if turns.known && turns.high*float64(t.each) <= mostTurns {
				size.most = int32(turns.high) * int32(t.each)
			}
			if size.least == size.most {
				size.step = 0
			}
			after.object(id).size = size
		}
	}
}
