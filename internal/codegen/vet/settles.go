package vet

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// settles reports whether every turn of a loop after the first has the same condition: each turn sets its variables, and only to values
// that the loop does not change. A condition that is false with these values ends the loop.
func (r *run) settles(s *state, l loop) bool {
	condition, ok := r.mentions(s, l.condition)
	if !ok || leaves(l.body) {
		return false
	}
	changed := r.changedIn(l.body)
	set, places := 0, 0
	for _, stmt := range l.body {
		assign, ok := stmt.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
			continue
		}
		id, ok := assign.Lhs[0].(*ast.IdentExpr)
		if !ok || !condition[r.here().refs[id]] {
			continue
		}
		from, pure := r.mentions(s, assign.Rhs[0])
		for v := range from {
			pure = pure && changed[v] == 0 && !v.captured
		}
		if !pure || r.falseWith(s, l, id, assign.Rhs[0]) {
			return false
		}
		set++
	}
	for v := range condition {
		places += changed[v]
		if v.captured {
			return false
		}
	}
	return set > 0 && set == places
}

// falseWith reports whether a condition ends its loop for certain once a variable has a literal value.
func (r *run) falseWith(s *state, l loop, id *ast.IdentExpr, e ast.Expr) bool {
	comparison, ok := l.condition.(*ast.RelationalOpExpr)
	if !ok {
		switch e.(type) {
		case *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr:
			return true
		}
		return false
	}
	sides := [2]value{}
	for i, side := range []ast.Expr{comparison.Lhs, comparison.Rhs} {
		if r.same(side, id) {
			side = e
		}
		v, ok := r.number(s, side)
		if !ok {
			return false
		}
		sides[i] = v
	}
	truth, sure := holds(comparison.Operator, sides[0].interval(), sides[1].interval())
	return sure && truth == l.atEnd
}

// changedIn counts the assignments to each variable in a loop's body; its locals count, too.
func (r *run) changedIn(body []ast.Stmt) map[*variable]int {
	out := map[*variable]int{}
	w := &walker{file: r.here(), visit: func(node any, _ *function) {
		for _, v := range r.here().decls[node] {
			out[v]++
		}
		if assign, ok := node.(*ast.AssignStmt); ok {
			for _, lhs := range assign.Lhs {
				if id, ok := lhs.(*ast.IdentExpr); ok {
					out[r.here().refs[id]]++
				}
			}
		}
	}}
	w.stmts(body)
	return out
}

// mentions returns the variables of an expression, unless it reads a table or calls more than functions of numbers and texts.
func (r *run) mentions(s *state, e ast.Expr) (vars map[*variable]bool, pure bool) {
	vars, pure = map[*variable]bool{}, true
	w := &walker{file: r.here(), visit: func(node any, _ *function) {
		switch node := node.(type) {
		case *ast.IdentExpr:
			if v := r.here().refs[node]; v != nil {
				vars[v] = true
			}
		case *ast.AttrGetExpr:
			id, ok := node.Object.(*ast.IdentExpr)
			pure = pure && ok && r.isGlobal(id)
		case *ast.FuncCallExpr:
			name := ""
			if node.Func != nil {
				name = exprText(node.Func)
			}
			pure = pure && (name == "tonumber" || name == "tostring" || strings.HasPrefix(name, "math.") || strings.HasPrefix(name, "string."))
		case *ast.UnaryLenOpExpr:
			v, ok := r.peek(s, node.Expr)
			pure = pure && ok && v.only(isStr)
		case *ast.FunctionExpr, *ast.TableExpr:
			pure = false
		}
	}}
	w.exprs(e)
	return vars, pure
}
