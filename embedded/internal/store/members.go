package store

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
)

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

// Random returns any member of a set that is not empty.
func (m *Members) Random() string { return m.At(rand.IntN(m.t.len())) }

// ordered reports whether Redis would keep the set as an intset.
func (m *Members) ordered() bool { return !m.words && m.t.len() <= smallTable }

func integer(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}
