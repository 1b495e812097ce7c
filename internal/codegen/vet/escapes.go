package vet

import "slices"

// escapes drops the locals of a function that has ended, except those of closures that it returns.
func (r *run) escapes(o outcome, fn *function) {
	var kept []*variable
	if fn.closes() && slices.ContainsFunc(o.vals, func(v value) bool { return v.may(isFunc | isTable) }) {
		held := r.marks.view(o.s)
		for _, v := range o.vals {
			held.see(0, v)
		}
		kept = held.vars
	}
	o.s.leave(fn, kept)
}

// closes reports whether a function has a local that a function inside it uses.
func (fn *function) closes() bool {
	for _, v := range fn.vars {
		if v.captured {
			return true
		}
	}
	return false
}

// keep adds the locals of ended functions that closures hold to a path of the caller. Two closures of one function share them, so each may
// have either value.
func (w *view) keep(s, end *state) {
	for _, e := range end.env {
		if _, shared := w.find(e.id); shared {
			continue
		}
		val := e.v
		if old, ok := s.env.get(e.id); ok {
			val = joined(old, val)
		}
		s.own(env).env.set(e.id, val)
	}
}

// find returns a variable of the view.
func (w *view) find(id int) (*variable, bool) {
	for _, v := range w.vars {
		if v.id == id {
			return v, true
		}
	}
	return nil, false
}
