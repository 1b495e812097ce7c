package vet

import (
	"slices"
	"strings"
)

// An object is one table.
type object struct {
	fields   fields
	elem     *value    // join of the elements of its array part; nil if that is empty
	items    []value   // of a constructor: known elements
	open     bool      // fields that are not in the map may have any value
	top      string    // the top-level variable that holds it, so it outlives the call
	size     tally     // number of elements
	holed    bool      // an element before its last may be nil
	scores   bool      // a reply of which every second element is a score
	failure  bool      // the error of a command that redis.pcall has run
	filled   int       // elements that literal places have set; -1 is unknown
	held     int32     // elements that its writes may give, as far as loops say; 0 is unknown
	around   float32   // turns of the fors around its constructor
	filling  *filling  // nil if no for fills it in part
	sequence *sequence // nil if its order is unknown, or if its items say it
	sight    *sight    // what a view of it sees; nil until one does
	shape    print     // its print at depth 0; 0 until it is known
	endless  truth     // no number in it has a possible end, and it holds no other table
}

// A ttl records what one path has done to a key's expiry.
type ttl struct {
	settled bool
	proven  bool   // a condition has proved that the key has an expiry
	pending []site // writes that no expiry followed
	epoch   int    // times that this call may have dropped the expiry; a proof holds within one
	below   bool   // a comparison has found that it ends before something else
	few     bool   // a comparison has found that it holds few elements
	group   bool   // of a stream: this call has made its consumer group
	size    int    // elements, if the first write made the key; 0 is unknown
	most    int32  // elements that a trim has left at most; 0 is any number, and -1 is unknown
}

func (t ttl) equals(other ttl) bool {
	return slices.Equal(t.pending, other.pending) && t.settled == other.settled && t.proven == other.proven && t.epoch == other.epoch &&
		t.below == other.below && t.few == other.few && t.group == other.group && t.size == other.size && t.most == other.most
}

// A state is one path's knowledge. Its holder owns it; clone it to keep a second one. A clone shares the variables and
// tables until one of the two changes them, so all changes of these begin with own. The lists by name never change.
type state struct {
	owned  part
	apart  bool             // its writes keep it apart from other paths
	raised bool             // error or assert has ended it
	times  int32            // reads of the clock
	env    sorted[*value]   // by the variable's ID; the values never change, so clones stay small
	heap   sorted[*object]  // tables
	base   *sorted[*object] // the library's tables, as they were when it was loaded; never written
	ttl    byName[ttl]
	paths  byName[*value] // values of `a.b` or `a[i]` narrowed by conditions, by the text of resolved names
	facts  names          // `a % b == 0`
	forgot names          // fields that were written in this frame
	writes
}

// writes are what a path has written that a refusal must not follow.
type writes struct {
	first *site // the first write
	stays bool  // one that a result must not refuse
	over  bool  // a count that has what the call has added is above a limit

	charged *charge  // nil if it has added nothing
	removed *removal // nil if it has removed nothing that may be live
	aged    bool     // a comparison has perhaps found that something has expired
}

// A part is a set of a state's lists that may change.
type part uint8

const (
	env part = 1 << iota
	heap
)

func newState() *state { return &state{owned: env | heap, base: &sorted[*object]{}} }

// loaded makes the tables those of the library.
func (s *state) loaded() {
	base := s.heap
	s.base, s.heap = &base, nil
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
	s.env = s.env.copied(p & env)
	s.heap = s.heap.copied(p & heap)
	return s
}

// get returns a table for reading, or nil.
func (s *state) get(id int) *object {
	if o, ok := s.heap.get(id); ok {
		return o
	}
	o, _ := s.base.get(id)
	return o
}

// object returns a table for writing.
func (s *state) object(id int) *object {
	old := s.get(id)
	if old == nil {
		return &object{open: true}
	}
	o := *old
	o.sight, o.shape, o.sequence, o.endless = nil, 0, nil, 0
	s.own(heap).heap.set(id, &o)
	return &o
}

// note adds a fact.
func (s *state) note(fact string) {
	s.facts = s.facts.plus(names{{name: fact}})
}

// forget drops the paths and facts with the variable.
func (s *state) forget(v *variable) {
	about := func(text string) bool { return strings.Contains(text, v.mark) }
	s.paths, s.facts = s.paths.without(about), s.facts.without(about)
}

// forgetField drops the paths and facts with a field of that name, or, for "", with any element. A write to a table of the code's own changes
// no decoded one.
func (s *state) forgetField(name string, own bool) {
	s.forgot = s.forgot.plus(names{{name: name}})
	s.paths = s.paths.without(func(path string) bool {
		if own && s.paths.at(path).json == decodedField {
			return false
		}
		return name == "" || strings.HasSuffix(path, "."+name) || strings.Contains(path, "."+name+".") || strings.Contains(path, "."+name+"[")
	})
}

// drop drops a variable.
func (s *state) drop(v *variable) {
	if _, ok := s.env.get(v.id); ok {
		s.own(env).env.delete(v.id)
	}
}

// leave drops the locals of a function, except those that a closure keeps.
func (s *state) leave(fn *function, kept []*variable) {
	for _, v := range fn.vars {
		if !slices.Contains(kept, v) {
			s.drop(v)
			s.forget(v)
		}
	}
	for _, v := range fn.params {
		if !slices.Contains(kept, v) {
			s.drop(v)
		}
	}
}

