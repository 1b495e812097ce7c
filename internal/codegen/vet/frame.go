package vet

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
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
// caller, and the tables below these.
type view struct {
	state *state
	seen  map[int]bool
	vars  map[*variable]bool
	text  strings.Builder // all properties that rules read
}

// see adds a value to the view.
func (w *view) see(v value) {
	b := &w.text
	b.WriteString(strconv.FormatUint(uint64(v.kinds), 16))
	for _, flag := range []bool{v.assumed, v.lenient, v.fixed, v.content, v.floored, v.digits, v.reads, v.literal != nil} {
		if flag {
			b.WriteByte('+')
		} else {
			b.WriteByte('-')
		}
	}
	b.WriteByte('0' + byte(v.taint))
	if v.literal != nil {
		w.word(*v.literal)
	}
	w.word(v.prefix)
	w.word(v.param)
	w.word(v.span)
	w.words(v.keys)
	w.words(v.reply)
	w.words(v.enum)
	for _, c := range v.fns {
		w.word(c.builtin)
		if c.fn != nil {
			w.function(c.fn)
		}
	}
	b.WriteByte('{')
	for _, id := range v.objects {
		w.number(id)
	}
	b.WriteByte('}')
	for _, id := range v.objects {
		w.table(id)
	}
}

// function adds a function to the view, with its upvalues.
func (w *view) function(fn *function) {
	w.number(fn.file.id)
	w.number(fn.id)
	for _, v := range fn.outside {
		if w.vars[v] {
			continue
		}
		w.vars[v] = true
		w.number(v.id)
		if val, ok := w.state.env[v]; ok {
			w.see(val)
		}
	}
}

// shares reports whether the view has a variable of a path or fact.
func (w *view) shares(text string) bool {
	for v := range w.vars {
		if strings.Contains(text, v.mark) {
			return true
		}
	}
	return false
}

// table adds a table to the view, once.
func (w *view) table(id int) {
	if w.seen[id] || w.state.get(id) == nil {
		return
	}
	w.seen[id] = true
	o := w.state.get(id)
	if w.state.base[id] == o {
		return // as the library was loaded
	}
	w.text.WriteByte('<')
	w.number(id)
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		w.word(name)
		w.see(o.fields[name])
	}
	w.text.WriteByte('|')
	for _, item := range o.items {
		w.see(item)
	}
	w.text.WriteByte('|')
	if o.elem != nil {
		w.see(*o.elem)
	}
	w.word(o.top)
	w.number(o.atLeast)
	w.text.WriteString(strconv.FormatBool(o.open))
	w.text.WriteByte('>')
}

func (w *view) word(s string) {
	w.number(len(s))
	w.text.WriteByte(':')
	w.text.WriteString(s)
}

func (w *view) words(list []string) {
	w.number(len(list))
	for _, s := range list {
		w.word(s)
	}
}

func (w *view) number(n int) {
	w.text.WriteByte(' ')
	w.text.WriteString(strconv.Itoa(n))
}

// viewOf returns the view of fn for a call with args.
func (r *run) viewOf(s *state, fn *function, args []value) *view {
	w := &view{state: s, seen: map[int]bool{}, vars: map[*variable]bool{}}
	w.function(fn)
	for _, n := range []int{r.place, r.rewritten, s.times, len(args)} {
		w.number(n)
	}
	for _, f := range r.frames {
		w.text.WriteString(strconv.FormatBool(f.unbounded > 0))
	}
	for _, v := range args {
		w.see(v)
	}
	for _, id := range slices.Sorted(maps.Keys(s.heap)) {
		if s.base[id] != nil {
			w.table(id) // the library's, changed
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.ttl)) {
		t := s.ttl[key]
		w.word(key)
		w.text.WriteString(strconv.FormatBool(t.settled))
		for _, at := range t.pending {
			w.number(at.file.id)
			w.number(at.at.line)
			w.number(at.at.col)
		}
	}
	if len(w.vars) > 0 {
		for _, path := range slices.Sorted(maps.Keys(s.paths)) {
			if w.shares(path) {
				w.word(path)
				w.see(s.paths[path])
			}
		}
		for _, fact := range slices.Sorted(maps.Keys(s.facts)) {
			if w.shares(fact) {
				w.word(fact)
			}
		}
	}
	return w
}

// A summary is one outcome of a call, as its caller sees it.
type summary struct {
	end  *state // the view at the end, and the tables that the function made
	vals []value
}

// framed runs a function on its view, once for all paths with the same view.
func (r *run) framed(s *state, fn *function, args []value, call ast.Expr, exprs []ast.Expr) []outcome {
	w := r.viewOf(s, fn, args)
	key := w.text.String()
	known, ok := r.known[key]
	if !ok {
		for _, o := range r.follow(w.frame(), fn, args, call, exprs) {
			w.prune(o)
			known = append(known, summary{o.s, o.vals})
		}
		if r.steps <= stepLimit {
			r.known[key] = known
		}
	}
	out := make([]outcome, len(known))
	for i, k := range known {
		st := s
		if i < len(known)-1 {
			st = s.clone()
		}
		w.apply(st, k.end)
		out[i] = outcome{st, slices.Clone(k.vals)}
	}
	return out
}

// frame returns a state that holds only the view.
func (w *view) frame() *state {
	s, in := w.state, newState()
	in.base, in.ttl, in.times = s.base, maps.Clone(s.ttl), s.times
	for id := range w.seen {
		if o := s.heap[id]; o != nil {
			in.heap[id] = o
		}
	}
	for v := range w.vars {
		if val, ok := s.env[v]; ok {
			in.env[v] = val
		}
	}
	if len(w.vars) > 0 {
		for path, v := range s.paths {
			if w.shares(path) {
				in.paths[path] = v
			}
		}
		for fact := range s.facts {
			if w.shares(fact) {
				in.facts[fact] = true
			}
		}
	}
	return in
}

// prune drops the tables that are unreachable after the call.
func (w *view) prune(o outcome) {
	held := &view{state: o.s, seen: map[int]bool{}, vars: map[*variable]bool{}}
	for _, v := range o.vals {
		held.see(v)
	}
	for v := range w.vars {
		if val, ok := o.s.env[v]; ok {
			held.see(val)
		}
	}
	for id := range w.seen {
		held.table(id)
	}
	maps.DeleteFunc(o.s.heap, func(id int, _ *object) bool { return !held.seen[id] && o.s.base[id] == nil })
}

// apply changes a path of the caller as the call did.
func (w *view) apply(s, end *state) {
	maps.Copy(s.heap, end.heap)
	s.ttl = maps.Clone(end.ttl)
	s.times = end.times
	for name := range end.forgot {
		s.forgetField(name)
	}
	if len(w.vars) == 0 {
		return
	}
	for v := range w.vars {
		delete(s.env, v)
		if val, ok := end.env[v]; ok {
			s.env[v] = val
		}
	}
	maps.DeleteFunc(s.paths, func(path string, _ value) bool { return w.shares(path) })
	maps.DeleteFunc(s.facts, func(fact string, _ bool) bool { return w.shares(fact) })
	for path, v := range end.paths {
		if w.shares(path) {
			s.paths[path] = v
		}
	}
	for fact := range end.facts {
		if w.shares(fact) {
			s.facts[fact] = true
		}
	}
}
