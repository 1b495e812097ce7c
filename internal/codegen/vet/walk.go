package vet

import "github.com/yuin/gopher-lua/ast"

// walk visits every statement and expression of a file, in text order, with its enclosing function.
func (f *file) walk(visit func(node any, fn *function)) {
	w := &walker{file: f, fn: f.chunk, visit: visit}
	w.stmts(f.src.Chunk)
}

// walk visits the statements and expressions of one function.
func (fn *function) walk(visit func(node any, fn *function)) {
	w := &walker{file: fn.file, fn: fn, visit: visit}
	if fn.expr == nil {
		w.stmts(fn.file.src.Chunk)
		return
	}
	w.stmts(fn.expr.Stmts)
}

type walker struct {
	file  *file
	fn    *function
	visit func(node any, fn *function)
}

func (w *walker) stmts(list []ast.Stmt) {
	for _, s := range list {
		w.visit(s, w.fn)
		switch s := s.(type) {
		case *ast.LocalAssignStmt:
			w.exprs(s.Exprs...)
		case *ast.AssignStmt:
			w.exprs(s.Lhs...)
			w.exprs(s.Rhs...)
		case *ast.FuncCallStmt:
			w.exprs(s.Expr)
		case *ast.DoBlockStmt:
			w.stmts(s.Stmts)
		case *ast.WhileStmt:
			w.exprs(s.Condition)
			w.stmts(s.Stmts)
		case *ast.RepeatStmt:
			w.stmts(s.Stmts)
			w.exprs(s.Condition)
		case *ast.IfStmt:
			w.exprs(s.Condition)
			w.stmts(s.Then)
			w.stmts(s.Else)
		case *ast.NumberForStmt:
			w.exprs(s.Init, s.Limit, s.Step)
			w.stmts(s.Stmts)
		case *ast.GenericForStmt:
			w.exprs(s.Exprs...)
			w.stmts(s.Stmts)
		case *ast.FuncDefStmt:
			w.exprs(s.Name.Func, s.Name.Receiver, s.Func)
		case *ast.ReturnStmt:
			w.exprs(s.Exprs...)
		}
	}
}

func (w *walker) exprs(list ...ast.Expr) {
	for _, e := range list {
		if e == nil {
			continue
		}
		w.visit(e, w.fn)
		switch e := e.(type) {
		case *ast.AttrGetExpr:
			w.exprs(e.Object, e.Key)
		case *ast.TableExpr:
			for _, f := range e.Fields {
				w.exprs(f.Key, f.Value)
			}
		case *ast.FuncCallExpr:
			w.exprs(e.Func, e.Receiver)
			w.exprs(e.Args...)
		case *ast.LogicalOpExpr:
			w.exprs(e.Lhs, e.Rhs)
		case *ast.RelationalOpExpr:
			w.exprs(e.Lhs, e.Rhs)
		case *ast.StringConcatOpExpr:
			w.exprs(e.Lhs, e.Rhs)
		case *ast.ArithmeticOpExpr:
			w.exprs(e.Lhs, e.Rhs)
		case *ast.UnaryMinusOpExpr:
			w.exprs(e.Expr)
		case *ast.UnaryNotOpExpr:
			w.exprs(e.Expr)
		case *ast.UnaryLenOpExpr:
			w.exprs(e.Expr)
		case *ast.FunctionExpr:
			outer := w.fn
			w.fn = w.file.byExpr[e]
			w.stmts(e.Stmts)
			w.fn = outer
		}
	}
}
