package vet

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// scale returns the unit of a span in which a value counts time, by what it is calculated from, or by the name of its variable; 0 is unknown.
func (r *run) scale(e ast.Expr, v value) unit {
	if v.lenient || !v.may(isNumber) {
		return 0
	}
	switch {
	case v.unit.isTime():
		return v.unit.span()
	case v.unit != 0:
		return v.unit
	}
	id, ok := e.(*ast.IdentExpr)
	switch {
	case !ok:
	case strings.HasSuffix(id.Value, "_us"):
		return spanMicros
	case strings.HasSuffix(id.Value, "_ms"):
		return spanMillis
	}
	return 0
}

var scaleName = map[unit]string{spanMicros: "microseconds", spanMillis: "milliseconds", spanSeconds: "seconds"}

// inOneScale reports two numbers of different units that are compared.
func (r *run) inOneScale(at, x, y ast.Expr, a, b value) {
	if a.literal != nil || b.literal != nil {
		return
	}
	first, second := r.scale(x, a), r.scale(y, b)
	if first == 0 || second == 0 || first == second || !r.reportOnce(r.at(at), RuleMixedComparison) {
		return
	}
	r.report(r.at(at), RuleMixedComparison, "%s is in %s and %s in %s: convert one of them before", exprText(x), scaleName[first], exprText(y), scaleName[second])
}
