package vet

// fields are the named fields of a table. Their values never change.
type fields = byName[*value]

// with returns fields of one name.
func with(name string, v value) fields { return fields{{name, &v}} }

// field returns the field of that name.
func (o *object) field(name string) (v value, ok bool) {
	if at, ok := o.fields.find(name); ok {
		return *o.fields[at].v, true
	}
	return v, false
}

func (o *object) setField(name string, v value) { o.fields = o.fields.with(name, &v) }

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
			out, x = append(out, unless(b.open, x[0])), x[1:]
		case len(x) == 0 || y[0].name < x[0].name:
			out, y = append(out, unless(a.open, y[0])), y[1:]
		default:
			out, x, y = append(out, named[*value]{x[0].name, joined(x[0].v, y[0].v)}), x[1:], y[1:]
		}
	}
	return out
}

// unless returns a field as it is where the other table is open, and else as one that may be nil.
func unless(open bool, f named[*value]) named[*value] {
	if !open && !f.v.may(isNil) {
		v := join(*f.v, of(isNil))
		f.v = &v
	}
	return f
}
