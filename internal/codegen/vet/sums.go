package vet

import (
	"maps"
	"math"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// A sum is a local to which every turn of a for adds, with the variables from which what it adds is calculated.
type sum struct {
	v    *variable
	adds []ast.Expr
	of   map[*variable]bool
}

// sumsOf returns the sums of a for: locals of which the body has no other assignment than `sum = sum + x`.
func (r *run) sumsOf(l loop) []sum {
	f := r.here()
	known, ok := f.sums[l.stmt]
	if ok {
		return known
	}
	adds, other, leaves := map[*variable][]ast.Expr{}, map[*variable]bool{}, false
	w := &walker{file: f, visit: func(node any, _ *function) {
		for _, v := range f.decls[node] {
			other[v] = true
		}
		switch node := node.(type) {
		case *ast.BreakStmt:
			leaves = true
		case *ast.AssignStmt:
			for i, lhs := range node.Lhs {
				v := f.named(lhs)
				if v == nil {
					continue
				}
				if added := f.addedTo(v, node.Rhs[min(i, len(node.Rhs)-1)]); len(node.Lhs) == 1 && len(added) > 0 {
					adds[v] = append(adds[v], added...)
				} else {
					other[v] = true
				}
			}
		}
	}}
	w.stmts(l.body)
	changed := map[*variable]bool{}
	for v := range adds {
		changed[v] = true
	}
	for v := range other {
		changed[v] = changed[v] || v.assigned > 0
	}
	for v, list := range adds {
		s := sum{v: v, adds: list, of: map[*variable]bool{}}
		for _, e := range list {
			for _, o := range f.involved(e) {
				s.of[o.v] = true
			}
		}
		count := f.decls[l.stmt][0]
		delete(s.of, count)
		varies := slices.ContainsFunc(list, func(e ast.Expr) bool { return f.counts(e, count, 0) })
		for v := range s.of {
			varies = varies || changed[v]
		}
		if !leaves && !varies && !other[v] && !v.captured {
			known = append(known, s)
		}
	}
	f.sums[l.stmt] = known
	return known
}

// addedTo returns what an expression adds to a variable, as in `v + x + y`, or nil.
func (f *file) addedTo(v *variable, e ast.Expr) []ast.Expr {
	op, ok := e.(*ast.ArithmeticOpExpr)
	switch {
	case !ok || op.Operator != "+":
		return nil
	case f.named(op.Lhs) == v:
		return []ast.Expr{op.Rhs}
	case f.named(op.Rhs) == v:
		return []ast.Expr{op.Lhs}
	}
	if added := f.addedTo(v, op.Lhs); added != nil {
		return append(added, op.Rhs)
	}
	return nil
}

// counts reports whether an expression calculates with the variable of a for, and does not only choose an element by it.
func (f *file) counts(e ast.Expr, count *variable, depth int) (found bool) {
	if f.named(e) == count || depth > 8 {
		return true
	}
	for _, given := range f.given[f.named(e)] {
		found = found || f.counts(given, count, depth+1)
	}
	switch e := e.(type) {
	case *ast.AttrGetExpr:
		_, below := e.Object.(*ast.AttrGetExpr)
		return found || below && f.counts(e.Object, count, depth)
	case *ast.ArithmeticOpExpr:
		return found || f.counts(e.Lhs, count, depth) || f.counts(e.Rhs, count, depth)
	case *ast.LogicalOpExpr:
		return found || f.counts(e.Lhs, count, depth) || f.counts(e.Rhs, count, depth)
	case *ast.FuncCallExpr:
		return found || slices.ContainsFunc(e.Args, func(arg ast.Expr) bool { return f.counts(arg, count, depth) })
	}
	return found
}

// sumUp gives the sums of a for the range that they have after all of its turns, of which two have been followed. A sum that a comparison
// may bound is any number.
func (r *run) sumUp(before *state, f flow, l loop, turns float64) {
	for _, s := range r.sumsOf(l) {
		from, ok := before.env.get(s.v.id)
		if !ok || from.lenient || !from.interval().known || len(from.reply) > 0 {
			continue
		}
		begin, most := from.interval().high, from.interval().high
		for _, after := range f.next {
			if v, ok := after.env.get(s.v.id); ok && v.interval().known {
				most = max(most, v.interval().high)
			}
		}
		related := most > begin && r.relates(l, s)
		if most <= begin || related && most <= maxWhole {
			continue
		}
		for _, after := range f.next {
			v, ok := after.env.get(s.v.id)
			if !ok || v.lenient || !v.interval().known || v.interval().high < most || len(v.reply) > 0 {
				continue // a reply's range is not one that it surely has
			}
			all := *v
			if related {
				all.in.high = math.Inf(1)
			} else {
				all.in.high = begin + (most-begin)/2*turns
				all.in.ends |= highEnd
				all.in.summed = true
			}
			after.own(env).env.set(s.v.id, &all)
		}
	}
}

// relates reports whether a comparison may bound what a for adds: any that has it, or what it is calculated from, but for one of an element with
// a constant in the same turn and one of an argument with a constant.
func (r *run) relates(l loop, s sum) bool {
	inside := map[*ast.RelationalOpExpr]bool{}
	w := &walker{file: r.here(), visit: func(node any, _ *function) {
		if e, ok := node.(*ast.RelationalOpExpr); ok {
			inside[e] = true
		}
	}}
	w.stmts(l.body)
	of := maps.Clone(s.of)
	if each, ok := l.stmt.(*ast.GenericForStmt); ok {
		r.here().addVariables(of, each.Exprs)
	}
	for depth := len(r.frames) - 1; depth >= 0; depth-- {
		f, frame := r.frames[depth].fn.file, r.frames[depth]
		found := false
		frame.fn.walk(func(node any, _ *function) {
			switch node := node.(type) {
			case *ast.RelationalOpExpr:
				if depth == len(r.frames)-1 && inside[node] && (f.mentions(node.Lhs, s.v) || f.mentions(node.Rhs, s.v)) {
					found = true
				}
				for i, side := range []ast.Expr{node.Lhs, node.Rhs} {
					other := []ast.Expr{node.Rhs, node.Lhs}[i]
					_, element := side.(*ast.AttrGetExpr)
					known := isConstant(other) && (f.named(side) != nil || element && inside[node])
					found = found || !known && f.follows(side, of, s.v)
				}
			case *ast.FuncCallExpr:
				for i, arg := range node.Args {
					found = found || f.follows(arg, of, s.v) && r.comparesArgument(frame.fn, node, i, withAny)
				}
			}
		})
		if found {
			return true
		}
		of = r.passedAt(depth, of)
	}
	return false
}

// passedAt returns the caller's variables from which it calculates those parameters of the function at a depth; none at depth 0.
func (r *run) passedAt(depth int, of map[*variable]bool) map[*variable]bool {
	outer := map[*variable]bool{}
	if depth == 0 {
		return outer
	}
	frame := r.frames[depth]
	for i, p := range frame.fn.params {
		if of[p] && i < len(frame.passed.exprs) {
			r.frames[depth-1].fn.file.addVariables(outer, frame.passed.exprs[i:i+1])
		}
	}
	return outer
}

// addVariables adds the variables from which expressions are calculated.
func (f *file) addVariables(to map[*variable]bool, list []ast.Expr) {
	for _, e := range list {
		for _, o := range f.involved(e) {
			to[o.v] = true
		}
	}
}

func (f *file) mentions(e ast.Expr, v *variable) bool { return slices.Contains(f.variablesIn(e), v) }

// follows reports whether an expression is calculated from some variables other than through a sum of them. A length says nothing of elements.
func (f *file) follows(e ast.Expr, of map[*variable]bool, sum *variable) bool {
	if _, length := e.(*ast.UnaryLenOpExpr); length {
		return false
	}
	return slices.ContainsFunc(f.sourcesIn(e), func(o origin) bool {
		from := f.sources(o.v)
		switch {
		case o.v == sum || slices.ContainsFunc(from, func(o origin) bool { return o.v == sum }):
			return false
		case of[o.v]:
			return true
		}
		return slices.ContainsFunc(from, func(o origin) bool { return of[o.v] })
	})
}
