package vet

import "github.com/yuin/gopher-lua/ast"

// callsClock reports whether the public function's file called the clock without another lib file between them.
func (r *run) callsClock() bool {
	for _, f := range r.frames {
		if f.fn.file != r.file && f.fn.file.lib != clockLib {
			return false
		}
	}
	return true
}

// isCached reports whether an `or` looks into a table of the library for what the call behind it makes of the same key, as in
// `texts[span] or make(span)`. Both sides are then what the call gives.
func (r *run) isCached(s *state, e *ast.LogicalOpExpr) bool {
	at, ok := e.Lhs.(*ast.AttrGetExpr)
	call, calls := e.Rhs.(*ast.FuncCallExpr)
	if e.Operator != "or" || !ok || !calls || isLiteral(at.Key) || isConstant(at.Key) {
		return false
	}
	table, known := r.peek(s, at.Object)
	if !known || len(table.objects) == 0 {
		return false
	}
	if o := s.get(table.objects[0]); o == nil || o.top == "" {
		return false
	}
	for _, v := range r.here().variablesIn(at.Key) {
		for _, arg := range call.Args {
			if r.here().named(arg) == v {
				return true
			}
		}
	}
	return false
}
