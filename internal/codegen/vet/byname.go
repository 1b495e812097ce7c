package vet

import (
	"slices"
	"strings"
)

// A byName maps names to values, sorted by name. It never changes, so paths share it: with and without return another one.
type byName[V any] []named[V]

type named[V any] struct {
	name string
	v    V
}

// find returns where a name is, or belongs. With slices.BinarySearchFunc vet takes 5 % longer.
func (l byName[V]) find(name string) (int, bool) {
	low, high := 0, len(l)
	for low < high {
		switch middle := int(uint(low+high) >> 1); strings.Compare(l[middle].name, name) {
		case 0:
			return middle, true
		case -1:
			low = middle + 1
		default:
			high = middle
		}
	}
	return low, false
}

func (l byName[V]) get(name string) (v V, ok bool) {
	if at, ok := l.find(name); ok {
		return l[at].v, true
	}
	return v, false
}

// at returns the value of a name, or the zero value.
func (l byName[V]) at(name string) V {
	v, _ := l.get(name)
	return v
}

func (l byName[V]) has(name string) bool {
	_, ok := l.find(name)
	return ok
}

// with returns the list with one more name, or with another value.
func (l byName[V]) with(name string, v V) byName[V] {
	at, ok := l.find(name)
	out := make(byName[V], 0, len(l)+1)
	out = append(append(out, l[:at]...), named[V]{name, v})
	if ok {
		at++
	}
	return append(out, l[at:]...)
}

// without returns the list without some names: the same list if it has none of them.
func (l byName[V]) without(some func(name string) bool) byName[V] {
	for i := range l {
		if !some(l[i].name) {
			continue
		}
		out := append(make(byName[V], 0, len(l)-1), l[:i]...)
		for _, e := range l[i+1:] {
			if !some(e.name) {
				out = append(out, e)
			}
		}
		return out
	}
	return l
}

// plus returns the list with the names of another that it lacks: the same list if it lacks none.
func (l byName[V]) plus(other byName[V]) byName[V] {
	if !slices.ContainsFunc(other, func(e named[V]) bool { return !l.has(e.name) }) {
		return l
	}
	out := make(byName[V], 0, len(l)+len(other))
	for len(l) > 0 || len(other) > 0 {
		switch {
		case len(other) == 0 || len(l) > 0 && l[0].name < other[0].name:
			out, l = append(out, l[0]), l[1:]
		case len(l) == 0 || other[0].name < l[0].name:
			out, other = append(out, other[0]), other[1:]
		default:
			out, l, other = append(out, l[0]), l[1:], other[1:]
		}
	}
	return out
}

// A names is a set of names.
type names = byName[struct{}]
