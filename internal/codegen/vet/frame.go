package vet

import (
	"math/big"
	"slices"
	"strings"
)

// A place identifies the open calls and loop turns of a path. A path reaches a node once in each place, so node and place identify
// a table on every path.
type place struct {
	outer int
	node  any
	turn  int
}

// enter opens a call or a turn of a loop, and returns a function that closes it.
func (r *run) enter(node any, turn int) (leave func()) {
	outer := r.place
	at := place{outer, node, turn}
	id, ok := r.places[at]
	if !ok {
		id = len(r.places) + 1
		r.places[at] = id
	}
	r.place = id
	return func() { r.place = outer }
}

// A view is the part of the caller's path that a called function can reach: its arguments, the locals that it shares with its
// caller, the tables below these, and the library's tables that its code leads to.
type view struct {
	state  *state
	marks  *marks
	run    *run    // nil if the library's tables do not matter
	reach  big.Int // set of IDs of the library's tables
	tables []int   // sorted once the view is complete
	vars   []*variable
	keys   []string // keys of Redis that a value in it may be, or is a reply of, and those that wait for an expiry
	sum    print    // of the hashes of its tables and variables, so their order does not matter
}

// marks hold what the view that is being made has seen, one view at a time: by ID, the number of the last view that saw a table or a
// variable.
type marks struct {
	round             int32
	tables, variables []int32
}

func (m *marks) view(s *state) *view {
	m.round++
	return &view{state: s, marks: m}
}

// first marks an ID, and reports whether the view had not seen it.
func (m *marks) first(seen *[]int32, id int) bool {
	if id >= len(*seen) {
		*seen = append(*seen, make([]int32, id+1-len(*seen)+len(*seen)/2)...)
	}
	if (*seen)[id] == m.round {
		return false
	}
	(*seen)[id] = m.round
	return true
}

// key adds a key to the view.
func (w *view) key(key string) {
	if !slices.Contains(w.keys, key) {
		w.keys = append(w.keys, key)
	}
}

// see adds a value to the view, and to a hash of all properties that rules read.
func (w *view) see(h print, v value) print {
	for _, key := range v.keys() {
		w.key(key)
	}
	if v.proof != nil {
		w.key(v.proof.key)
	}
	for _, c := range v.fns() {
		if c.fn != nil {
			w.function(c.fn)
		}
	}
	for _, id := range v.objects {
		w.table(id)
	}
	return v.print(h)
}

// print adds all properties of a value that rules read to a hash.
func (v *value) print(h print) print {
	flags := int(v.taint)
	for _, flag := range [...]bool{v.assumed, v.lenient, v.fixed, v.content, v.floored, v.digits, v.reads, v.in.told, v.present, v.minusZero, v.product, v.in.nonzero, v.in.related, v.in.summed, v.in.ends&lowEnd != 0, v.in.ends&highEnd != 0, v.in.ends&countEnd != 0, v.in.sure&lowEnd != 0, v.in.sure&highEnd != 0, v.literal != nil} {
		flags <<= 1
		if flag {
			flags++
		}
	}
	h = h.number(int(v.kinds)).number(flags<<4 | int(v.unit)).number(int(v.left)<<4 | int(v.json))
	if v.literal != nil {
		h = h.word(*v.literal)
	}
	h = h.words(v.reply)
	rares := v.rares()
	h = h.word(rares.prefix).words(rares.keys).word(rares.param).word(rares.span).word(rares.count).words(rares.enum)
	for _, c := range rares.fns {
		h = h.word(c.builtin)
		if c.fn != nil {
			h = h.number(c.fn.file.id).number(c.fn.id)
		}
	}
	if v.in.known {
		h = h.number(int(v.in.low)).number(int(v.in.high))
	}
	h = v.order().print(v.proof.print(h)).number(len(v.objects))
	for _, id := range v.objects {
		h = h.number(id)
	}
	return h
}

