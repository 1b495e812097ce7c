package vet

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// A filling says which places of a table the turns of a for set, of those that its variable counts. It never changes.
type filling struct {
	by      *variable
	placed  bool // this turn has set its place
	skipped bool // an earlier turn has not
}

func (a *filling) equals(b *filling) bool { return a == b || a != nil && b != nil && *a == *b }

// or returns the filling of a table that is one of two.
func (a *filling) or(b *filling) *filling {
	switch {
	case a.equals(b):
		return a
	case a == nil || b == nil || a.by != b.by:
		return nil
	}
	return &filling{by: a.by, placed: a.placed && b.placed, skipped: a.skipped || b.skipped}
}

// fills notes a write to a computed place of a table. A turn that set none has left a hole before it.
func (r *run) fills(o *object, key ast.Expr) {
	switch f := o.filling; {
	case f == nil:
	case r.here().named(key) != f.by:
		o.refilled()
	default:
		o.holed = o.holed || f.skipped
		o.filling = &filling{by: f.by, placed: true, skipped: f.skipped}
	}
}

// refilled notes that another loop may fill the holes of one.
func (o *object) refilled() {
	if o.filling != nil {
		o.filling, o.holed = nil, false
	}
}

// fillsInPart lets a for note which of its turns fill tables that are empty before it.
func (r *run) fillsInPart(s *state, l *loop, v *variable) {
	var ids []int
	for _, table := range r.filledInPart(l.stmt, l.body, v) {
		t, ok := r.peek(s, table.of)
		if ok && !table.tested && empty(s, t) {
			ids = union(ids, t.objects)
			continue
		}
		for _, id := range t.objects {
			if s.get(id) != nil {
				s.object(id).refilled()
			}
		}
	}
	if len(ids) == 0 {
		return
	}
	begin := l.begin
	l.begin = func(st *state) []*state {
		for _, id := range ids {
			o, skipped := st.object(id), false
			if f := o.filling; f != nil && f.by == v {
				skipped = f.skipped || !f.placed
			}
			o.filling = &filling{by: v, skipped: skipped}
		}
		return begin(st)
	}
}

// A target is a table in which a loop sets the place that its variable counts, on a condition that differs from turn to turn and that does
// not compare the variable.
type target struct {
	of     ast.Expr
	tested bool // the condition looks at that place
}

// filledInPart returns the targets of a loop.
func (r *run) filledInPart(loop ast.Stmt, body []ast.Stmt, v *variable) (targets []target) {
	f := r.here()
	if known, ok := f.inPart[loop]; ok {
		return known
	}
	var changed map[*variable]int
	var visit func(stmts []ast.Stmt, conditions []ast.Expr)
	visit = func(stmts []ast.Stmt, conditions []ast.Expr) {
		for _, stmt := range stmts {
			switch stmt := stmt.(type) {
			case *ast.DoBlockStmt:
				visit(stmt.Stmts, conditions)
			case *ast.IfStmt:
				if changed == nil {
					changed = r.changedIn(body)
				}
				conditions := conditions
				if f.varies(stmt.Condition, v, changed) {
					conditions = append(slices.Clip(conditions), stmt.Condition)
				}
				visit(stmt.Then, conditions)
				visit(stmt.Else, conditions)
			case *ast.FuncCallStmt: // table.insert(t, i, x)
				call, ok := stmt.Expr.(*ast.FuncCallExpr)
				if ok && len(conditions) > 0 && len(call.Args) == 3 && call.Func != nil && exprText(call.Func) == "table.insert" && f.named(call.Args[1]) == v {
					targets = append(targets, target{of: call.Args[0]})
				}
			case *ast.AssignStmt:
				for _, lhs := range stmt.Lhs {
					if at, ok := lhs.(*ast.AttrGetExpr); ok && len(conditions) > 0 && f.named(at.Key) == v {
						targets = append(targets, target{at.Object, r.looksAt(conditions, at)})
					}
				}
			}
		}
	}
	visit(body, nil)
	f.inPart[loop] = targets
	return targets
}

// looksAt reports whether an expression reads the same place of the same table.
func (r *run) looksAt(list []ast.Expr, at *ast.AttrGetExpr) (looks bool) {
	path := r.pathOf(at)
	w := &walker{file: r.here(), visit: func(node any, _ *function) {
		if e, ok := node.(*ast.AttrGetExpr); ok && path != "" {
			looks = looks || r.pathOf(e) == path
		}
	}}
	w.exprs(list...)
	return looks
}

// varies reports whether a condition may differ from turn to turn of a loop other than by its variable's order.
func (f *file) varies(condition ast.Expr, v *variable, changed map[*variable]int) (varies bool) {
	ordered := false
	w := &walker{file: f, visit: func(node any, _ *function) {
		switch node := node.(type) {
		case *ast.RelationalOpExpr:
			equality := node.Operator == "==" || node.Operator == "~="
			ordered = ordered || !equality && (f.named(node.Lhs) == v || f.named(node.Rhs) == v)
		case *ast.FuncCallExpr, *ast.AttrGetExpr:
			varies = true
		case *ast.IdentExpr:
			varies = varies || changed[f.refs[node]] > 0
		}
	}}
	w.exprs(condition)
	return varies && !ordered
}

// mayBeHole reports whether a write to an element may leave it nil, while a later one is set. `t[#t + 1] = x` leaves none, and `t[i] = nil`
// removes.
func mayBeHole(lhs *ast.AttrGetExpr, rhs ast.Expr, val value) bool {
	if _, removes := rhs.(*ast.NilExpr); removes || !val.may(isNil) || val.vague() {
		return false
	}
	next, ok := lhs.Key.(*ast.ArithmeticOpExpr)
	if !ok || next.Operator != "+" {
		return true
	}
	_, length := next.Lhs.(*ast.UnaryLenOpExpr)
	return !length
}
