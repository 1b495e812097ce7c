package vet

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// condition splits a path by a condition.
func (r *run) condition(s *state, e ast.Expr) (yes, no []*state) {
	r.noteNarrowing(e)
	for _, got := range r.eval(s, e) {
		r.noteTested(e, got.v)
		if got.v.truthy().kinds != 0 {
			st := got.s.clone()
			got.v.learn(st, true)
			if ok, _ := r.refine(st, e, true); ok {
				r.tellsOf(st, e)
				r.narrow(st, e, true)
				yes = append(yes, st)
			}
		}
		switch {
		case got.v.only(isNumber) && !got.v.present: // judgeTested reports it; the author meant the other branch
			no = append(no, got.s)
		case got.v.falsy().kinds != 0:
			got.v.learn(got.s, false)
			if ok, _ := r.refine(got.s, e, false); ok {
				r.tellsOf(got.s, e)
				r.narrow(got.s, e, false)
				no = append(no, got.s)
			}
		}
	}
	return distinct(yes), distinct(no)
}

// noteTested records the possible values of a tested expression. From these, judgeTested reports tests with only one outcome,
// unless the variable has no value on another path.
func (r *run) noteTested(e ast.Expr, v value) {
	switch e.(type) {
	case *ast.RelationalOpExpr, *ast.LogicalOpExpr, *ast.UnaryNotOpExpr, *ast.TrueExpr, *ast.FalseExpr:
		return
	}
	t := r.tested[e]
	r.tested[e] = tested{r.at(e), t.kinds | v.kinds, t.lenient || v.lenient || v.assumed}
}

func (r *run) judgeTested() {
	for e, t := range r.tested {
		if t.lenient || t.kinds == 0 || t.kinds&^isNumber != 0 || r.emptied[t.file.named(e)] {
			continue
		}
		r.report(t.site, RuleTruthyNumber, "%s is a number, and every number is true in Lua, even 0: compare it, as %s > 0", exprText(e), exprText(e))
	}
}

// pathOf returns the name of a variable, of a field or element below one, or of the length of one, with the variable's number. It returns
// "" for any other expression.
func (r *run) pathOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.IdentExpr:
		if v := r.here().refs[e]; v != nil {
			return v.mark
		}
	case *ast.NumberExpr:
		return e.Value
	case *ast.AttrGetExpr:
		path, known := r.here().paths[e]
		if !known {
			path = r.pathBelow(e)
			r.here().paths[e] = path
		}
		return path
	case *ast.UnaryLenOpExpr:
		path, known := r.here().paths[e]
		if !known {
			if path = r.pathOf(e.Expr); path != "" {
				path = "#" + path
			}
			r.here().paths[e] = path
		}
		return path
	case *ast.ArithmeticOpExpr:
		lhs, rhs := r.pathOf(e.Lhs), r.pathOf(e.Rhs)
		if lhs != "" && rhs != "" {
			return "(" + lhs + e.Operator + rhs + ")"
		}
	}
	return ""
}

func (r *run) pathBelow(e *ast.AttrGetExpr) string {
	object := r.pathOf(e.Object)
	if object == "" {
		return ""
	}
	if key, ok := e.Key.(*ast.StringExpr); ok {
		return object + "." + key.Value
	}
	if key := r.pathOf(e.Key); key != "" {
		return object + "[" + key + "]"
	}
	return ""
}

// peek evaluates an expression without effects: a variable, or a field or element below one.
func (r *run) peek(s *state, e ast.Expr) (value, bool) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		if r.here().refs[e] == nil {
			return value{}, false
		}
	case *ast.AttrGetExpr:
		if r.pathOf(e) == "" {
			return value{}, false
		}
		if _, ok := r.peek(s, e.Object); !ok {
			return value{}, false
		}
	case *ast.UnaryLenOpExpr:
		v, ok := r.peek(s, e.Expr)
		if !ok || v.lenient || !v.only(isTable|isStr) {
			return value{}, false
		}
		return r.length(s, e, v), true
	default:
		return value{}, false
	}
	before := r.c.quiet
	r.c.quiet = true
	defer func() { r.c.quiet = before }()
	if isPlain(e) {
		r.steps++
		return r.plain(s, e), true
	}
	got := r.eval(s, e)
	if len(got) != 1 {
		return value{}, false
	}
	return got[0].v, true
}

// learn narrows the value of an expression. It reports whether the path is still possible, and whether the value changed.
func (r *run) learn(s *state, e ast.Expr, narrow func(value) value) (ok, changed bool) {
	v, known := r.peek(s, e)
	if !known {
		return true, false
	}
	n := narrow(v)
	if n.kinds == 0 {
		return false, false
	}
	if n.kinds == v.kinds && len(n.enum()) == len(v.enum()) {
		return true, false
	}
	r.replace(s, e, n)
	return true, true
}

// replace gives a variable, or a field or element below one, a narrower value.
func (r *run) replace(s *state, e ast.Expr, n value) {
	if id, isVar := e.(*ast.IdentExpr); isVar && !r.here().refs[id].top() {
		variable := r.here().refs[id]
		s.paths = s.paths.without(func(path string) bool { return path == variable.mark })
		s.own(env).env.set(variable.id, &n)
		return
	}
	s.paths = s.paths.with(r.pathOf(e), &n)
}