// reaches adds the library's tables that a function, or a table as it was loaded, leads to.
func (w *view) reaches(node any) {
	if w.run != nil {
		w.reach.Or(&w.reach, w.run.reachOf(node, w.state.base))
	}
}

// function adds the upvalues of a function to the view.
func (w *view) function(fn *function) {
	w.reaches(fn)
	for _, v := range fn.outside {
		if !w.marks.first(&w.marks.variables, v.id) {
			continue
		}
		w.vars = append(w.vars, v)
		if val, ok := w.state.env.get(v.id); ok {
			w.sum += w.see(printBegin.number(v.id), *val)
		}
	}
}

// shares reports whether the view has a variable of a path or fact.
func (w *view) shares(text string) bool {
	for _, v := range w.vars {
		if strings.Contains(text, v.mark) {
			return true
		}
	}
	return false
}

func (w *view) lacks(text string) bool { return !w.shares(text) }

// A sight is what a view sees in one table: its hash, and what is to be seen behind it. A table does not change once it has been seen,
// because state.object copies it.
type sight struct {
	sum       print
	tables    []int
	keys      []string
	functions []*function
}

// table adds a table to the view, once.
func (w *view) table(id int) {
	o := w.state.get(id)
	if o == nil || !w.marks.first(&w.marks.tables, id) {
		return
	}
	if w.tables == nil {
		w.tables = make([]int, 0, 16)
	}
	w.tables = append(w.tables, id)
	if library, _ := w.state.base.get(id); library == o {
		w.reaches(id)
		return // as the library was loaded
	}
	if o.sight == nil {
		o.sight = sightOf(id, o)
	}
	w.sum += o.sight.sum
	w.behind(o.sight)
}

// behind adds what a sight leads to.
func (w *view) behind(t *sight) {
	for _, key := range t.keys {
		w.key(key)
	}
	for _, fn := range t.functions {
		w.function(fn)
	}
	for _, id := range t.tables {
		w.table(id)
	}
}

// add adds what a value leads to, and the value to a hash.
func (t *sight) add(h print, v *value) print {
	t.keys = append(t.keys, v.keys()...)
	if v.proof != nil {
		t.keys = append(t.keys, v.proof.key)
	}
	for _, c := range v.fns() {
		if c.fn != nil {
			t.functions = append(t.functions, c.fn)
		}
	}
	t.tables = append(t.tables, v.objects...)
	return v.print(h)
}

func sightOf(id int, o *object) *sight {
	t := &sight{}
	h := printBegin
	for _, f := range o.fields {
		h = t.add(h.word(f.name), f.v)
	}
	h = h.number(id).number(len(o.fields)).number(len(o.items))
	for i := range o.items {
		h = t.add(h, &o.items[i])
	}
	if o.elem != nil {
		h = t.add(h.number(1), o.elem)
	}
	h = o.sequence.see(t, h)
	t.sum = h.word(o.top).number(int(o.size.least)).number(int(o.size.step)).number(int(o.size.most)).flag(o.size.known).flag(o.open).flag(o.holed).flag(o.scores).number(o.filled).number(int(o.held)).flag(o.filling != nil && o.filling.skipped)
	return t
}

