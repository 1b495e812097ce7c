package vet

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// unpacked returns the arguments of a call whose last is `unpack(t)`: with all elements of t if they are known one by one, or with none if t
// may be empty. Otherwise they are open.
func (r *run) unpacked(s *state, e *ast.FuncCallExpr, args []value) (list []value, open bool) {
	call, ok := e.Args[len(e.Args)-1].(*ast.FuncCallExpr)
	if !ok || call.Func == nil || exprText(call.Func) != "unpack" || len(call.Args) != 1 {
		return args, true
	}
	v, known := r.peek(s, call.Args[0])
	if !known || v.lenient || v.reads || len(v.objects) != 1 || !v.only(isTable) {
		return args, true
	}
	table := s.get(v.objects[0])
	fixed := len(e.Args) - 2 // without the command's name
	switch {
	case table == nil || table.open || fixed < 0:
	case len(table.items) > 0 && table.elem == nil && len(args) == fixed+len(table.items):
		for _, item := range table.items {
			if item.may(isNil) {
				return args, true
			}
		}
		return args, false
	case !s.facts.has(impossible) && r.untested(call.Args[0]) && (empty(s, v) || len(r.frames) == 1 && r.isParameter(call.Args[0]) && table.atLeast == 0):
		return args[:fixed], false
	}
	return args, true
}

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
			}
		}
	})
	return uses == fills
}
