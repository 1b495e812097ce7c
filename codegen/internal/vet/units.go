package vet

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// unitOf returns the unit that a name says.
func unitOf(name string) string {
	for _, u := range [][2]string{{"_us", "us"}, {"_ms", "ms"}, {"_sec", "s"}, {"_secs", "s"}, {"_seconds", "s"}, {"_s", "s"}} {
		if strings.HasSuffix(name, u[0]) {
			return u[1]
		}
	}
	return ""
}

var unitNames = map[string]string{"us": "microseconds", "ms": "milliseconds", "s": "seconds"}

// named gives the value of a variable the unit of its name.
func (w *pass) named(v *variable, val *value) {
	if u := unitOf(v.name); u != "" && val.kinds&isNumber != 0 {
		val.unit = u
	}
}

// units reports a value that gets a name with another unit.
func (w *pass) units(e ast.Expr, name string, v value) {
	if u := unitOf(name); u != "" && v.unit != "" && u != v.unit && v.may(isNumber) {
		w.report(e, RuleMixedComparison, "%s is in %s, and %s says %s: convert it, or correct the name", exprText(e), unitNames[v.unit], name, unitNames[u])
	}
}

// sameUnit reports two sides of different units.
func (w *pass) sameUnit(e, lhs, rhs ast.Expr, a, b value) {
	if a.unit != "" && b.unit != "" && a.unit != b.unit && a.may(isNumber) && b.may(isNumber) {
		w.report(e, RuleMixedComparison, "%s is in %s and %s in %s: convert one of them", exprText(lhs), unitNames[a.unit], exprText(rhs), unitNames[b.unit])
	}
}

// scaled returns the unit of a value times a number, or divided by it.
func scaled(v, by value, divided bool) string {
	text, fixed := by.literal()
	n, ok := number(text)
	if !fixed || !ok || v.unit == "" {
		return ""
	}
	if divided {
		n = 1 / n
	}
	steps := map[float64]int{1000: -1, 1e6: -2, 1.0 / 1000: 1, 1.0 / 1e6: 2}
	order := []string{"us", "ms", "s"}
	step, scales := steps[n]
	if !scales {
		if n <= 60 && n >= 1.0/60 {
			return v.unit
		}
		return ""
	}
	for i, u := range order {
		if u == v.unit && i+step >= 0 && i+step < len(order) {
			return order[i+step]
		}
	}
	return ""
}
