package parity_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

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

func TestFuzz_aSeedMakesTheSameCases(t *testing.T) {
	names := []string{"set", "zadd", "xadd", "lrange"}
	for n := range uint64(50) {
		a, b := newCase(rand.New(rand.NewPCG(7, n)), names), newCase(rand.New(rand.NewPCG(7, n)), names)
		if a.String() != b.String() {
			t.Fatalf("case %d:\n%s\n%s", n, a, b)
		}
	}
}

// The difference is planted: it takes a SET of a and a GET after it, or a %.
func TestFuzz_aCaseIsMadeShort(t *testing.T) {
	c := trial{"2", []fuzzStep{{args: []string{"ping"}}, {args: []string{"set", "a", "b", "NX"}}, {args: []string{"ping"}}, {args: []string{"get", "a", "x"}}, {args: []string{"ping"}}}}
	got := shrink(c, func(c trial) bool {
		text := c.String()
		return strings.Contains(text, "> set a") && strings.Contains(text, "> get")
	})
	if want := "> set a\n> get\n"; got.String() != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	number := &expr{form: "2"}
	sum := &expr{"(%s + %s)", []*expr{number, {"(%s %% %s)", []*expr{number, {"(-%s)", []*expr{number}}}}}}
	got = shrink(trial{"2", []fuzzStep{{exprs: []*expr{{form: "'a'"}, sum}}}}, func(c trial) bool {
		return len(c.steps) > 0 && strings.Contains(c.String(), "return (") && strings.Contains(c.String(), " % ")
	})
	if want := "return (2 % 1)"; !strings.Contains(got.String(), want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
