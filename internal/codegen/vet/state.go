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
	proven  bool   // a condition has proved that the key has an expiry
	pending []site // writes that no expiry followed
	epoch   int    // times that this call may have dropped the expiry; a proof holds within one
	size    int    // elements, if the first write made the key; 0 is unknown
}

// A state is one path's knowledge. Its holder owns it; clone it to keep a second one. A clone shares the maps until one of the two
// changes them, so all changes begin with own.
type state struct {
	owned  part
	env    map[*variable]*value // the values never change, so clones stay small
	heap   map[int]*object
	base   map[int]*object // the library's tables, as they were when it was loaded; never written
	ttl    map[string]ttl
	paths  map[string]value // values of `a.b` or `a[i]` narrowed by conditions, by the text of resolved names
	facts  map[string]bool  // `a % b == 0`
	times  int              // reads of the clock
	forgot map[string]bool  // fields that were written in this frame
	first  *site            // a write that a refusal must not follow
}

// A part is a set of a state's maps.
type part uint8

const (
	env part = 1 << iota
	heap
	ttls
	paths
	facts
	forgot

	allParts = env | heap | ttls | paths | facts | forgot
)

func newState() *state {
	return &state{owned: allParts, env: map[*variable]*value{}, heap: map[int]*object{}, ttl: map[string]ttl{}, paths: map[string]value{}, facts: map[string]bool{}, forgot: map[string]bool{}}
}

func (s *state) clone() *state {
	s.owned = 0
	c := *s
	return &c
}

// own makes maps the state's own, before a change.
func (s *state) own(p part) *state {
	p &^= s.owned
	if p == 0 {
		return s
	}
	s.owned |= p
	s.env = copied(p&env, s.env)
	s.heap = copied(p&heap, s.heap)
	s.ttl = copied(p&ttls, s.ttl)
	s.paths = copied(p&paths, s.paths)
	s.facts = copied(p&facts, s.facts)
	s.forgot = copied(p&forgot, s.forgot)
	return s
}

// copied returns a copy of a map if it is in the set.
func copied[K comparable, V any](in part, m map[K]V) map[K]V {
	if in == 0 {
		return m
	}
	return maps.Clone(m)
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
	s.own(heap).heap[id] = &o
	return &o
}

// note adds a fact.
func (s *state) note(fact string) {
	if !s.facts[fact] {
		s.own(facts).facts[fact] = true
	}
}

// forget drops the paths and facts with the variable.
func (s *state) forget(v *variable) {
	for k := range s.paths {
		if strings.Contains(k, v.mark) {
			delete(s.own(paths).paths, k)
		}
	}
	for k := range s.facts {
		if strings.Contains(k, v.mark) {
			delete(s.own(facts).facts, k)
		}
	}
}

// forgetField drops the paths and facts with a field of that name, or, for "", with any element.
func (s *state) forgetField(name string) {
	if !s.forgot[name] {
		s.own(forgot).forgot[name] = true
	}
	for k := range s.paths {
		if name == "" || strings.HasSuffix(k, "."+name) || strings.Contains(k, "."+name+".") || strings.Contains(k, "."+name+"[") {
			delete(s.own(paths).paths, k)
		}
	}
}

// drop drops a variable.
func (s *state) drop(v *variable) {
	if _, ok := s.env[v]; ok {
		delete(s.own(env).env, v)
	}
}

// leave drops the locals of a function.
func (s *state) leave(fn *function) {
	for _, v := range fn.vars {
		s.drop(v)
		s.forget(v)
	}
	for _, v := range fn.params {
		s.drop(v)
	}
}

// merge joins two states.
func merge(a, b *state) *state {
	out := a.clone().own(allParts)
	for v, bv := range b.env {
		if av, ok := a.env[v]; ok && av != bv {
			both := join(*av, *bv)
			out.env[v] = &both
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
	for id, ao := range a.heap {
		if _, ok := b.heap[id]; !ok && b.base[id] != nil && b.base[id] != ao { // b left the library's table as it was
			out.heap[id] = mergeObjects(ao, b.base[id])
		}
	}
	for k, bt := range b.ttl {
		at, ok := a.ttl[k]
		t := ttl{settled: ok && at.settled && bt.settled, proven: ok && (at.settled || at.proven) && (bt.settled || bt.proven), pending: mergeSites(at.pending, bt.pending), epoch: max(at.epoch, bt.epoch)}
		if at.size == bt.size {
			t.size = at.size
		}
		out.ttl[k] = t
	}
	for k, at := range a.ttl {
		if _, ok := b.ttl[k]; !ok {
			out.ttl[k] = ttl{pending: at.pending, epoch: at.epoch}
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
	if b.first == nil {
		out.first = nil
	}
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
	out := &object{fields: make(map[string]value, len(a.fields)), open: a.open || b.open, top: a.top}
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
