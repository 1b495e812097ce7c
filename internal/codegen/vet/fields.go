package vet

import (
	"slices"
	"strings"
)

// A field is a named field of a table. Its value never changes.
type field struct {
	name string
	v    *value
}

// Fields are sorted by name. They never change: set returns other fields.
type fields []field

func (f fields) find(name string) (int, bool) {
	return slices.BinarySearchFunc(f, name, func(f field, name string) int { return strings.Compare(f.name, name) })
}

// get returns the field of that name.
func (f fields) get(name string) (v value, ok bool) {
	if at, ok := f.find(name); ok {
		return *f[at].v, true
	}
	return value{}, false
}

// set returns the fields with one more, or with another value.
func (f fields) set(name string, v value) fields {
	at, ok := f.find(name)
	out := make(fields, 0, len(f)+1)
	out = append(append(out, f[:at]...), field{name, &v})
	if ok {
		at++
	}
	return append(out, f[at:]...)
}

// with returns fields of one name.
func with(name string, v value) fields { return fields{{name, &v}} }

// mergeFields joins the fields of two tables. A field that one of them lacks may be nil, unless the table may have any field.
func mergeFields(a, b *object) fields {
	x, y := a.fields, b.fields
	if sameSlice(x, y) {
		return x
	}
	same := 0
	for same < len(x) && same < len(y) && x[same].name == y[same].name && joined(x[same].v, y[same].v) == x[same].v {
		same++
	}
	if same == len(x) && same == len(y) {
		return x
	}
	out := append(make(fields, 0, max(len(x), len(y))), x[:same]...)
	x, y = x[same:], y[same:]
	for len(x) > 0 || len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].name < y[0].name:
			out, x = append(out, x[0].unless(b.open)), x[1:]
		case len(x) == 0 || y[0].name < x[0].name:
			out, y = append(out, y[0].unless(a.open)), y[1:]
		default:
			f := x[0]
			f.v = joined(f.v, y[0].v)
			out, x, y = append(out, f), x[1:], y[1:]
		}
	}
	return out
}

// unless returns the field as it is where the other table is open, and else as one that may be nil.
func (f field) unless(open bool) field {
	if open || f.v.may(isNil) {
		return f
	}
	v := join(*f.v, of(isNil))
	return field{f.name, &v}
}
