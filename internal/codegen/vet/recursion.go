package vet

import (
	"math"

	"github.com/yuin/gopher-lua/ast"
)

// mostDepth is the greatest number of turns of a function that calls itself.
const mostDepth = 1_000

// A descent is a function's only call of itself, as its result, with a parameter that each turn brings nearer to a constant.
type descent struct {
	param int
	step  float64 // below 0 if the parameter falls
	end   float64 // the parameter has not reached it, or passed it, where the function calls itself
	ends  bool    // it may be the end
}

// descends returns the arguments of a call of a running function, for all of its later turns, if it is seen to end.
func (r *run) descends(fn *function, call ast.Expr, args []value) ([]value, bool) {
	e, ok := call.(*ast.FuncCallExpr)
	if !ok || r.top().fn != fn || len(fn.outside) > 0 || len(e.Args) != len(fn.params) || len(args) != len(fn.params) {
		return nil, false
	}
	d, ok := r.descentOf(fn, e)
	if !ok {
		return nil, false
	}
	out := make([]value, len(args))
	for i, v := range args {
		if v.may(isTable) {
			return nil, false // later turns may fill it
		}
		if p := fn.params[i]; v.may(isNumber) && (p.assigned > 0 || r.here().named(e.Args[i]) != p) {
			v.literal, v.in = nil, interval{} // another number in each turn
		}
		out[i] = v
	}
	first, last := args[d.param].interval(), d.end+d.step
	if !first.known || !args[d.param].only(isInt|isFrac) || args[d.param].lenient {
		return nil, false
	}
	if !d.ends && args[d.param].only(isInt) && d.step == math.Trunc(d.step) && d.end == math.Trunc(d.end) {
		last -= math.Copysign(1, d.step)
	}
	in := between(min(first.low, last), max(first.high, last))
	if !(in.high-in.low <= mostDepth*math.Abs(d.step)) {
		return nil, false
	}
	out[d.param].in = in
	return out, true
}

// descentOf finds what ends the recursion of a local function.
func (r *run) descentOf(fn *function, call *ast.FuncCallExpr) (d descent, ok bool) {
	f := r.here()
	self := f.named(call.Func)
	if self == nil || self.assigned > 0 || f.bodies[self] != fn {
		return d, false
	}
	uses := 0
	fn.walk(func(node any, _ *function) {
		if e, ok := node.(ast.Expr); ok && f.named(e) == self {
			uses++
		}
	})
	guards, found := tailCall(fn.expr.Stmts, call, nil)
	if !found || uses != 1 {
		return d, false
	}
	for i, p := range fn.params {
		step, ok := call.Args[i].(*ast.ArithmeticOpExpr)
		if !ok || p.assigned > 0 || f.named(step.Lhs) != p || step.Operator != "+" && step.Operator != "-" {
			continue
		}
		by, ok := r.constant(step.Rhs)
		if !ok || !(by > 0) {
			continue
		}
		if step.Operator == "-" {
			by = -by
		}
		for _, g := range guards {
			if end, ends, ok := r.bounds(g, p, by > 0); ok {
				return descent{i, by, end, ends}, true
			}
		}
	}
	return d, false
}

// A guard is a condition with the outcome that leads to a call.
type guard struct {
	e     ast.Expr
	truth bool
}

// tailCall returns the conditions on the way to a call that is the result of a function, outside of its loops.
func tailCall(stmts []ast.Stmt, call *ast.FuncCallExpr, before []guard) (guards []guard, found bool) {
	for _, stmt := range stmts {
		switch stmt := stmt.(type) {
		case *ast.ReturnStmt:
			return before, len(stmt.Exprs) == 1 && stmt.Exprs[0] == call
		case *ast.DoBlockStmt:
			if guards, found = tailCall(stmt.Stmts, call, before); found {
				return guards, true
			}
		case *ast.IfStmt:
			if guards, found = tailCall(stmt.Then, call, append(before[:len(before):len(before)], guard{stmt.Condition, true})); found {
				return guards, true
			}
			no := append(before[:len(before):len(before)], guard{stmt.Condition, false})
			if guards, found = tailCall(stmt.Else, call, no); found {
				return guards, true
			}
			before = behind(stmt, before)
		}
	}
	return nil, false
}

// behind returns the conditions on the way to what follows an if: each outcome that returns is excluded.
func behind(stmt *ast.IfStmt, before []guard) []guard {
	n := len(stmt.Then)
	if n == 0 {
		return before
	}
	if _, returns := stmt.Then[n-1].(*ast.ReturnStmt); !returns {
		return before
	}
	before = append(before[:len(before):len(before)], guard{stmt.Condition, false})
	if len(stmt.Else) == 1 {
		if inner, ok := stmt.Else[0].(*ast.IfStmt); ok {
			return behind(inner, before)
		}
	}
	return before
}

// bounds returns the constant that a guard says a parameter has not passed.
func (r *run) bounds(g guard, p *variable, above bool) (end float64, ends, ok bool) {
	switch e := g.e.(type) {
	case *ast.UnaryNotOpExpr:
		return r.bounds(guard{e.Expr, !g.truth}, p, above)
	case *ast.LogicalOpExpr:
		if (e.Operator == "and") != g.truth {
			return 0, false, false
		}
		if end, ends, ok = r.bounds(guard{e.Lhs, g.truth}, p, above); ok {
			return end, ends, ok
		}
		return r.bounds(guard{e.Rhs, g.truth}, p, above)
	case *ast.RelationalOpExpr:
		operator, limit := e.Operator, e.Rhs
		if r.here().named(e.Rhs) == p {
			operator, limit = mirrored[operator], e.Lhs
		} else if r.here().named(e.Lhs) != p {
			return 0, false, false
		}
		if !g.truth {
			operator = opposite[operator]
		}
		if !above {
			operator = mirrored[operator]
		}
		end, ok = r.constant(limit)
		return end, operator == "<=", ok && (operator == "<" || operator == "<=")
	}
	return 0, false, false
}

// constant returns the number of a literal, or of a local at the top of a file that never changes.
func (r *run) constant(e ast.Expr) (float64, bool) {
	if n, ok := e.(*ast.NumberExpr); ok {
		return parseNumber(n.Value)
	}
	v := r.here().named(e)
	if v == nil || !v.top() || v.assigned > 0 {
		return 0, false
	}
	val := r.static[v]
	return val.number()
}

// turnsOf returns how many calls of a function are open.
func (r *run) turnsOf(fn *function) (n int) {
	for _, f := range r.frames {
		if f.fn == fn {
			n++
		}
	}
	return n
}
