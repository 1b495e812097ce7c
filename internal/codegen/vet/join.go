package vet

import "slices"

// distinct joins paths that no rule distinguishes. If too many remain, it joins those that differ only inside tables, and then any two.
// The result takes the place of the paths.
func distinct(states []*state) []*state {
	if len(states) < 2 {
		return states
	}
	outcomes := make([]outcome, len(states))
	for i, s := range states {
		outcomes[i] = outcome{s: s}
	}
	states = states[:0]
	for _, o := range few(outcomes, stateLimit) {
		states = append(states, o.s)
	}
	return states
}

// fewer joins outcomes only if there are too many.
func fewer(outcomes []outcome) []outcome {
	if len(outcomes) <= stateLimit {
		return outcomes
	}
	return few(outcomes, stateLimit)
}

// few joins outcomes as distinct joins paths.
func few(outcomes []outcome, limit int) []outcome {
	outcomes = alike(outcomes, func(o outcome) print { return o.s.keptApart(o.s.print(o.vals, finest).number(len(o.vals))) })
	for depth := finest; len(outcomes) > limit && depth >= 0; depth-- {
		outcomes = alike(outcomes, func(o outcome) print { return o.s.print(o.vals, depth).number(len(o.vals)) })
	}
	if len(outcomes) <= limit {
		return outcomes
	}
	if len(outcomes[0].vals) > 0 { // callers test the first value
		outcomes = alike(outcomes, func(o outcome) print { return printBegin.number(len(o.vals)).number(int(valueAt(o.vals, 0).kinds)) })
	}
	for len(outcomes) > limit { // neighbours split last
		var half []outcome
		for i := 0; i < len(outcomes); i += 2 {
			both := outcomes[i]
			if i+1 < len(outcomes) {
				both = either(both, outcomes[i+1], false)
			}
			half = append(half, both)
		}
		outcomes = half
	}
	return outcomes
}

// alike joins outcomes with the same print, in place.
func alike(outcomes []outcome, of func(outcome) print) []outcome {
	var prints [stateLimit]print
	var merged [stateLimit]bool
	seen, joined := prints[:0], merged[:0]
	out := outcomes[:0]
	for _, o := range outcomes {
		key := of(o)
		if i := slices.Index(seen, key); i >= 0 {
			out[i] = either(out[i], o, joined[i])
			joined[i] = true
			continue
		}
		seen, joined, out = append(seen, key), append(joined, false), append(out, o)
	}
	return out
}

// either joins two outcomes. It may change the path of the first if nothing else holds that.
func either(a, b outcome, reuse bool) outcome {
	both := outcome{s: merge(a.s, b.s, reuse), vals: make([]value, 0, max(len(a.vals), len(b.vals)))}
	for i := range max(len(a.vals), len(b.vals)) {
		both.vals = append(both.vals, join(valueAt(a.vals, i), valueAt(b.vals, i)))
	}
	both.below = a.below.and(b.below, a.vals, b.vals)
	return both
}
