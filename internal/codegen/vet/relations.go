package vet

import (
	"github.com/yuin/gopher-lua/ast"
)

// bounded notes that code compares the numbers in an expression, or passes them to a function that may: a relation that vet does not know may
// bound them from then on, and so may it those from which they were calculated.
func (r *run) bounded(s *state, exprs ...ast.Expr) {
	for _, e := range exprs {
		for _, v := range r.here().involved(e) {
			s.related(v.v, bothEnds)
		}
	}
}

// compares reports whether a function compares anything, or calls a function that may.
func (r *run) compares(fn *function) bool {
	if fn.compares != nil {
		return *fn.compares
	}
	compares := true
	fn.compares = &compares // ends a cycle
	found := false
	fn.walk(func(node any, _ *function) {
		switch node := node.(type) {
		case *ast.RelationalOpExpr, *ast.FunctionExpr:
			found = true
		case *ast.FuncCallExpr:
			found = found || r.callsOn(fn, node)
		}
	})
	fn.compares = &found
	return found
}

// callsOn reports whether a call in a function is to a function of the author that compares something, or that vet cannot name.
func (r *run) callsOn(fn *function, call *ast.FuncCallExpr) bool {
	if call.Func == nil {
		return false
	}
	f := fn.file
	if v := f.named(call.Func); v != nil {
		return f.bodies[v] == nil || r.compares(f.bodies[v])
	}
	if member, ok := call.Func.(*ast.AttrGetExpr); ok {
		id, named := member.Object.(*ast.IdentExpr)
		key, byName := member.Key.(*ast.StringExpr)
		switch {
		case !named || !byName:
			return true
		case f.refs[id] != nil:
			body := f.members[id.Value+"."+key.Value]
			return body == nil || r.compares(body)
		case r.c.libs[id.Value] != nil && f.usesLib(r.c, id.Value):
			body := r.c.libs[id.Value].members[key.Value]
			return body == nil || r.compares(body)
		}
	}
	return false
}

// related notes that a relation may bound a variable at some ends.
func (s *state) related(v *variable, lost ends) {
	if old, ok := s.env.get(v.id); ok && old.in.ends&lost != 0 {
		other := *old
		other.in.ends &^= lost
		s.own(env).env.set(v.id, &other)
	}
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
