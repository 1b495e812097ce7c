package vet

import "github.com/yuin/gopher-lua/ast"

// Limits of Lua's compiler, which gopher-lua does not have.
const (
	upvalueLimit  = 60
	hiddenLocals  = 3   // of a for
	registerLimit = 240 // Lua's is 249; this count may be a few less than Lua's
	targetLimit   = 100 // Lua's is 200, less the levels around the assignment
)

// upvalue counts an upvalue of a function, nil for a lib file.
func (r *resolver) upvalue(fn *function, name string, v *variable) {
	at := upvalue{name, v}
	if fn.upvalues[at] {
		return
	}
	fn.upvalues[at] = true
	if len(fn.upvalues) == upvalueLimit+1 {
		r.report(fn.pos, RuleTooManyLocals, "%s uses more than %d upvalues with its lib files, which Redis's Lua refuses: put them into one table", fn.name, upvalueLimit)
	}
}

// turn walks the body of a for, which has locals without a name.
func (r *resolver) turn(stmts []ast.Stmt, vars ...*variable) {
	r.fn.active += hiddenLocals
	r.nested(stmts, vars...)
	r.fn.active -= hiddenLocals
}

// registers reports a statement that needs more registers than a function has: one for each live local, and for each value that waits
// for the others of a call, a return or an operation.
func (r *resolver) registers(s ast.Stmt) {
	top := 0
	switch s := s.(type) {
	case *ast.LocalAssignStmt:
		top = listTop(s.Exprs, r.fn.active)
	case *ast.AssignStmt:
		if len(s.Lhs) > targetLimit {
			r.report(r.tokens.here(), RuleTooManyLocals, "this assigns %d variables at once, and Redis's Lua refuses about 198: assign a table, or one by one", len(s.Lhs))
		}
		top = listTop(s.Rhs, r.fn.active+2*len(s.Lhs))
	case *ast.FuncCallStmt:
		top = exprTop(s.Expr, r.fn.active)
	case *ast.WhileStmt:
		top = exprTop(s.Condition, r.fn.active)
	case *ast.RepeatStmt:
		top = exprTop(s.Condition, r.fn.active)
	case *ast.IfStmt:
		top = exprTop(s.Condition, r.fn.active)
	case *ast.GenericForStmt:
		top = listTop(s.Exprs, r.fn.active)
	case *ast.ReturnStmt:
		top = listTop(s.Exprs, r.fn.active)
	}
	if top > registerLimit {
		r.report(r.tokens.here(), RuleTooManyLocals, "this needs about %d registers at once, one for each live local and each value of a list, and Redis's Lua has 249: pass a table, or split", top)
	}
}

// listTop returns the first free register after the values of a list, of which the first is in register at.
func listTop(list []ast.Expr, at int) int {
	top := at + len(list)
	for i, e := range list {
		top = max(top, exprTop(e, at+i))
	}
	return top
}

// exprTop returns the first register that evaluating an expression to register at leaves unused.
func exprTop(e ast.Expr, at int) int {
	switch e := e.(type) {
	case *ast.AttrGetExpr:
		return max(exprTop(e.Object, at), exprTop(e.Key, at+1))
	case *ast.FuncCallExpr:
		if e.Func == nil {
			return max(exprTop(e.Receiver, at), listTop(e.Args, at+2))
		}
		return max(exprTop(e.Func, at), listTop(e.Args, at+1))
	case *ast.TableExpr:
		top, waiting := at+1, 0
		for _, f := range e.Fields {
			if f.Key != nil {
				top = max(top, exprTop(f.Key, at+1), exprTop(f.Value, at+2+waiting))
				continue
			}
			top = max(top, exprTop(f.Value, at+1+waiting))
			waiting = (waiting + 1) % 50 // Lua moves them into the table then
		}
		return top
	case *ast.LogicalOpExpr:
		return max(exprTop(e.Lhs, at), exprTop(e.Rhs, at))
	case *ast.RelationalOpExpr:
		return max(exprTop(e.Lhs, at), exprTop(e.Rhs, at+1))
	case *ast.ArithmeticOpExpr:
		return max(exprTop(e.Lhs, at), exprTop(e.Rhs, at+1))
	case *ast.StringConcatOpExpr:
		return max(exprTop(e.Lhs, at), exprTop(e.Rhs, at+1))
	case *ast.UnaryMinusOpExpr:
		return exprTop(e.Expr, at)
	case *ast.UnaryNotOpExpr:
		return exprTop(e.Expr, at)
	case *ast.UnaryLenOpExpr:
		return exprTop(e.Expr, at)
	}
	return at + 1
}
