package vet

import "slices"

// An order is what a truth value says of keys: with this truth, they expire before what their time to live was compared with, or hold few
// elements. Or it says that a count is above a limit.
type order struct {
	keys  []string
	few   bool // of the elements of keys
	over  bool // of a count
	truth bool
}

// ordered returns the order of a comparison of a time to live.
func ordered(operator string, a, b value) *order {
	if a.left == 0 {
		a, b, operator = b, a, mirrored[operator]
	}
	if a.left == 0 || b.left != 0 {
		if o := exceeds(operator, a, b); o != nil {
			return o
		}
		return fewElements(operator, a, b)
	}
	if a.left < 0 {
		operator = mirrored[operator]
	}
	return &order{keys: a.reply, truth: operator == "<" || operator == "<=" || operator == "=="}
}

func (o *order) equals(other *order) bool {
	return o == other || o != nil && other != nil && o.truth == other.truth && o.over == other.over && o.few == other.few && slices.Equal(o.keys, other.keys)
}

func (o *order) and(other *order) *order {
	if !o.equals(other) {
		return nil
	}
	return o
}

func (o *order) not() *order {
	if o == nil {
		return nil
	}
	return &order{keys: o.keys, few: o.few, over: o.over, truth: !o.truth}
}

// then returns the order of `and` (goesOn is true) or `or`: with that truth, both sides have it.
func (o *order) then(goesOn bool, right *order) *order {
	switch {
	case right != nil && right.truth == goesOn:
		return right
	case o != nil && o.truth == goesOn:
		return o
	}
	return o.and(right)
}

func (o *order) print(h print) print {
	if o == nil {
		return h
	}
	return h.words(o.keys).flag(o.truth).flag(o.over).flag(o.few)
}

// learn records what a value says of expiries where it is true or false.
func (v value) learn(s *state, truth bool) {
	v.proof.learn(s, truth)
	o := v.order()
	if o == nil || o.truth != truth {
		return
	}
	s.over = s.over || o.over
	for _, key := range o.keys {
		t := s.ttl.at(key)
		t.below, t.few = t.below || !o.few, t.few || o.few
		s.ttl = s.ttl.with(key, t)
	}
}
