package vet

import "slices"

// sorted maps IDs to values, sorted by ID. Paths have few entries, and copy and merge them often: a slice is cheaper than a map.
type sorted[V comparable] []entry[V]

type entry[V comparable] struct {
	id int
	v  V
}

// find returns where an ID is, or belongs. New IDs are mostly the greatest.
func (s sorted[V]) find(id int) (int, bool) {
	low, high := 0, len(s)
	if high > 0 && s[high-1].id < id {
		return high, false
	}
	for low < high {
		if middle := int(uint(low+high) >> 1); s[middle].id < id {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < len(s) && s[low].id == id
}

func (s sorted[V]) get(id int) (v V, ok bool) {
	if at, ok := s.find(id); ok {
		return s[at].v, true
	}
	return v, false
}

func (s *sorted[V]) set(id int, v V) {
	at, ok := s.find(id)
	if ok {
		(*s)[at].v = v
		return
	}
	*s = slices.Insert(*s, at, entry[V]{id, v})
}

func (s *sorted[V]) delete(id int) {
	if at, ok := s.find(id); ok {
		*s = slices.Delete(*s, at, at+1)
	}
}

// has reports whether it has all entries of the other.
func (s sorted[V]) has(other sorted[V]) bool {
	for _, e := range other {
		for len(s) > 0 && s[0].id < e.id {
			s = s[1:]
		}
		if len(s) == 0 || s[0] != e {
			return false
		}
	}
	return true
}

// with returns a new list of the entries of both. If both have an ID, the other's counts.
func (s sorted[V]) with(other sorted[V]) sorted[V] {
	out := make(sorted[V], 0, len(s)+len(other))
	for len(s) > 0 && len(other) > 0 {
		switch {
		case s[0].id < other[0].id:
			out, s = append(out, s[0]), s[1:]
		case s[0].id > other[0].id:
			out, other = append(out, other[0]), other[1:]
		default:
			out, s, other = append(out, other[0]), s[1:], other[1:]
		}
	}
	return append(append(out, s...), other...)
}

// copied returns a copy with room for more if it is in the set.
func (s sorted[V]) copied(in part) sorted[V] {
	if in == 0 {
		return s
	}
	return append(make(sorted[V], 0, len(s)+4), s...)
}
