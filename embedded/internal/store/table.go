package store

import (
	"cmp"
	"slices"
	"strconv"
)

// A table is a map whose entries can also be walked in steps while it changes.
// Entries keep the order of insertion as long as nothing is deleted from a large table.
type table[V any] struct {
	index map[string]*cell[V]
	order []*cell[V]
	peak  int // most entries since index was made
}

type cell[V any] struct {
	key string
	val V
	pos int
}

// Up to this many entries a deletion keeps the order, and a scan of elements returns everything at once, as Redis does for its compact encodings.
const smallTable = 512

// Go's maps never shrink: below an eighth of its peak, an index of at least this peak is rebuilt.
const shrinkFrom = 4096

func (t *table[V]) get(key string) *cell[V] { return t.index[key] }

func (t *table[V]) len() int { return len(t.order) }

// put returns the entry of key, and whether it was made by this call.
func (t *table[V]) put(key string) (c *cell[V], created bool) {
	if c = t.index[key]; c != nil {
		return c, false
	}
	if t.index == nil {
		t.index = make(map[string]*cell[V])
	}
	c = &cell[V]{key: key, pos: len(t.order)}
	t.index[key] = c
	t.order = append(t.order, c)
	t.peak = max(t.peak, len(t.order))
	return c, true
}

func (t *table[V]) delete(key string) bool {
	c := t.index[key]
	if c == nil {
		return false
	}
	delete(t.index, key)
	last := len(t.order) - 1
	if last < smallTable {
		copy(t.order[c.pos:], t.order[c.pos+1:])
		for i := c.pos; i < last; i++ {
			t.order[i].pos = i
		}
	} else {
		moved := t.order[last]
		t.order[c.pos] = moved
		moved.pos = c.pos
	}
	t.order[last] = nil
	t.order = t.order[:last]
	if t.peak >= shrinkFrom && last < t.peak/8 {
		t.shrink()
	}
	return true
}

func (t *table[V]) shrink() {
	index := make(map[string]*cell[V], len(t.order))
	for _, c := range t.order {
		index[c.key] = c
	}
	t.index = index
	t.order = append(make([]*cell[V], 0, len(t.order)), t.order...)
	t.peak = len(t.order)
}

// scan visits up to count entries from cursor on and returns the next cursor, 0 at the end.
// It walks from the last entry to the first. A deletion moves an entry only towards the front, so an entry that is
// there during a whole walk is never missed, though it may be seen twice.
func (t *table[V]) scan(cursor uint64, count int, visit func(*cell[V])) uint64 {
	n := len(t.order)
	at := n
	if cursor != 0 && cursor < uint64(n) {
		at = int(cursor)
	}
	if at == n && count >= n {
		for _, c := range t.order {
			visit(c)
		}
		return 0
	}
	for ; at > 0 && count > 0; count-- {
		at--
		visit(t.order[at])
	}
	return uint64(at)
}

// scanElements is scan for the elements of one key: a small table is returned whole.
func (t *table[V]) scanElements(cursor uint64, count int, visit func(*cell[V])) uint64 {
	if cursor == 0 && len(t.order) <= smallTable {
		count = smallTable
	}
	return t.scan(cursor, count, visit)
}

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

// Members is a set's content.
type Members struct {
	t     table[struct{}]
	bytes int64
	words bool // a member that is not an integer was added
}

// Len is the number of members.
func (m *Members) Len() int { return m.t.len() }

// Has reports whether member is in the set.
func (m *Members) Has(member string) bool { return m.t.get(member) != nil }

// Add puts member in and reports whether it is new.
func (m *Members) Add(member string) bool {
	_, created := m.t.put(member)
	if created {
		m.bytes += int64(len(member))
		if _, ok := integer(member); !ok {
			m.words = true
		}
	}
	return created
}

// Delete removes member and reports whether it was there.
func (m *Members) Delete(member string) bool {
	if !m.t.delete(member) {
		return false
	}
	m.bytes -= int64(len(member))
	return true
}

// Each visits all members: integers in their own order, others in the order of insertion, while the set is small.
func (m *Members) Each(visit func(member string)) {
	if !m.ordered() {
		for _, c := range m.t.order {
			visit(c.key)
		}
		return
	}
	all := make([]int64, 0, m.t.len())
	for _, c := range m.t.order {
		n, _ := integer(c.key)
		all = append(all, n)
	}
	slices.SortFunc(all, cmp.Compare)
	for _, n := range all {
		visit(strconv.FormatInt(n, 10))
	}
}

// Scan is table.scan over the members.
func (m *Members) Scan(cursor uint64, count int, visit func(member string)) uint64 {
	if m.ordered() {
		m.Each(visit)
		return 0
	}
	return m.t.scanElements(cursor, count, func(c *cell[struct{}]) { visit(c.key) })
}

// At returns the i-th member.
func (m *Members) At(i int) string { return m.t.order[i].key }

// ordered reports whether Redis would keep the set as an intset.
func (m *Members) ordered() bool { return !m.words && m.t.len() <= smallTable }

func integer(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}
