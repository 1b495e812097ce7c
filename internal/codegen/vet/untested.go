package vet

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

func (r *run) isParameter(e ast.Expr) bool {
	return slices.Contains(r.top().fn.params, r.here().named(e))
}

// untested reports whether an expression is a variable of the running function that is only filled, looped over and unpacked, so that nothing
// can have found out whether it is empty.
func (r *run) untested(e ast.Expr) bool {
	f := r.here()
	v := f.named(e)
	if v == nil || v.captured || v.top() || len(r.frames) > 1 && r.isParameter(e) {
		return false
	}
	uses, fills := 0, 0
	is := func(e ast.Expr) int {
		if e != nil && f.named(e) == v {
			return 1
		}
		return 0
	}
	length := func(e ast.Expr) int {
		if of, ok := e.(*ast.UnaryLenOpExpr); ok {
			return is(of.Expr)
		}
		return 0
	}
	r.top().fn.walk(func(node any, _ *function) {
		switch node := node.(type) {
		case *ast.IdentExpr:
			uses += is(node)
		case *ast.NumberForStmt:
			fills += length(node.Limit)
		case *ast.AttrGetExpr:
			if sum, ok := node.Key.(*ast.ArithmeticOpExpr); ok && length(sum.Lhs) > 0 {
				fills += 1 + is(node.Object) // t[#t + 1]
			}
		case *ast.FuncCallExpr:
			if node.Func == nil {
				return
			}
			switch exprText(node.Func) {
			case "unpack", "ipairs", "table.insert":
				if len(node.Args) > 0 {
					fills += is(node.Args[0])
				}
				if len(node.Args) == 3 {
					fills += length(node.Args[2]) // unpack(t, 1, #t)
				}
			}
		}
	})
	return uses == fills
}
