package parity_test

import "slices"

// shrink returns the smallest case that it can find for which differs holds.
func shrink(c trial, differs func(trial) bool) trial {
	for changed := true; changed; {
		changed = false
		for smaller := range c.smaller {
			if differs(smaller) {
				c, changed = smaller, true
				break
			}
		}
	}
	return c
}

// smaller yields the cases that lack a step, an argument or a part of an expression.
func (c trial) smaller(yield func(trial) bool) {
	for i := len(c.steps) - 1; i >= 0; i-- {
		if !yield(c.with(slices.Delete(slices.Clone(c.steps), i, i+1))) {
			return
		}
	}
	for i, s := range c.steps {
		for step := range s.smaller {
			steps := slices.Clone(c.steps)
			steps[i] = step
			if !yield(c.with(steps)) {
				return
			}
		}
	}
}

func (c trial) with(steps []fuzzStep) trial { return trial{c.protocol, steps} }

func (s fuzzStep) smaller(yield func(fuzzStep) bool) {
	for i := len(s.args) - 1; i > 0; i-- {
		if !yield(fuzzStep{args: slices.Delete(slices.Clone(s.args), i, i+1)}) {
			return
		}
	}
	if len(s.exprs) > 1 {
		for i := range s.exprs {
			if !yield(fuzzStep{exprs: []*expr{s.exprs[i]}}) {
				return
			}
		}
		return
	}
	for i, e := range s.exprs {
		for smaller := range e.smaller {
			exprs := slices.Clone(s.exprs)
			exprs[i] = smaller
			if !yield(fuzzStep{exprs: exprs}) {
				return
			}
		}
	}
}

// smaller yields each part of the expression, and the expression with a smaller or a simple part.
func (e *expr) smaller(yield func(*expr) bool) {
	for _, p := range e.parts {
		if !yield(p) {
			return
		}
	}
	for i, p := range e.parts {
		for _, simple := range []string{"1", "'a'", "{}"} {
			if len(p.parts) > 0 && !yield(e.with(i, &expr{form: simple})) {
				return
			}
		}
		for smaller := range p.smaller {
			if !yield(e.with(i, smaller)) {
				return
			}
		}
	}
}

func (e *expr) with(i int, part *expr) *expr {
	parts := slices.Clone(e.parts)
	parts[i] = part
	return &expr{e.form, parts}
}
