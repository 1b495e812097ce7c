package vet

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// A summary is one outcome of a call, as its caller sees it.
type summary struct {
	end    *state // the view at the end, and the tables that the function made
	vals   []value
	below  *shown
	thrown bool // an error ended it
}

// framed runs a function on its view, once for all paths with the same view. A function without a finding is not run again for the
// same view at another place.
func (r *run) framed(s *state, c *closure, args []value, call ast.Expr, passed passed) []outcome {
	w, view := r.viewOf(s, c.fn, args)
	apart := r.keepsApart(c.fn, call, passed)
	view = view.flag(passed.open).flag(apart)
	key := view.number(r.place)
	known, ok := r.known[key]
	if !ok {
		if known, ok = r.elsewhere[view]; ok {
			known = r.moveHere(w, c.fn, known, call)
		} else {
			reports := r.reports
			known = r.explore(w, c, args, call, passed, apart)
			if r.reports == reports {
				r.elsewhere[view] = known
			}
		}
		if r.steps > stepLimit {
			delete(r.elsewhere, view)
		} else {
			r.known[key] = known
		}
	}
	out := make([]outcome, 0, len(known))
	for i, k := range known {
		st := s
		if i < len(known)-1 {
			st = s.clone()
		}
		w.apply(st, k.end)
		if k.thrown {
			if k.end.raised && len(r.frames) == 1 && !r.caught() {
				r.refused(st, r.at(call), "the error in "+c.fn.name)
			}
			st.raised = k.end.raised
			r.thrown(st)
			continue
		}
		out = append(out, outcome{s: st, vals: slices.Clone(k.vals), below: k.below})
	}
	return out
}

func (r *run) explore(w *view, c *closure, args []value, call ast.Expr, passed passed, apart bool) (known []summary) {
	thrown := r.catching(false, func() {
		in := w.frame()
		in.apart = apart
		for _, o := range r.follow(in, c, args, call, passed) {
			w.prune(o)
			known = append(known, summary{end: o.s, vals: o.vals, below: o.below})
		}
	})
	for _, s := range thrown {
		w.prune(outcome{s: s})
		known = append(known, summary{end: s, thrown: true})
	}
	return known
}

// moveHere returns the summaries of a call at another place as those of a call here: with tables and findings of their own.
func (r *run) moveHere(w *view, fn *function, known []summary, call ast.Expr) []summary {
	here := r.outer(call)
	inside := fn.file == r.file && !slices.ContainsFunc(r.frames, func(f *frame) bool { return f.fn.file != r.file })
	out := make([]summary, len(known))
	for i, k := range known {
		m := mover{ids: map[int]int{}}
		for _, e := range k.end.heap {
			_, before := slices.BinarySearch(w.tables, e.id)
			if _, library := k.end.base.get(e.id); !before && !library {
				m.ids[e.id] = r.objectAt(e.id)
			}
		}
		end := k.end.clone()
		if len(m.ids) > 0 {
			end = m.state(end)
		}
		if !inside {
			moveSites(end, w.state, here)
		}
		out[i] = summary{end: end, vals: m.values(k.vals), below: k.below, thrown: k.thrown}
	}
	return out
}

// moveSites puts the writes of a call at the place of the call.
func moveSites(end, before *state, here site) {
	if end.first != nil {
		end.first = &here
	}
	if end.removed != nil {
		end.removed = &removal{end.removed.key, here}
	}
	for _, e := range end.ttl {
		key, t := e.name, e.v
		if len(t.pending) == 0 || slices.Equal(t.pending, before.ttl.at(key).pending) {
			continue
		}
		old := before.ttl.at(key).pending
		var moved []site
		for _, at := range t.pending {
			if !slices.Contains(old, at) {
				at = here
			}
			moved = mergeSites(moved, []site{at})
		}
		t.pending = moved
		end.ttl = end.ttl.with(key, t)
	}
}

// A mover gives the tables of a summary other IDs.
type mover struct{ ids map[int]int }

func (m mover) state(s *state) *state {
	s.own(heap | env)
	for i, e := range s.heap {
		if to, ok := m.ids[e.id]; ok {
			s.heap[i].id = to
		}
		s.heap[i].v = m.object(e.v)
	}
	slices.SortFunc(s.heap, func(a, b entry[*object]) int { return a.id - b.id })
	for i, e := range s.env {
		moved := m.value(*e.v)
		s.env[i].v = &moved
	}
	s.paths = m.fields(s.paths)
	return s
}

func (m mover) object(o *object) *object {
	out := *o
	out.sight, out.shape, out.endless = nil, 0, 0
	out.fields = m.fields(o.fields)
	out.items = m.values(o.items)
	if o.elem != nil {
		elem := m.value(*o.elem)
		out.elem = &elem
	}
	return &out
}

func (m mover) fields(list fields) fields {
	out := slices.Clone(list)
	for i, f := range out {
		moved := m.value(*f.v)
		out[i].v = &moved
	}
	return out
}

func (m mover) values(list []value) []value {
	out := slices.Clone(list)
	for i := range out {
		out[i] = m.value(out[i])
	}
	return out
}

func (m mover) value(v value) value {
	if !slices.ContainsFunc(v.objects, func(id int) bool { _, ok := m.ids[id]; return ok }) {
		return v
	}
	v.objects = slices.Clone(v.objects)
	for i, id := range v.objects {
		if to, ok := m.ids[id]; ok {
			v.objects[i] = to
		}
	}
	slices.Sort(v.objects)
	return v
}
