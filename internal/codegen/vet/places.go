package vet

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// texts returns the strings that a value may be, if they are known.
func (v *value) texts() []string {
	switch {
	case v.lenient || !v.only(isStr):
		return nil
	case v.literal != nil:
		return []string{*v.literal}
	}
	return v.enum()
}

// The names of a table's fields under true and false, as no string is.
const (
	trueField  = "\xfftrue"
	falseField = "\xfffalse"
)

// fieldNames returns the names of the fields that a key may lead to, if they are known.
func (v *value) fieldNames() []string {
	switch {
	case v.lenient || !v.only(isBool):
		return v.texts()
	case v.only(isTrue):
		return []string{trueField}
	case v.only(isFalse):
		return []string{falseField}
	}
	return []string{falseField, trueField}
}

func isLiteral(e ast.Expr) bool {
	_, ok := e.(*ast.StringExpr)
	return ok
}

// named returns what a table holds under one of several names: nil under a name that it lacks.
func (o *object) named(names []string) value {
	out := value{}
	var texts []string
	for _, name := range names {
		v, ok := o.field(name)
		if !ok {
			v = of(isNil)
		}
		if v.literal != nil && v.only(isStr) {
			texts = append(texts, *v.literal)
		}
		out = join(out, v)
	}
	if len(texts) == len(names) && out.literal == nil {
		out.setEnum(texts)
	}
	return out
}

// within reports whether a number is surely the place of an element that the constructor gave.
func (o *object) within(place value) bool {
	in := place.in
	return !place.lenient && place.only(isInt) && in.known && in.low >= 1 && in.high <= float64(len(o.items))
}

// between returns the elements at a range of places.
func (o *object) between(in interval) value {
	out := value{}
	for _, item := range o.items[int(in.low)-1 : int(in.high)] {
		out = join(out, item)
	}
	return out
}

// replaceOne writes a value to one of the elements at a range of places.
func (o *object) replaceOne(in interval, val value) {
	o.items = slices.Clone(o.items)
	for i := int(in.low) - 1; i < int(in.high); i++ {
		o.items[i] = join(o.items[i], val)
	}
	if val.may(isNil) && !val.vague() {
		o.holed = true
		o.size = tally{least: min(o.size.least, int32(in.low)-1)}
	}
}

// isEmpty reports whether a table surely holds nothing.
func (o *object) isEmpty() bool {
	return o.elem == nil && !o.open && len(o.items) == 0 && len(o.fields) == 0 && o.size == sized(0)
}
