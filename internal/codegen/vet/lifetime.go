package vet

import "github.com/yuin/gopher-lua/ast"

// lifetimes records after which statement of its block a local is no longer used, because from then on its value need not distinguish
// paths. A local that an inner function uses lives as long as its function.
func (f *file) lifetimes() {
	for _, fn := range f.funcs {
		f.lifetimesIn(fn.expr.Stmts, fn.params, nil)
	}
}

// lifetimesIn handles one block, with the variables that its statement declares and a condition in the block's scope.
func (f *file) lifetimesIn(stmts []ast.Stmt, vars []*variable, condition ast.Expr) {
	last := map[*variable]int{}
	for _, v := range vars {
		last[v] = 0
	}
	for i, stmt := range stmts {
		if local, ok := stmt.(*ast.LocalAssignStmt); ok {
			for _, v := range f.decls[local] {
				last[v] = i
			}
		}
		w := &walker{file: f, visit: func(node any, _ *function) {
			if v := f.named(node); v != nil {
				if _, here := last[v]; here {
					last[v] = i
				}
			}
		}}
		w.stmts([]ast.Stmt{stmt})
		f.lifetimesBelow(stmt)
	}
	w := &walker{file: f, visit: func(node any, _ *function) { delete(last, f.named(node)) }}
	w.exprs(condition)
	for v, i := range last {
		if !v.captured && len(stmts) > 0 {
			f.over[stmts[i]] = append(f.over[stmts[i]], v)
		}
	}
}

func (f *file) named(node any) *variable {
	if id, ok := node.(*ast.IdentExpr); ok {
		return f.refs[id]
	}
	return nil
}

func (f *file) lifetimesBelow(stmt ast.Stmt) {
	switch stmt := stmt.(type) {
	case *ast.DoBlockStmt:
		f.lifetimesIn(stmt.Stmts, nil, nil)
	case *ast.WhileStmt:
		f.lifetimesIn(stmt.Stmts, nil, nil)
	case *ast.RepeatStmt:
		f.lifetimesIn(stmt.Stmts, nil, stmt.Condition)
	case *ast.IfStmt:
		f.lifetimesIn(stmt.Then, nil, nil)
		f.lifetimesIn(stmt.Else, nil, nil)
	case *ast.NumberForStmt:
		f.lifetimesIn(stmt.Stmts, f.decls[stmt], nil)
	case *ast.GenericForStmt:
		f.lifetimesIn(stmt.Stmts, f.decls[stmt], nil)
	}
}
