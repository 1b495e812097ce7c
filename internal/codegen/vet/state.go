package vet

import (
	"maps"
	"slices"
	"strings"
)

// An object is one table.
type object struct {
	fields  map[string]value // by name
	elem    *value           // join of the elements of its array part; nil if that is empty
	items   []value          // of a constructor: known elements
	open    bool             // fields that are not in the map may have any value
	top     string           // the top-level variable that holds it, so it outlives the call
	atLeast int              // least number of elements
}

// A ttl records what one path has done to a key's expiry.
type ttl struct {
	settled bool
	pending []site // writes that no expiry followed
}

// A state is one path's knowledge. Its holder owns it; clone it to keep a second one.
type state struct {
	env    map[*variable]value
	heap   map[int]*object
	base   map[int]*object // the library's tables, as they were when it was loaded; never written
	ttl    map[string]ttl
	paths  map[string]value // values of `a.b` or `a[i]` narrowed by conditions, by the text of resolved names
	facts  map[string]bool  // `a % b == 0`
	times  int              // reads of the clock
	forgot map[string]bool  // fields that were written in this frame
}

func newState() *state {
	return &state{env: map[*variable]value{}, heap: map[int]*object{}, ttl: map[string]ttl{}, paths: map[string]value{}, facts: map[string]bool{}, forgot: map[string]bool{}}
}

func (s *state) clone() *state {
	return &state{
		env: maps.Clone(s.env), heap: maps.Clone(s.heap), ttl: maps.Clone(s.ttl),
		paths: maps.Clone(s.paths), facts: maps.Clone(s.facts), times: s.times,
		base: s.base, forgot: maps.Clone(s.forgot),
	}
}

// get returns a table for reading, or nil.
func (s *state) get(id int) *object {
	if o, ok := s.heap[id]; ok {
		return o
	}
	return s.base[id]
}

// object returns a table for writing.
func (s *state) object(id int) *object {
	old := s.get(id)
	if old == nil {
		return &object{open: true}
	}
	o := *old
	o.fields = maps.Clone(old.fields)
	if o.fields == nil {
		o.fields = map[string]value{}
	}
	s.heap[id] = &o
	return &o
}

// forget drops the paths and facts with the variable.
func (s *state) forget(v *variable) {
	if len(s.paths) == 0 && len(s.facts) == 0 {
		return
	}
	maps.DeleteFunc(s.paths, func(k string, _ value) bool { return strings.Contains(k, v.mark) })
	maps.DeleteFunc(s.facts, func(k string, _ bool) bool { return strings.Contains(k, v.mark) })
}

// forgetField drops the paths and facts with a field of that name, or, for "", with any element.
func (s *state) forgetField(name string) {
	s.forgot[name] = true
	maps.DeleteFunc(s.paths, func(k string, _ value) bool {
		return name == "" || strings.HasSuffix(k, "."+name) || strings.Contains(k, "."+name+".") || strings.Contains(k, "."+name+"[")
	})
}

// leave drops the locals of a function.
func (s *state) leave(fn *function) {
	for _, v := range fn.vars {
		delete(s.env, v)
		s.forget(v)
	}
	for _, v := range fn.params {
		delete(s.env, v)
	}
}

// merge joins two states.
func merge(a, b *state) *state {
	out := a.clone()
	for v, bv := range b.env {
		if av, ok := a.env[v]; ok {
			out.env[v] = join(av, bv)
		}
	}
	for v := range a.env {
		if _, ok := b.env[v]; !ok {
			delete(out.env, v)
		}
	}
	for id, bo := range b.heap {
		ao := a.get(id)
		if ao == nil {
			out.heap[id] = bo
		} else if ao != bo {
			out.heap[id] = mergeObjects(ao, bo)
		}
	}
	for k, bt := range b.ttl {
		at, ok := a.ttl[k]
		out.ttl[k] = ttl{settled: ok && at.settled && bt.settled, pending: mergeSites(at.pending, bt.pending)}
	}
	for k, at := range a.ttl {
		if _, ok := b.ttl[k]; !ok {
			out.ttl[k] = ttl{pending: at.pending}
		}
	}
	for k, av := range a.paths {
		if bv, ok := b.paths[k]; ok {
			out.paths[k] = join(av, bv)
		} else {
			delete(out.paths, k)
		}
	}
	maps.DeleteFunc(out.facts, func(k string, _ bool) bool { return !b.facts[k] })
	out.times = max(a.times, b.times)
	maps.Copy(out.forgot, b.forgot)
	return out
}

func mergeSites(a, b []site) []site {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func mergeObjects(a, b *object) *object {
	out := &object{fields: map[string]value{}, open: a.open || b.open, top: a.top}
	for k, av := range a.fields {
		if bv, ok := b.fields[k]; ok {
			out.fields[k] = join(av, bv)
		} else if b.open {
			out.fields[k] = av
		} else {
			out.fields[k] = join(av, of(isNil))
		}
	}
	for k, bv := range b.fields {
		if _, ok := a.fields[k]; !ok {
			out.fields[k] = bv
			if !a.open {
				out.fields[k] = join(bv, of(isNil))
			}
		}
	}
	switch {
	case a.elem == nil:
		out.elem = b.elem
	case b.elem == nil:
		out.elem = a.elem
	default:
		e := join(*a.elem, *b.elem)
		out.elem = &e
	}
	if len(a.items) == len(b.items) {
		for i := range a.items {
			out.items = append(out.items, join(a.items[i], b.items[i]))
		}
	}
	return out
}
