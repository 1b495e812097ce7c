package vet

import "github.com/yuin/gopher-lua/ast"

// keepsApart reports whether paths that write and paths that do not are kept apart in a function that is called. In lib files, this would take half
// as long again. A caller that tests what the function tests would seem to refuse behind a write that was on the other path, because its
// arguments keep all of their values.
func (r *run) keepsApart(fn *function, call ast.Expr, passed passed) bool {
	if fn.file != r.file || call == nil {
		return false
	}
	f := r.here()
	apart, known := f.apart[call]
	if !known {
		apart = !r.testsAlike(fn, passed)
		f.apart[call] = apart
	}
	return apart
}

// testsAlike reports whether the running function tests something from which it calculates an argument that the called one tests.
func (r *run) testsAlike(fn *function, passed passed) bool {
	here, tested := r.here(), fn.testedIn()
	shared := map[*variable]bool{}
	for v := range tested {
		if v.owner != fn {
			shared[v] = true // of an outer function
		}
	}
	for i, p := range fn.params {
		if tested[p] && i < len(passed.exprs) {
			for _, o := range here.involved(passed.exprs[i]) {
				shared[o.v] = true
			}
		}
	}
	for v := range r.top().fn.testedIn() {
		if shared[v] {
			return true
		}
	}
	return false
}

// testedIn returns the variables on which the conditions of a function depend.
func (fn *function) testedIn() map[*variable]bool {
	if fn.tests != nil {
		return fn.tests
	}
	fn.tests = map[*variable]bool{}
	fn.walk(func(node any, _ *function) {
		var condition ast.Expr
		switch node := node.(type) {
		case *ast.IfStmt:
			condition = node.Condition
		case *ast.WhileStmt:
			condition = node.Condition
		case *ast.RepeatStmt:
			condition = node.Condition
		case *ast.LogicalOpExpr:
			condition = node.Lhs
		default:
			return
		}
		for _, o := range fn.file.involved(condition) {
			fn.tests[o.v] = true
		}
	})
	return fn.tests
}