// merge joins two states, into the first if it may be changed.
func merge(a, b *state, reuse bool) *state {
	out := a
	if !reuse {
		out = a.clone()
	}
	if !sameSlice(a.env, b.env) {
		mergeLocals(out, a.env, b.env)
	}
	if !sameSlice(a.heap, b.heap) {
		mergeHeaps(out, a, b)
	}
	if !sameSlice(a.ttl, b.ttl) {
		out.ttl = mergeExpiries(a.ttl, b.ttl)
	}
	if !sameSlice(a.paths, b.paths) {
		out.paths = mergePaths(a.paths, b.paths)
	}
	if !sameSlice(a.facts, b.facts) {
		out.facts = a.facts.without(func(fact string) bool { return !b.facts.has(fact) })
	}
	out.times = max(a.times, b.times)
	if !sameSlice(a.forgot, b.forgot) {
		out.forgot = a.forgot.plus(b.forgot)
	}
	out.writes = a.writes.and(b.writes)
	out.raised = a.raised || b.raised
	return out
}

// sameSlice reports whether two slices are one, and not only equal.
func sameSlice[V any](a, b []V) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// mergeLocals keeps the variables that both paths have.
func mergeLocals(out *state, a, b sorted[*value]) {
	merged := make(sorted[*value], 0, len(a))
	changed := false
	for _, e := range a {
		for len(b) > 0 && b[0].id < e.id {
			b = b[1:]
		}
		if len(b) == 0 || b[0].id > e.id {
			changed = true
			continue
		}
		both := joined(e.v, b[0].v)
		changed = changed || both != e.v
		merged = append(merged, entry[*value]{e.id, both})
	}
	if changed {
		out.env = merged
		out.owned |= env
	}
}

// mergeHeaps keeps the tables that one of the paths has. A path without one of the library's tables left it as it was.
func mergeHeaps(out, a, b *state) {
	x, y := a.heap, b.heap
	changed := false
	merged := make(sorted[*object], 0, max(len(x), len(y))+4)
	for len(x) > 0 || len(y) > 0 {
		var ao, bo *object
		var id int
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].id < y[0].id:
			id, ao = x[0].id, x[0].v
			bo, _ = b.base.get(id)
			x = x[1:]
		case len(x) == 0 || y[0].id < x[0].id:
			id, bo = y[0].id, y[0].v
			ao, _ = a.base.get(id)
			y = y[1:]
		default:
			id, ao, bo = x[0].id, x[0].v, y[0].v
			x, y = x[1:], y[1:]
		}
		switch {
		case ao == nil:
			ao, changed = bo, true
		case bo != nil && bo != ao:
			both := mergeObjects(ao, bo)
			ao, changed = both, changed || both != ao
		}
		merged = append(merged, entry[*object]{id, ao})
	}
	if changed {
		out.heap = merged
		out.owned |= heap
	}
}

// mergePaths keeps the narrowed values that both paths have.
func mergePaths(a, b byName[*value]) byName[*value] {
	out := a.without(func(path string) bool { return !b.has(path) })
	for _, p := range out {
		if both := joined(p.v, b.at(p.name)); both != p.v {
			out = out.with(p.name, both)
		}
	}
	return out
}

func mergeExpiries(a, b byName[ttl]) byName[ttl] {
	var out byName[ttl]
	for _, e := range b {
		bt := e.v
		at, ok := a.get(e.name)
		t := ttl{settled: ok && at.settled && bt.settled, proven: ok && (at.settled || at.proven) && (bt.settled || bt.proven), pending: mergeSites(at.pending, bt.pending), group: ok && at.group && bt.group, epoch: max(at.epoch, bt.epoch)}
		t.below, t.few = ok && at.below && bt.below, ok && at.few && bt.few
		t.most = eitherMost(at.most, bt.most)
		if at.size == bt.size {
			t.size = at.size
		}
		out = append(out, named[ttl]{e.name, t})
	}
	for _, e := range a {
		if !b.has(e.name) {
			out = out.with(e.name, ttl{pending: e.v.pending, epoch: e.v.epoch, most: eitherMost(e.v.most, 0)})
		}
	}
	return out
}

func mergeSites(a, b []site) []site {
	if len(b) == 0 || slices.Equal(a, b) {
		return a
	}
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// mergeObjects returns a table that may be a or b, and a itself where that says all.
func mergeObjects(a, b *object) *object {
	out := object{fields: mergeFields(a, b), open: a.open || b.open, top: a.top, holed: a.holed || b.holed, failure: a.failure || b.failure, filled: -1, size: a.size.or(b.size), held: max(a.held, b.held), around: a.around, filling: a.filling.or(b.filling), sequence: mergeSequences(a, b)}
	if a.filled == b.filled {
		out.filled = a.filled
	}
	switch {
	case a.elem == nil:
		out.elem = b.elem
	case b.elem == nil:
		out.elem = a.elem
	case a.elem == b.elem:
		out.elem = a.elem
	default:
		out.elem = joined(a.elem, b.elem)
	}
	switch {
	case len(a.items) != len(b.items):
		if len(a.items) > 0 && a.elem == nil || len(b.items) > 0 && b.elem == nil {
			if elem := join(a.joined(), b.joined()); elem.kinds&^isNil != 0 {
				elem.kinds &^= isNil
				out.elem = &elem
			}
		}
	case sameSlice(a.items, b.items):
		out.items = a.items
	default:
		for i := range a.items {
			out.items = append(out.items, join(a.items[i], b.items[i]))
		}
	}
	if out.equals(a) {
		return a
	}
	merged := out
	return &merged
}

// equals reports whether two tables share what they hold, and not only equal values.
func (o *object) equals(other *object) bool {
	return o.elem == other.elem && o.open == other.open && o.top == other.top && o.size == other.size && o.holed == other.holed &&
		o.scores == other.scores && o.failure == other.failure && o.filled == other.filled && o.held == other.held && o.filling.equals(other.filling) && o.sequence == other.sequence &&
		sameSlice(o.fields, other.fields) && sameSlice(o.items, other.items)
}
