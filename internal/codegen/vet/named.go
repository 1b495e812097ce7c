package vet

import "github.com/yuin/gopher-lua/ast"

// conditionIn returns the condition whose value a local holds, as in `local given = most ~= nil`, or nil. Neither the local nor a variable of
// the condition ever changes, so a test of the local is one of the condition.
func (f *file) conditionIn(e ast.Expr) ast.Expr {
	if v := f.named(e); v != nil {
		return f.conditions[v]
	}
	return nil
}

// nameConditions finds the conditions that locals hold, once all assignments are known.
func (f *file) nameConditions() {
	for v, given := range f.given {
		if len(given) == 1 && v.assigned == 0 && !v.param && f.fixedCondition(given[0]) {
			f.conditions[v] = given[0]
		}
	}
}

// fixedCondition reports whether an expression is a condition on variables that never change.
func (f *file) fixedCondition(e ast.Expr) bool {
	switch e.(type) {
	case *ast.RelationalOpExpr, *ast.LogicalOpExpr, *ast.UnaryNotOpExpr:
	default:
		return false
	}
	fixed := true
	w := &walker{file: f, visit: func(node any, _ *function) {
		switch node := node.(type) {
		case *ast.IdentExpr:
			v := f.refs[node]
			fixed = fixed && v != nil && v.assigned == 0
		case *ast.AttrGetExpr, *ast.FuncCallExpr, *ast.TableExpr, *ast.FunctionExpr, *ast.UnaryLenOpExpr, *ast.Comma3Expr:
			fixed = false
		}
	}}
	w.exprs(e)
	return fixed
}
