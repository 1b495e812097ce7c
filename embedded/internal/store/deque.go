package store

import "slices"

// A Deque is a list's content: a ring, so that both ends and every index are reached at once.
type Deque struct {
	ring  []string // its length is a power of two, or 0
	head  int
	n     int
	bytes int64
}

// Len is the number of elements.
func (q *Deque) Len() int { return q.n }

func (q *Deque) slot(i int) int { return (q.head + i) & (len(q.ring) - 1) }

// At returns the i-th element from the front, 0 <= i < Len.
func (q *Deque) At(i int) string { return q.ring[q.slot(i)] }

// Set replaces the i-th element.
func (q *Deque) Set(i int, value string) {
	s := q.slot(i)
	q.bytes += int64(len(value) - len(q.ring[s]))
	q.ring[s] = value
}

func (q *Deque) resize(size int) {
	ring := make([]string, size)
	for i := range q.n {
		ring[i] = q.At(i)
	}
	q.ring, q.head = ring, 0
}

func (q *Deque) grow() {
	if q.n == len(q.ring) {
		q.resize(max(4, 2*len(q.ring)))
	}
}

// PushBack appends at the tail.
func (q *Deque) PushBack(value string) {
	q.grow()
	q.ring[q.slot(q.n)] = value
	q.n++
	q.bytes += int64(len(value))
}

// PushFront puts value before the head.
func (q *Deque) PushFront(value string) {
	q.grow()
	q.head = (q.head - 1) & (len(q.ring) - 1)
	q.ring[q.head] = value
	q.n++
	q.bytes += int64(len(value))
}

// PopFront removes the head of a list that is not empty.
func (q *Deque) PopFront() string {
	value := q.ring[q.head]
	q.ring[q.head] = ""
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.removed(value)
	return value
}

// PopBack removes the tail of a list that is not empty.
func (q *Deque) PopBack() string {
	s := q.slot(q.n - 1)
	value := q.ring[s]
	q.ring[s] = ""
	q.removed(value)
	return value
}

func (q *Deque) removed(value string) {
	q.n--
	q.bytes -= int64(len(value))
	if len(q.ring) > 16 && q.n < len(q.ring)/4 {
		q.resize(len(q.ring) / 2)
	}
}

// Insert puts value before the i-th element.
func (q *Deque) Insert(i int, value string) {
	all := slices.Insert(q.all(), i, value)
	q.reset(all)
}

// Remove takes away up to limit elements equal to value (0: all of them), from the tail if fromTail is set.
// It returns how many.
func (q *Deque) Remove(value string, limit int, fromTail bool) int {
	all := q.all()
	if fromTail {
		slices.Reverse(all)
	}
	removed := 0
	all = slices.DeleteFunc(all, func(s string) bool {
		if s == value && (limit == 0 || removed < limit) {
			removed++
			return true
		}
		return false
	})
	if fromTail {
		slices.Reverse(all)
	}
	if removed > 0 {
		q.reset(all)
	}
	return removed
}

func (q *Deque) all() []string {
	all := make([]string, 0, q.n+1)
	for i := range q.n {
		all = append(all, q.At(i))
	}
	return all
}

func (q *Deque) reset(all []string) {
	*q = Deque{}
	for _, s := range all {
		q.PushBack(s)
	}
}
