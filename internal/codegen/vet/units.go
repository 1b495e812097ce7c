package vet

import (
	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// A unit is what a number of time counts; 0 is unknown.
type unit uint8

const (
	spanMicros unit = 1 + iota
	spanMillis
	spanSeconds
	timeMicros // since 1970
	timeMillis
	timeSeconds
)

func (u unit) String() string {
	return [...]string{
		"of unknown unit", "a span in microseconds", "a span in milliseconds", "a span in seconds",
		"a time in microseconds", "a time in milliseconds", "a time in seconds",
	}[u]
}

func (u unit) isTime() bool { return u >= timeMicros }

// span returns the unit of the difference of two times.
func (u unit) span() unit { return u - timeMicros + spanMicros }

// divided returns the unit of a number divided by a constant: by 1000 and 1000000 it is a conversion, by less than 1000 a part of it.
func (u unit) divided(by float64) unit { return u.converted(by, 1) }

// multiplied returns the unit of a number times a constant.
func (u unit) multiplied(by float64) unit { return u.converted(by, -1) }

// converted returns the unit that is as many steps of 1000 larger as a constant says, or smaller.
func (u unit) converted(by float64, direction int) unit {
	first := spanMicros
	if u.isTime() {
		first = timeMicros
	}
	steps := 0
	switch by {
	case 1000:
		steps = direction
	case 1000000:
		steps = 2 * direction
	}
	to := int(u) + steps
	if u == 0 || steps == 0 && by >= 1000 || to < int(first) || to > int(first)+2 {
		return 0
	}
	return unit(to)
}

// calculated returns the unit of an operation's result.
func calculatedUnit(operator string, a, b value) unit {
	x, constantA := a.number()
	y, constantB := b.number()
	switch operator {
	case "+", "-":
		switch {
		case b.unit == 0 && (constantB || b.digits):
			return a.unit
		case a.unit == 0 && constantA && operator == "+":
			return b.unit
		case a.unit == b.unit && a.unit.isTime() && operator == "-":
			return a.unit.span()
		case a.unit == b.unit && !a.unit.isTime():
			return a.unit
		case a.unit.isTime() && a.unit.span() == b.unit:
			return a.unit
		case b.unit.isTime() && b.unit.span() == a.unit && operator == "+":
			return b.unit
		}
	case "*":
		switch {
		case constantB:
			return a.unit.multiplied(y)
		case constantA:
			return b.unit.multiplied(x)
		}
	case "/":
		if constantB {
			return a.unit.divided(y)
		}
	}
	return 0
}

// sameUnit returns the unit of all values that are not constants.
func sameUnit(list []value) (u unit) {
	for i, v := range list {
		if _, constant := v.number(); constant {
			continue
		}
		if v.unit == 0 || u != 0 && v.unit != u {
			return 0
		}
		u = list[i].unit
	}
	return u
}

// inUnit reports an argument of a command in another unit than the command takes.
func (r *run) inUnit(e ast.Expr, v value, command string, want unit) {
	if v.lenient || v.unit == 0 || v.unit == want {
		return
	}
	node, at := r.origin(e)
	r.report(at, RuleBadTTL, "%s is %s, and %s takes %s", exprText(node), v.unit, command, want)
}

// resultUnit reports a result in another unit than its type has.
func (r *run) resultUnit(node ast.PositionHolder, f spec.Field, name string, v value) {
	want := map[spec.Kind]unit{spec.KindDuration: spanMicros, spec.KindTime: timeMicros}[f.Kind]
	if want == 0 || v.unit == 0 || v.unit == want {
		return
	}
	r.report(r.at(node), RuleResultType, "result %s is of type %s, %s, and this is %s: convert it", name, f.Kind, want, v.unit)
}
