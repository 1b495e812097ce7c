package vet

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

func (r *run) isParameter(e ast.Expr) bool {
	return slices.Contains(r.top().fn.params, r.here().named(e))
}

// emptyReply reports whether `unpack(t)` unpacks a reply that may be empty: nothing before has tested it or its key.
func (r *run) emptyReply(s *state, call *ast.FuncCallExpr, v value) bool {
	var before ast.Expr
	if r.loops == 0 {
		before = call
	}
	if !v.reads || s.facts.has(impossible) || s.facts.has("#"+r.pathOf(call.Args[0])) || !r.untestedBefore(call.Args[0], before, true) {
		return false
	}
	return !slices.ContainsFunc(v.reply, func(key string) bool {
		t := s.ttl.at(key)
		return t.settled || t.proven || len(t.pending) > 0
	})
}

// untested reports whether an expression is a variable of the running function that is only filled, looped over and unpacked, so that nothing
// can have found out whether it is empty.
func (r *run) untested(e ast.Expr) bool { return r.untestedBefore(e, nil, false) }

// untestedBefore reports the same of what stands before a call, unless that is nil. A loop that sets a variable may count the elements.
func (r *run) untestedBefore(e, call ast.Expr, replied bool) bool {
	f := r.here()
	v := f.named(e)
	if v == nil || v.captured || v.top() || len(r.frames) > 1 && r.isParameter(e) {
		return false
	}
	uses, fills := 0, 0
	is := func(e ast.Expr) int {
		if e != nil && f.named(e) == v {
			return 1
		}
		return 0
	}
	length := func(e ast.Expr) int {
		if of, ok := e.(*ast.UnaryLenOpExpr); ok {
			return is(of.Expr)
		}
		return 0
	}
	last, counters := position{}, map[*variable]bool{}
	if call != nil {
		last = f.at(call)
	}
	r.top().fn.walk(func(node any, _ *function) {
		if at := f.at(node); call != nil && (at.line > last.line || at.line == last.line && at.col >= last.col) {
			return // also the list of the call itself
		}
		switch node := node.(type) {
		case *ast.IdentExpr:
			uses += is(node)
		case *ast.NumberForStmt:
			counters[f.decls[node][0]] = replied
			if !replied || !r.setsIn(node.Stmts) {
				fills += length(node.Limit)
			}
		case *ast.GenericForStmt:
			if _, over := iteration(node); over != nil && replied && is(over) > 0 && r.setsIn(node.Stmts) {
				fills-- // the ipairs below
			}
		case *ast.AssignStmt:
			for _, lhs := range node.Lhs {
				if field, ok := lhs.(*ast.AttrGetExpr); ok && !appends(field) && !r.limitTested() {
					fills += is(field.Object) // t[i] = x
				}
			}
		case *ast.AttrGetExpr:
			if counters[f.named(node.Key)] {
				fills += is(node.Object)
			}
			if sum, ok := node.Key.(*ast.ArithmeticOpExpr); ok && length(sum.Lhs) > 0 {
				fills += 1 + is(node.Object) // t[#t + 1]
			}
		case *ast.FuncCallExpr:
			if node.Func == nil {
				return
			}
			switch exprText(node.Func) {
			case "unpack", "ipairs", "table.insert":
				if len(node.Args) > 0 {
					fills += is(node.Args[0])
				}
				if len(node.Args) == 3 {
					fills += length(node.Args[2]) // unpack(t, 1, #t)
				}
			}
		}
	})
	return uses == fills
}

// limitTested reports whether the running function compares the length of a table that ends one of its fors: the comparison may exclude that
// the for runs no turn.
func (r *run) limitTested() (tested bool) {
	f := r.here()
	limits := map[*variable]bool{}
	r.top().fn.walk(func(node any, _ *function) {
		if loop, ok := node.(*ast.NumberForStmt); ok {
			if length, ok := loop.Limit.(*ast.UnaryLenOpExpr); ok {
				limits[f.named(length.Expr)] = true
			}
		}
	})
	r.top().fn.walk(func(node any, _ *function) {
		if e, ok := node.(*ast.RelationalOpExpr); ok {
			for _, side := range []ast.Expr{e.Lhs, e.Rhs} {
				length, ok := side.(*ast.UnaryLenOpExpr)
				tested = tested || ok && limits[f.named(length.Expr)]
			}
		}
	})
	return tested
}

// setsIn reports whether statements set a variable that exists already, or fill a table that a condition of the running function names.
func (r *run) setsIn(body []ast.Stmt) (sets bool) {
	f, filled := r.here(), map[*variable]bool{}
	w := &walker{file: f, visit: func(node any, _ *function) {
		switch node := node.(type) {
		case *ast.AssignStmt:
			for _, lhs := range node.Lhs {
				sets = sets || f.named(lhs) != nil
				if field, ok := lhs.(*ast.AttrGetExpr); ok {
					f.fillVariables(filled, field.Object)
				}
			}
		case *ast.FuncCallExpr:
			if node.Func != nil && exprText(node.Func) == "table.insert" && len(node.Args) > 0 {
				f.fillVariables(filled, node.Args[0])
			}
		}
	}}
	w.stmts(body)
	r.top().fn.walk(func(node any, _ *function) {
		if stmt, ok := node.(*ast.IfStmt); ok {
			sets = sets || slices.ContainsFunc(f.involved(stmt.Condition), func(o origin) bool { return filled[o.v] })
		}
	})
	return sets
}

func (f *file) fillVariables(to map[*variable]bool, table ast.Expr) {
	for _, v := range f.variablesIn(table) {
		to[v] = true
	}
}
