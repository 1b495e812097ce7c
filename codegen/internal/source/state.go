package source

import (
	"slices"

	"github.com/rlfunc/rlfunc/codegen/internal/annotation"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// states adds to each function the states that its lib files store in Redis. Two files of a library may store the same state, if they
// agree on its shape.
func (l *loader) states(lib *Library) {
	shapes := map[string]spec.State{}
	agree := func(states []spec.State) {
		for _, s := range states {
			first, seen := shapes[s.Name]
			if !seen {
				shapes[s.Name] = s
			} else if first.Number != s.Number {
				l.found.Add(s.File, s.Line, s.Col, annotation.RuleState, "the shape of %s is number %d here, and %d in %s:%d",
					s.Name, s.Number, first.Number, first.File, first.Line)
			}
		}
	}
	for i := range lib.Spec.Functions {
		fn := &lib.Spec.Functions[i]
		agree(fn.States)
		for _, used := range l.reach(fn.Uses, nil) {
			agree(used.States)
			for _, s := range used.States {
				if !slices.ContainsFunc(fn.States, func(t spec.State) bool { return s.Name == t.Name }) {
					fn.States = append(fn.States, s)
				}
			}
		}
	}
}

// reach appends the named lib files and what they use, each once.
func (l *loader) reach(names []string, seen []*annotation.Lib) []*annotation.Lib {
	for _, name := range names {
		if used := l.tree.Libs[name]; used != nil && !slices.Contains(seen, used) {
			seen = l.reach(used.Uses, append(seen, used))
		}
	}
	return seen
}
