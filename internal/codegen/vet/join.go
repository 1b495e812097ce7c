package vet

// distinct joins paths that no rule distinguishes. If too many remain, it joins those that differ only inside tables, and then any two.
func distinct(states []*state) []*state {
	if len(states) < 2 {
		return states
	}
	outcomes := make([]outcome, len(states))
	for i, s := range states {
		outcomes[i] = outcome{s: s}
	}
	outcomes = few(outcomes, stateLimit)
	out := make([]*state, len(outcomes))
	for i, o := range outcomes {
		out[i] = o.s
	}
	return out
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
	for depth := finest; depth >= 0; depth-- {
		outcomes = alike(outcomes, func(o outcome) print { return o.s.print(o.vals, depth).number(len(o.vals)) })
		if len(outcomes) <= limit {
			return outcomes
		}
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

// alike joins outcomes with the same print.
func alike(outcomes []outcome, of func(outcome) print) []outcome {
	seen := make(map[print]int, len(outcomes))
	out := make([]outcome, 0, len(outcomes))
	joined := map[int]bool{}
	for _, o := range outcomes {
		key := of(o)
		if i, ok := seen[key]; ok {
			out[i] = either(out[i], o, joined[i])
			joined[i] = true
			continue
		}
		seen[key] = len(out)
		out = append(out, o)
	}
	return out
}

// either joins two outcomes. It may change the path of the first if nothing else holds that.
func either(a, b outcome, reuse bool) outcome {
	both := outcome{s: merge(a.s, b.s, reuse), vals: make([]value, 0, max(len(a.vals), len(b.vals)))}
	for i := range max(len(a.vals), len(b.vals)) {
		both.vals = append(both.vals, join(valueAt(a.vals, i), valueAt(b.vals, i)))
	}
	return both
}
