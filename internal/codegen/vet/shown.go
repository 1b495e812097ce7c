package vet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// A shown is what conditions in a function have shown of what is below its results and its arguments, as the type of a field of decoded
// data: values by path, in which a place stands for the result or the argument. It never changes.
type shown struct{ byName[*value] }

// shows returns what holds values by path, or nil if there are none.
func shows(list byName[*value]) *shown {
	if len(list) == 0 {
		return nil
	}
	return &shown{list}
}

// plus returns what either of two says.
func (b *shown) plus(other *shown) *shown {
	if other == nil {
		return b
	}
	return shows(b.list().plus(other.byName))
}

func (b *shown) list() byName[*value] {
	if b == nil {
		return nil
	}
	return b.byName
}

// resultPlace and argumentPlace return what stands for a result or an argument in a path. No variable has such a mark.
func resultPlace(i int) string   { return fmt.Sprintf("(result %d)", i) }
func argumentPlace(i int) string { return fmt.Sprintf("(argument %d)", i) }

// shownBelow returns what is known at a return.
func (r *run) shownBelow(s *state, stmt *ast.ReturnStmt) *shown {
	if len(s.paths) == 0 {
		return nil
	}
	var out shown
	for i, e := range stmt.Exprs {
		if v := r.here().named(e); v != nil && !v.top() && s.isDecoded(v) {
			out.take(s, v, resultPlace(i))
		}
	}
	for i, p := range r.top().fn.params {
		if p.assigned == 0 && s.isDecoded(p) {
			out.take(s, p, argumentPlace(i))
		}
	}
	for _, path := range s.paths {
		if strings.Contains(path.name, "(argument ") {
			out.byName = out.with(path.name, path.v)
		}
	}
	return shows(out.byName)
}

// keepShown keeps what a path knows below a parameter that is no longer used.
func (r *run) keepShown(s *state, v *variable) {
	if len(r.frames) == 1 || len(s.paths) == 0 || !v.param || v.assigned > 0 || !s.isDecoded(v) {
		return
	}
	var known shown
	known.take(s, v, argumentPlace(slices.Index(r.top().fn.params, v)))
	s.paths = s.paths.plus(known.byName)
}

// isDecoded reports whether a variable has decoded data. Of other tables the path knows the content.
func (s *state) isDecoded(v *variable) bool {
	val, ok := s.env.get(v.id)
	return ok && val.json != 0
}

// take adds what a path knows below a variable.
func (b *shown) take(s *state, v *variable, place string) {
	for _, path := range s.paths {
		name, length := strings.CutPrefix(path.name, "#")
		rest, isBelow := strings.CutPrefix(name, v.mark)
		if !isBelow || rest == "" && !length || strings.Contains(rest, "<") || len(path.v.objects) > 0 || len(path.v.fns()) > 0 {
			continue
		}
		b.byName = b.with(strings.Replace(path.name, v.mark, place, 1), path.v)
	}
}

// testsBelow reports whether a function returns nothing but whether tests hold, of which one is of the type of decoded data.
func (r *run) testsBelow(s *state, stmt *ast.ReturnStmt) bool {
	if len(r.frames) == 1 || len(stmt.Exprs) != 1 || !isTest(stmt.Exprs[0]) {
		return false
	}
	return slices.ContainsFunc(r.here().typesIn(stmt), func(e ast.Expr) bool {
		v, known := r.peek(s, e)
		return known && v.json != 0
	})
}

// typesIn returns the expressions of which a return tests the type.
func (f *file) typesIn(stmt *ast.ReturnStmt) []ast.Expr {
	list, known := f.typed[stmt]
	if known {
		return list
	}
	w := &walker{file: f, visit: func(node any, _ *function) {
		if call, ok := node.(*ast.FuncCallExpr); ok && call.Func != nil && len(call.Args) == 1 && exprText(call.Func) == "type" {
			list = append(list, call.Args[0])
		}
	}}
	w.exprs(stmt.Exprs...)
	f.typed[stmt] = list
	return list
}

// isTest reports whether an expression is true or false.
func isTest(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.RelationalOpExpr, *ast.UnaryNotOpExpr:
		return true
	case *ast.LogicalOpExpr:
		return isTest(e.Lhs) && isTest(e.Rhs)
	}
	return false
}

// returnTest follows a return of tests as if it were the branches of an if.
func (r *run) returnTest(s *state, stmt *ast.ReturnStmt) (out flow) {
	yes, no := r.condition(s, stmt.Exprs[0])
	for _, st := range yes {
		out.returns = append(out.returns, outcome{st, []value{of(isTrue)}, r.shownBelow(st, stmt)})
	}
	for _, st := range no {
		out.returns = append(out.returns, outcome{st, []value{of(isFalse)}, r.shownBelow(st, stmt)})
	}
	return out
}

// adopt adds what is known below a place to what a path knows below the expression that has its value.
func (b *shown) adopt(s *state, place, path string) {
	for _, e := range b.list() {
		if !strings.Contains(e.name, place) {
			continue
		}
		name := strings.Replace(e.name, place, path, 1)
		if old, ok := s.paths.get(name); !ok || old.kinds&^e.v.kinds != 0 {
			s.paths = s.paths.with(name, e.v)
		}
	}
}

// adopt adds what is known below a result to what a path knows below the variable that gets it.
func (o outcome) adopt(i int, v *variable) {
	if o.below != nil && v != nil && !v.top() {
		o.below.adopt(o.s, resultPlace(i), v.mark)
	}
}

// and returns what is known on both of two paths. A result that is nil or false on one of them has nothing below it.
func (b *shown) and(other *shown, vals, others []value) *shown {
	if b == nil && other == nil {
		return nil
	}
	var out shown
	for _, e := range b.list() {
		if v, ok := other.list().get(e.name); ok {
			out.byName = out.with(e.name, joined(e.v, v))
		} else if belowNothing(e.name, others) {
			out.byName = out.with(e.name, e.v)
		}
	}
	for _, e := range other.list() {
		if !b.list().has(e.name) && belowNothing(e.name, vals) {
			out.byName = out.with(e.name, e.v)
		}
	}
	return shows(out.byName)
}

func belowNothing(name string, vals []value) bool {
	for i, v := range vals {
		if strings.Contains(name, resultPlace(i)) {
			return v.only(isFalsy)
		}
	}
	return false
}

// shownOfArguments lets the caller know what a function has shown of its arguments.
func (r *run) shownOfArguments(e *ast.FuncCallExpr, out []outcome) {
	for i, o := range out {
		if o.below == nil {
			continue
		}
		for j, arg := range e.Args {
			if path := r.pathOf(arg); path != "" {
				o.below.adopt(o.s, argumentPlace(j), path)
			}
		}
		out[i].below = shows(o.below.without(func(name string) bool { return strings.Contains(name, "(argument ") }))
	}
}
