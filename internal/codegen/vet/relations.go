package vet

import "github.com/yuin/gopher-lua/ast"

// bounded notes that code compares the numbers in an expression, or passes them to a function that may: a relation that vet does not know may
// bound them from then on, and so may it those from which they were calculated.
func (r *run) bounded(s *state, exprs ...ast.Expr) {
	for _, e := range exprs {
		for _, v := range r.here().variablesIn(e) {
			s.related(v)
			for _, from := range r.here().sources(v) {
				s.related(from)
			}
		}
	}
}

// related notes that a relation may bound a variable.
func (s *state) related(v *variable) {
	if old, ok := s.env.get(v.id); ok && old.in.exact {
		other := *old
		other.in.exact = false
		s.own(env).env.set(v.id, &other)
	}
}

// sources returns the variables from which a variable is calculated, directly or through others.
func (f *file) sources(v *variable) []*variable {
	if known, ok := f.from[v]; ok {
		return known
	}
	f.from[v] = nil // ends a cycle
	var all []*variable
	for _, e := range f.given[v] {
		for _, next := range f.variablesIn(e) {
			all = append(append(all, next), f.sources(next)...)
		}
	}
	f.from[v] = all
	return all
}

// gives notes the calculations whose results are given to variables.
func (f *file) gives(stmt ast.Stmt) {
	note := func(v *variable, e ast.Expr) {
		switch e.(type) {
		case *ast.ArithmeticOpExpr, *ast.FuncCallExpr, *ast.LogicalOpExpr, *ast.RelationalOpExpr, *ast.UnaryNotOpExpr, *ast.UnaryMinusOpExpr, *ast.IdentExpr:
			f.given[v] = append(f.given[v], e)
		}
	}
	switch stmt := stmt.(type) {
	case *ast.LocalAssignStmt:
		for i, e := range stmt.Exprs {
			if i < len(f.decls[stmt]) {
				note(f.decls[stmt][i], e)
			}
		}
	case *ast.AssignStmt:
		for i, e := range stmt.Rhs {
			if v := f.named(stmt.Lhs[min(i, len(stmt.Lhs)-1)]); v != nil {
				note(v, e)
			}
		}
	}
}

// variablesIn returns the variables that an expression names.
func (f *file) variablesIn(e ast.Expr) []*variable {
	if known, ok := f.within[e]; ok {
		return known
	}
	var vars []*variable
	w := &walker{file: f, visit: func(node any, _ *function) {
		if v := f.named(node); v != nil {
			vars = append(vars, v)
		}
	}}
	w.exprs(e)
	f.within[e] = vars
	return vars
}
