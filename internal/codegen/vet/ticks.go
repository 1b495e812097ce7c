package vet

import "github.com/yuin/gopher-lua/ast"

// ticks returns the range of the turns that a loop takes for each tick since a time that nothing compares with the clock: to count them is to
// take as many as the clock and the tick allow.
func (r *run) ticks(s *state, e ast.Expr, v value) (in interval, ok bool) {
	if v.taint&adrift == 0 || v.in.known {
		return interval{}, false
	}
	return between(0, latest/r.dividedBy(s, e)), true
}

// dividedBy returns the least number by which an expression divides, or 1.
func (r *run) dividedBy(s *state, e ast.Expr) float64 {
	for range 4 {
		switch node := e.(type) {
		case *ast.IdentExpr:
			if v := r.here().named(node); v != nil && len(r.here().given[v]) > 0 {
				e = r.here().given[v][0]
				continue
			}
		case *ast.FuncCallExpr:
			if len(node.Args) > 0 {
				e = node.Args[0]
				continue
			}
		case *ast.ArithmeticOpExpr:
			if by, ok := r.number(s, node.Rhs); ok && node.Operator == "/" && by.interval().known {
				return max(by.interval().low, 1)
			}
		}
		break
	}
	return 1
}

// overTicks reports a for that runs once for each tick up to the clock.
func (r *run) overTicks(s *state, stmt *ast.NumberForStmt, vals []value) bool {
	in, ok := r.ticks(s, stmt.Limit, vals[1])
	if !ok && vals[1].isClock() && vals[0].isGiven() && !r.meet(stmt.Limit, stmt.Init, stmt.Limit) {
		in, ok = between(0, latest), true
	}
	step := 1.0
	if len(vals) > 2 {
		step = max(vals[2].interval().low, 1)
	}
	if !ok || in.high/step <= mostTurns || !r.reportOnce(r.at(stmt.Limit), RuleEndlessLoop) {
		return false
	}
	r.report(r.at(stmt.Limit), RuleEndlessLoop, "this for may run more than 1,000,000 turns, one for each tick since a time that nothing compares with the clock: clamp %s with math.min", exprText(stmt.Limit))
	return true
}
