package vet

import (
	"math"

	"github.com/yuin/gopher-lua/ast"
)

// mostTurns is the greatest number of turns of a for that its header may allow.
const mostTurns = 1_000_000

// ends reports a while or repeat that cannot end, or that may not: nothing in its condition changes, its step may be 0, or its steps may
// pass the one value at which it ends. One that calls Redis is reported there.
func (r *run) ends(s *state, l loop) {
	if l.condition == nil {
		return
	}
	turn := r.turnOf(l)
	if turn.redis {
		return
	}
	why := ""
	switch {
	case always(l.condition, l.atEnd) && !leaves(l.body):
		why = "this loop never ends: it has no break and no return"
	case turn.stuck:
		why = "nothing in this loop changes what ends it, so it ends in its first turn or never: count its turns with a for"
	default:
		if why = r.missesItsEnd(s, l); why == "" && r.settles(s, l) {
			why = "every turn of this loop gives its condition the same values, so it ends after one turn or never: use an if, or count its turns with a for"
		}
		if why == "" {
			why = r.stepped(s, l)
		}
	}
	if why != "" && r.reportOnce(r.at(l.stmt), RuleEndlessLoop) {
		r.report(r.at(l.stmt), RuleEndlessLoop, "%s", why)
	}
}

// missesItsEnd returns why the comparison of a loop may stay as it is.
func (r *run) missesItsEnd(s *state, l loop) string {
	e, ok := l.condition.(*ast.RelationalOpExpr)
	if !ok || leaves(l.body) {
		return ""
	}
	operator := e.Operator
	if l.atEnd {
		operator = opposite[operator]
	}
	if operator == "~=" && r.stepsOver(e, l.body) {
		return "the steps of this loop may pass the value at which it ends: count its turns with a for, or compare with < or >"
	}
	for _, stmt := range l.body {
		id, op := r.stepTo(stmt)
		if id == nil || !r.names(l.condition, r.here().refs[id]) {
			continue
		}
		if step, ok := r.peek(s, op.Rhs); ok && !step.lenient && step.in.known && step.in.has(0) && r.sees(step) && (r.same(e.Lhs, id) || r.same(e.Rhs, id)) {
			return "the step " + exprText(op.Rhs) + " may be 0, with which this loop never ends: bound it by its @arg, or test it before"
		}
	}
	return ""
}

// stepsOver reports whether a loop calculates a variable of its condition from that variable, anywhere in its body.
func (r *run) stepsOver(condition *ast.RelationalOpExpr, body []ast.Stmt) bool {
	found := false
	w := &walker{file: r.here(), visit: func(node any, _ *function) {
		assign, ok := node.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
			return
		}
		id, isVar := assign.Lhs[0].(*ast.IdentExpr)
		_, isStep := assign.Rhs[0].(*ast.ArithmeticOpExpr)
		if isVar && isStep && r.names(condition, r.here().refs[id]) && r.names(assign.Rhs[0], r.here().refs[id]) {
			found = true
		}
	}}
	w.stmts(body)
	return found
}

// names reports whether an expression mentions a variable.
func (r *run) names(e ast.Expr, v *variable) bool {
	found := false
	w := &walker{file: r.here(), visit: func(node any, _ *function) { found = found || v != nil && r.here().named(node) == v }}
	w.exprs(e)
	return found
}

// always reports whether a loop never ends by its condition.
func always(condition ast.Expr, atEnd bool) bool {
	truth, constant := constantTruth(condition)
	return constant && truth != atEnd
}

// constantTruth returns the truth of a condition without variables or calls.
func constantTruth(e ast.Expr) (truth, constant bool) {
	switch e := e.(type) {
	case *ast.TrueExpr, *ast.NumberExpr, *ast.StringExpr, *ast.TableExpr:
		return true, true
	case *ast.FalseExpr, *ast.NilExpr:
		return false, true
	case *ast.UnaryNotOpExpr:
		truth, constant = constantTruth(e.Expr)
		return !truth, constant
	}
	return false, false
}

func (r *run) same(e ast.Expr, id *ast.IdentExpr) bool {
	other, ok := e.(*ast.IdentExpr)
	return ok && r.here().refs[other] != nil && r.here().refs[other] == r.here().refs[id]
}

// turns reports a for with more turns than its bounds should allow, alone or within others. It returns its turns, 1 if they are unknown.
func (r *run) turns(stmt *ast.NumberForStmt, vals []value) (most float64) {
	most = 1
	limit := vals[1]
	in := limit.interval()
	step := between(1, 1)
	if len(vals) > 2 {
		step = vals[2].interval()
		if step.known && step.has(0) && r.sees(vals[2]) && r.reportOnce(r.at(stmt.Step), RuleEndlessLoop) {
			r.report(r.at(stmt.Step), RuleEndlessLoop, "the step may be 0, with which a for never ends: use a literal, or test it before")
			return most
		}
	}
	from := vals[0].interval()
	switch {
	case limit.lenient || !r.sees(limit) || limit.in.told && math.IsInf(in.high, 1):
	case !in.known && len(limit.reply) > 0 && limit.may(isNum):
		if r.reportOnce(r.at(stmt.Limit), RuleKeyLoop) {
			r.report(r.at(stmt.Limit), RuleKeyLoop, "this for runs up to a stored number, which nothing bounds: clamp it with math.min")
		}
	case in.known && from.known && step.known && step.low > 0 && in.high-from.low > mostTurns*step.low && !limit.content:
		if r.reportOnce(r.at(stmt.Limit), RuleEndlessLoop) {
			r.report(r.at(stmt.Limit), RuleEndlessLoop, "this for may run more than 1,000,000 turns: bound %s by its @arg, or clamp it with math.min", exprText(stmt.Limit))
		}
	case in.known && from.known && step.known && step.low > 0 && !in.related && !from.related && !limit.content:
		most = max(in.high-from.low+1, step.low) / step.low
		if most > 1 && most*r.nested > mostTurns && r.reportOnce(r.at(stmt.Limit), RuleEndlessLoop) {
			r.report(r.at(stmt.Limit), RuleEndlessLoop, "this for and those around it may run more than 1,000,000 turns: bound %s by its @arg, or clamp it with math.min", exprText(stmt.Limit))
		}
	}
	return most
}

// recursion reports a call of a function that is running.
func (r *run) recursion(fn *function, call ast.Expr) {
	at, through := site{fn.file, fn.pos}, ""
	if call != nil {
		at = r.at(call)
	}
	if r.top().fn != fn {
		through = " through " + r.top().fn.name
	}
	if r.reportOnce(at, RuleRecursion) {
		r.report(at, RuleRecursion, "%s calls itself%s, and vet follows no such recursion: it knows neither that it ends nor what it does; write a for with a bound, and keep what is still to do in a table, or return %s(depth + 1) behind a test such as depth >= 16", fn.name, through, fn.name)
	}
}

// stepTo returns the variable that a statement changes by a calculation with its own value, as in `n = n + 1`, or nil.
func (r *run) stepTo(stmt ast.Stmt) (*ast.IdentExpr, *ast.ArithmeticOpExpr) {
	assign, ok := stmt.(*ast.AssignStmt)
	if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
		return nil, nil
	}
	id, isVar := assign.Lhs[0].(*ast.IdentExpr)
	op, isStep := assign.Rhs[0].(*ast.ArithmeticOpExpr)
	if !isVar || !isStep || !r.same(op.Lhs, id) {
		return nil, nil
	}
	return id, op
}