// viewOf returns the view of fn for a call with args, and its hash.
func (r *run) viewOf(s *state, fn *function, args []value) (*view, print) {
	w := r.marks.view(s)
	w.run = r
	w.function(fn)
	h := printBegin
	for _, n := range [...]int{fn.file.id, fn.id, r.rewritten, int(s.times), len(args)} {
		h = h.number(n)
	}
	if slices.ContainsFunc(r.frames, func(f *frame) bool { return f.unbounded > 0 }) {
		for _, f := range r.frames { // a finding is at the loop
			h = h.flag(f.unbounded > 0)
		}
	}
	h = h.flag(r.caught()).number(int(r.nested))
	for _, v := range args {
		h = w.see(h, v)
	}
	if len(w.vars) > 0 {
		for _, path := range s.paths {
			if w.shares(path.name) {
				w.sum += w.see(printBegin.word(path.name), *path.v)
			}
		}
		for _, fact := range s.facts {
			if w.shares(fact.name) {
				w.sum += printBegin.word(fact.name)
			}
		}
	}
	for n := -1; n < len(w.tables); { // a changed table may lead to others
		n = len(w.tables)
		for _, e := range s.heap {
			if w.reach.Bit(e.id) == 1 {
				w.table(e.id)
			}
		}
	}
	for _, e := range s.ttl {
		if len(e.v.pending) > 0 { // see mayFail
			w.key(e.name)
		}
	}
	for _, key := range w.keys {
		t, ok := s.ttl.get(key)
		if !ok {
			continue
		}
		p := printBegin.word(key).flag(t.settled).flag(t.proven).flag(t.below).flag(t.few).flag(t.group).number(len(t.pending)).number(t.epoch).number(t.size).number(int(t.most))
		for _, at := range t.pending {
			p = p.number(at.file.id).number(at.at.line).number(at.at.col)
		}
		w.sum += p
	}
	slices.Sort(w.tables)
	return w, h.number(int(w.sum))
}

// frame returns a state that holds only the view.
func (w *view) frame() *state {
	s, in := w.state, newState()
	in.base, in.times = s.base, s.times
	in.ttl = s.ttl.without(func(key string) bool { return !slices.Contains(w.keys, key) })
	in.env, in.heap = make(sorted[*value], 0, len(w.vars)+8), make(sorted[*object], 0, len(w.tables)+4)
	for _, id := range w.tables {
		if o, ok := s.heap.get(id); ok {
			in.heap = append(in.heap, entry[*object]{id, o})
		}
	}
	for _, v := range w.vars {
		if val, ok := s.env.get(v.id); ok {
			in.env.set(v.id, val)
		}
	}
	if len(w.vars) > 0 {
		in.paths, in.facts = s.paths.without(w.lacks), s.facts.without(w.lacks)
	}
	return in
}

// prune drops the tables that are unreachable after the call.
func (w *view) prune(o outcome) {
	held := w.marks.view(o.s)
	for _, v := range o.vals {
		held.see(0, v)
	}
	for _, v := range w.vars {
		if val, ok := o.s.env.get(v.id); ok {
			held.see(0, *val)
		}
	}
	for _, id := range w.tables {
		held.table(id)
	}
	kept := o.s.own(heap)
	kept.heap = slices.DeleteFunc(kept.heap, func(e entry[*object]) bool {
		_, library := kept.base.get(e.id)
		return !library && w.marks.first(&w.marks.tables, e.id)
	})
}

// apply changes a path of the caller as the call did.
func (w *view) apply(s, end *state) {
	if !s.heap.has(end.heap) {
		s.heap = s.heap.with(end.heap)
		s.owned |= heap
	}
	for _, key := range w.keys {
		t, ok := end.ttl.get(key)
		if before, had := s.ttl.get(key); ok && !(had && before.equals(t)) {
			s.ttl = s.ttl.with(key, t)
		}
	}
	s.times = end.times
	s.writes = s.writes.then(end.writes)
	s.forgot = s.forgot.plus(end.forgot)
	for _, field := range end.forgot {
		s.forgetField(field.name, false)
	}
	w.keep(s, end)
	if len(w.vars) == 0 {
		return
	}
	for _, v := range w.vars {
		switch val, ok := end.env.get(v.id); {
		case !ok:
			s.drop(v)
		default:
			if old, _ := s.env.get(v.id); old != val {
				s.own(env).env.set(v.id, val)
			}
		}
	}
	s.paths, s.facts = s.paths.without(w.shares), s.facts.without(w.shares)
	for _, path := range end.paths {
		if w.shares(path.name) {
			s.paths = s.paths.with(path.name, path.v)
		}
	}
	for _, fact := range end.facts {
		if w.shares(fact.name) {
			s.facts = s.facts.with(fact.name, fact.v)
		}
	}
}
