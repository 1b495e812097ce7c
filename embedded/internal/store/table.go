package store

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