// refine narrows values by a condition that was true or false.
func (r *run) refine(s *state, e ast.Expr, truth bool) (ok, changed bool) {
	switch e := e.(type) {
	case *ast.UnaryNotOpExpr:
		return r.refine(s, e.Expr, !truth)
	case *ast.LogicalOpExpr:
		return r.refineLogical(s, e, truth)
	case *ast.RelationalOpExpr:
		return r.refineRelation(s, e, truth)
	case *ast.FuncCallExpr:
		if id, isID := e.Func.(*ast.IdentExpr); isID && id.Value == "next" && len(e.Args) == 1 {
			s.note("#" + r.pathOf(e.Args[0]))
		}
		return true, truth && r.matchesDigits(s, e)
	}
	ok, changed = r.learn(s, e, func(v value) value {
		if truth {
			return v.truthy()
		}
		return v.falsy()
	})
	if condition := r.here().conditionIn(e); ok && condition != nil {
		possible, more := r.refine(s, condition, truth)
		return possible, changed || more
	}
	return ok, changed
}

func (r *run) refineLogical(s *state, e *ast.LogicalOpExpr, truth bool) (ok, changed bool) {
	all := e.Operator == "and"
	if all == truth { // both sides have this truth value
		ok, a := r.refine(s, e.Lhs, truth)
		if !ok {
			return false, false
		}
		ok, b := r.refine(s, e.Rhs, truth)
		return ok, a || b
	}
	lhsOK, _ := r.refine(s.clone(), e.Lhs, truth)
	rhsOK, _ := r.refine(s.clone(), e.Rhs, truth)
	switch {
	case lhsOK && rhsOK:
		return true, false
	case lhsOK:
		return r.refine(s, e.Lhs, truth)
	case rhsOK:
		return r.refine(s, e.Rhs, truth)
	}
	return false, false
}

func (r *run) refineRelation(s *state, e *ast.RelationalOpExpr, truth bool) (ok, changed bool) {
	for _, side := range []ast.Expr{e.Lhs, e.Rhs} {
		if length, isLen := side.(*ast.UnaryLenOpExpr); isLen {
			s.note("#" + r.pathOf(length.Expr))
		}
	}
	if e.Operator != "==" && e.Operator != "~=" {
		return true, false
	}
	equal := (e.Operator == "==") == truth
	if ok, changed := r.refineEqual(s, e.Lhs, e.Rhs, equal); !ok || changed {
		return ok, changed
	}
	return r.refineEqual(s, e.Rhs, e.Lhs, equal)
}

func (r *run) refineEqual(s *state, e, other ast.Expr, equal bool) (ok, changed bool) {
	switch other := other.(type) {
	case *ast.NilExpr:
		return r.learn(s, e, keep(isNil, equal))
	case *ast.TrueExpr:
		return r.learn(s, e, keep(isTrue, equal))
	case *ast.FalseExpr:
		return r.learn(s, e, keep(isFalse, equal))
	case *ast.StringExpr:
		if name := r.typeOf(e); name != nil {
			return r.learn(s, name, keep(kindsOf[other.Value], equal))
		}
		return r.learn(s, e, func(v value) value { return equalText(v, other.Value, equal) })
	case *ast.NumberExpr:
		return r.refineNumber(s, e, other, equal)
	case *ast.FuncCallExpr:
		if equal && other.Func != nil && exprText(other.Func) == "math.floor" && len(other.Args) == 1 && r.pathOf(other.Args[0]) == r.pathOf(e) {
			return r.learn(s, e, wholeNumber)
		}
	}
	return true, false
}

func (r *run) refineNumber(s *state, e ast.Expr, n *ast.NumberExpr, equal bool) (ok, changed bool) {
	if n.Value == "0" && equal {
		if op, isOp := e.(*ast.ArithmeticOpExpr); isOp && op.Operator == "%" {
			if by, isOne := op.Rhs.(*ast.NumberExpr); isOne && by.Value == "1" {
				return r.learn(s, op.Lhs, wholeNumber)
			}
			if text := r.remainder(e); text != "" {
				s.note(text + "==0")
				return true, true
			}
		}
		if path := r.pathOf(e); path != "" {
			for _, fact := range s.facts {
				if rest, ok := strings.CutPrefix(fact.name, path+"="); ok {
					s.note(rest + "==0")
					return true, true
				}
			}
		}
	}
	if equal {
		return r.learn(s, e, keep(isNumber, true))
	}
	return true, false
}

// typeOf returns x of the expression `type(x)`.
func (r *run) typeOf(e ast.Expr) ast.Expr {
	call, ok := e.(*ast.FuncCallExpr)
	if !ok || call.Func == nil || len(call.Args) != 1 || exprText(call.Func) != "type" {
		return nil
	}
	return call.Args[0]
}

var kindsOf = map[string]kind{
	"nil": isNil, "boolean": isBool, "number": isNumber, "string": isStr, "table": isTable, "function": isFunc,
}

func keep(k kind, yes bool) func(value) value {
	return func(v value) value {
		if yes {
			v.kinds &= k
			v.lenient = v.lenient && v.kinds != 0
			return v
		}
		if k == isNumber {
			return v
		}
		v.kinds &^= k
		return v
	}
}

func wholeNumber(v value) value {
	if v.may(isNumber) {
		v.kinds = v.kinds&^isNumber | isInt
	}
	return v
}

func equalText(v value, s string, equal bool) value {
	if !equal {
		if len(v.enum()) > 0 {
			var rest []string
			for _, e := range v.enum() {
				if e != s {
					rest = append(rest, e)
				}
			}
			v.setEnum(rest)
			if len(rest) == 0 && v.only(isStr) {
				v.kinds = 0
			}
		} else if v.only(isStr) && v.literal != nil && *v.literal == s {
			v.kinds = 0
		}
		return v
	}
	v.kinds &= isStr
	if v.literal != nil && *v.literal != s {
		v.kinds = 0
	}
	if len(v.enum()) > 0 {
		found := false
		for _, e := range v.enum() {
			found = found || e == s
		}
		if !found {
			v.kinds = 0
		}
		v.setEnum([]string{s})
	}
	return v
}
