package vet

import (
	"math"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// bounded notes that code compares the numbers in an expression, or passes them to a function that may: a relation that vet does not know may
// bound them from then on, and so may it those from which they were calculated.
func (r *run) bounded(s *state, exprs ...ast.Expr) {
	for _, e := range exprs {
		for _, v := range r.here().involved(e) {
			r.related(s, v, bothEnds)
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

// related notes that a relation may bound a variable, or a field of its table, at some ends. Of a variable that holds a table, it may bound all
// that the table holds.
func (r *run) related(s *state, o origin, lost ends) {
	if lost&highEnd != 0 {
		lost |= countEnd
	}
	old, ok := s.env.get(o.v.id)
	if !ok {
		return
	}
	if o.field != nil {
		if path := r.pathOf(o.field); len(s.paths) > 0 {
			if v, ok := s.paths.get(path); ok && v.in.ends&lost != 0 {
				s.paths = s.paths.with(path, v.without(lost))
			}
		}
	} else if old.in.ends&lost != 0 {
		s.own(env).env.set(o.v.id, old.without(lost))
	}
	if r.here().lib == "" { // the call of a lib file's function has bounded what its tables hold
		s.relatedIn(old.objects, o.field, lost, 0)
	}
}

// relatedIn notes that a relation may bound what tables hold, or one of their fields.
func (s *state) relatedIn(tables []int, field *ast.AttrGetExpr, lost ends, depth int) {
	only, byName := nameOf(field)
	for _, id := range tables {
		table := s.get(id)
		if table == nil || table.hasNoEnds() {
			continue
		}
		for _, f := range table.fields {
			if byName && only != f.name {
				continue
			}
			if f.v.in.ends&lost != 0 {
				s.object(id).setField(f.name, *f.v.without(lost))
			}
			if len(f.v.objects) > 0 && depth == 0 {
				s.relatedIn(f.v.objects, nil, lost, depth+1)
			}
		}
		if !byName && slices.ContainsFunc(table.items, func(v value) bool { return v.in.ends&lost != 0 }) {
			changed := s.object(id)
			changed.items = slices.Clone(table.items)
			for i := range changed.items {
				changed.items[i].in.ends &^= lost
			}
		}
	}
}

// A truth is one that is found out when it is first asked for.
type truth int8

const (
	holdsTrue truth = iota + 1
	holdsFalse
)

// hasNoEnds reports whether a relation changes nothing of a table.
func (o *object) hasNoEnds() bool {
	if o.endless == 0 {
		o.endless = holdsTrue
		for _, f := range o.fields {
			if f.v.in.ends != 0 || len(f.v.objects) > 0 {
				o.endless = holdsFalse
			}
		}
		for i := range o.items {
			if o.items[i].in.ends != 0 {
				o.endless = holdsFalse
			}
		}
	}
	return o.endless == holdsTrue
}

// nameOf returns the name of a field.
func nameOf(e *ast.AttrGetExpr) (string, bool) {
	if e == nil {
		return "", false
	}
	name, ok := e.Key.(*ast.StringExpr)
	if !ok {
		return "", false
	}
	return name.Value, true
}

// without returns a value of which some ends may no longer be possible. How far below 0 a stored number may bring it is then unknown: what a
// comparison leaves of a field is forgotten with the next write to any table.
func (v *value) without(lost ends) *value {
	out := *v
	if out.in.ends&lost&lowEnd != 0 && out.in.low <= -maxWhole/2 {
		out.in.low = math.Inf(-1)
	}
	if out.in.summed && lost&highEnd != 0 {
		out.in.high = math.Inf(1)
	}
	out.in.ends &^= lost
	return &out
}

// gives notes the calculations whose results are given to variables.
func (f *file) gives(stmt ast.Stmt) {
	note := func(v *variable, e ast.Expr) {
		switch e.(type) {
		case *ast.ArithmeticOpExpr, *ast.FuncCallExpr, *ast.LogicalOpExpr, *ast.RelationalOpExpr, *ast.UnaryNotOpExpr, *ast.UnaryMinusOpExpr, *ast.IdentExpr, *ast.AttrGetExpr, *ast.TableExpr:
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
			lhs := stmt.Lhs[min(i, len(stmt.Lhs)-1)]
			if field, ok := lhs.(*ast.AttrGetExpr); ok {
				lhs = field.Object
			}
			if v := f.named(lhs); v != nil {
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
