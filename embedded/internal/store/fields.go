package store

import "math/rand/v2"

// Fields is a hash's content.
type Fields struct {
	t     table[string]
	bytes int64
}

// Len is the number of fields.
func (f *Fields) Len() int { return f.t.len() }

// Get returns a field's value.
func (f *Fields) Get(field string) (value string, ok bool) {
	if c := f.t.get(field); c != nil {
		return c.val, true
	}
	return "", false
}

// Set stores a field and reports whether it is new.
func (f *Fields) Set(field, value string) bool {
	c, created := f.t.put(field)
	if created {
		f.bytes += int64(len(field))
	}
	f.bytes += int64(len(value) - len(c.val))
	c.val = value
	return created
}

// Delete removes a field and reports whether it was there.
func (f *Fields) Delete(field string) bool {
	c := f.t.get(field)
	if c == nil {
		return false
	}
	f.bytes -= int64(len(field) + len(c.val))
	return f.t.delete(field)
}

// Each visits all fields, in the order of insertion while the hash is small.
func (f *Fields) Each(visit func(field, value string)) {
	for _, c := range f.t.order {
		visit(c.key, c.val)
	}
}

// Scan is table.scan over the fields.
func (f *Fields) Scan(cursor uint64, count int, visit func(field, value string)) uint64 {
	return f.t.scanElements(cursor, count, func(c *cell[string]) { visit(c.key, c.val) })
}

// At returns the i-th field.
func (f *Fields) At(i int) (field, value string) {
	c := f.t.order[i]
	return c.key, c.val
}

// Random returns any field of a hash that is not empty.
func (f *Fields) Random() (field, value string) { return f.At(rand.IntN(f.t.len())) }
