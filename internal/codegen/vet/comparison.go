package vet

import "github.com/yuin/gopher-lua/ast"

// mixed reports <, <=, > or >= of a string and a number, which Lua does not convert as it does for arithmetic.
func (r *run) mixed(e *ast.RelationalOpExpr, a, b value) {
	numeric := func(v value) bool {
		return v.only(isStr|isFalsy) && v.literal == nil && (v.digits || v.taint&stored != 0)
	}
	if numeric(a) && numeric(b) && r.reportOnce(r.at(e), RuleMixedComparison) {
		r.report(r.at(e), RuleMixedComparison, "%s and %s are compared as texts, in which 10 is less than 9: use tonumber on both sides", exprText(e.Lhs), exprText(e.Rhs))
		return
	}
	for _, side := range []struct {
		text, number value
		e            ast.Expr
	}{{a, b, e.Lhs}, {b, a, e.Rhs}} {
		if !side.text.may(isStr) || !side.number.may(isNumber) || side.text.open() || side.number.open() || !r.reportOnce(r.at(e), RuleMixedComparison) {
			continue
		}
		r.report(r.at(e), RuleMixedComparison, "%s may be a string where the other side is a number, and comparing them raises an error: write tonumber(%s) and a default for nil", exprText(side.e), exprText(side.e))
	}
}

// open reports whether a value may be of any type, or of any but a few.
func (v value) open() bool { return v.vague() || v.may(isFunc) }

// An equated comparison is one with == or ~=, with the possible types of its sides over all paths.
type equated struct {
	site
	kinds [2]kind
	open  bool
}

func (r *run) noteEquated(e *ast.RelationalOpExpr, a, b value) {
	if r.here() != r.file || r.loading {
		return // a lib file's comparison may be for another function's values
	}
	seen := r.equated[e]
	if a.assumed || b.assumed {
		seen.open = true
	}
	r.equated[e] = equated{r.at(e), [2]kind{seen.kinds[0] | a.kinds, seen.kinds[1] | b.kinds}, seen.open || a.open() || b.open()}
}

// judgeEquated reports comparisons that have the same outcome on every path because of their sides' types.
func (r *run) judgeEquated() {
	for e, seen := range r.equated {
		lhs, rhs := seen.kinds[0], seen.kinds[1]
		if seen.open || overlap(lhs)&overlap(rhs) != 0 || lhs&^isFalsy == 0 || rhs&^isFalsy == 0 {
			continue
		}
		hint := "compare values of one type"
		switch {
		case (lhs|rhs)&isNumber != 0 && (lhs|rhs)&isStr != 0:
			hint = "a stored number is text, so use tonumber"
		case (lhs|rhs)&isTable != 0:
			hint = "a status reply is a table, with the text in its field ok"
		case (lhs|rhs)&isBool != 0 && (lhs|rhs)&isNumber != 0:
			hint = "test the bool itself"
		}
		r.report(seen.site, RuleMixedComparison, "%s is %s and %s is %s, which are never equal: %s",
			exprText(e.Lhs), value{kinds: lhs}.describe(), exprText(e.Rhs), value{kinds: rhs}.describe(), hint)
	}
}
