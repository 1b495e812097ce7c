package vet

import "github.com/yuin/gopher-lua/ast"

// An origin is a variable from which an expression is calculated, and how the expression follows it.
type origin struct {
	v            *variable
	field        *ast.AttrGetExpr // of the variable's table; nil if it is the variable itself
	grows, falls bool             // with the variable; both if it is unknown
}

// involved returns the variables that an expression names, and those from which they are calculated.
func (f *file) involved(e ast.Expr) []origin {
	if known, ok := f.relates[e]; ok {
		return known
	}
	var all sources
	f.addInvolved(&all, e)
	f.relates[e] = all
	return all
}

func (f *file) addInvolved(all *sources, e ast.Expr) {
	for _, direct := range f.sourcesIn(e) {
		all.add(direct)
		for _, s := range f.sources(direct.v) {
			all.through(direct, s)
		}
	}
}

// sources returns the variables from which a variable is calculated, directly or through others.
func (f *file) sources(v *variable) []origin {
	if known, ok := f.from[v]; ok {
		return known
	}
	f.from[v] = nil // ends a cycle
	var all sources
	for _, e := range f.given[v] {
		f.addInvolved(&all, e)
	}
	f.from[v] = all
	return all
}

type sources []origin

func (l *sources) add(o origin) {
	for i := range *l {
		if s := &(*l)[i]; s.v == o.v && s.field == o.field {
			s.grows, s.falls = s.grows || o.grows, s.falls || o.falls
			return
		}
	}
	*l = append(*l, o)
}

// through adds the source of a source.
func (l *sources) through(outer, s origin) {
	grows, falls := outer.grows && s.grows || outer.falls && s.falls, outer.grows && s.falls || outer.falls && s.grows
	if outer.field != nil {
		grows, falls = true, true // of which field it is calculated is not followed
	}
	l.add(origin{s.v, s.field, grows, falls})
}

// sourcesIn returns the variables that an expression names.
func (f *file) sourcesIn(e ast.Expr) (all sources) {
	var visit func(e ast.Expr, grows, falls bool)
	visit = func(e ast.Expr, grows, falls bool) {
		switch e := e.(type) {
		case *ast.IdentExpr:
			if v := f.refs[e]; v != nil {
				all.add(origin{v, nil, grows, falls})
			}
			return
		case *ast.AttrGetExpr:
			if v := f.named(e.Object); v != nil {
				all.add(origin{v, e, grows, falls})
				visit(e.Key, true, true)
				return
			}
		case *ast.UnaryMinusOpExpr:
			visit(e.Expr, falls, grows)
			return
		case *ast.LogicalOpExpr:
			if e.Operator == "or" {
				visit(e.Lhs, grows, falls)
				visit(e.Rhs, grows, falls)
				return
			}
		case *ast.ArithmeticOpExpr:
			switch {
			case e.Operator == "+", e.Operator == "-":
				visit(e.Lhs, grows, falls)
				if e.Operator == "-" {
					grows, falls = falls, grows
				}
				visit(e.Rhs, grows, falls)
				return
			case e.Operator != "%" && isConstant(e.Rhs):
				visit(e.Lhs, grows, falls)
				return
			}
		case *ast.FuncCallExpr:
			if e.Func == nil || f.local(e.Func) {
				break
			}
			switch exprText(e.Func) {
			case "math.max", "math.min", "math.floor", "math.ceil", "tonumber":
				for _, arg := range e.Args {
					visit(arg, grows, falls)
				}
				return
			}
		}
		for _, v := range f.variablesIn(e) {
			all.add(origin{v, nil, true, true})
		}
	}
	visit(e, true, false)
	return all
}

// orders notes that a comparison of two expressions was true: of one that is greater, the low end may no longer be possible, and of the other
// the high end.
func (r *run) orders(s *state, e *ast.RelationalOpExpr, operator string) {
	if r.narrowing[e] || operator == "~=" || isRemainder(e.Lhs) && isConstant(e.Rhs) {
		return
	}
	for i, side := range []ast.Expr{e.Lhs, e.Rhs} {
		lost := bothEnds
		switch {
		case operator == "==":
		case (operator[0] == '<') == (i == 0):
			lost = highEnd
		default:
			lost = lowEnd
		}
		for _, v := range r.here().involved(side) {
			at := ends(0)
			if v.grows {
				at |= lost
			}
			if v.falls {
				at |= lost.swapped()
			}
			r.related(s, v, at)
		}
	}
}

func isRemainder(e ast.Expr) bool {
	op, ok := e.(*ast.ArithmeticOpExpr)
	return ok && op.Operator == "%"
}

// unordered notes that a condition of several comparisons does not say which of them was true.
func (r *run) unordered(s *state, e ast.Expr) {
	switch e := e.(type) {
	case *ast.LogicalOpExpr:
		r.unordered(s, e.Lhs)
		r.unordered(s, e.Rhs)
	case *ast.UnaryNotOpExpr:
		r.unordered(s, e.Expr)
	case *ast.RelationalOpExpr:
		if !r.narrowing[e] {
			r.bounded(s, e.Lhs, e.Rhs)
		}
	}
}
