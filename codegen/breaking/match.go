package breaking

import (
	"cmp"
	"slices"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// functions visits every function that both versions have.
func (p *pass) functions(visit func(old, new *spec.Function)) {
	for i := range p.new.Spec.Functions {
		now := &p.new.Spec.Functions[i]
		if was := p.old.function(now.Name); was != nil {
			visit(was, now)
		}
	}
}

// A match pairs the old and new fields of a list that is read by position: arguments of a call or a row, results, keys.
type match struct {
	fn      *spec.Function // of the new version
	prefix  string         // "limits." in a group
	pairs   []fieldPair    // in the new order
	list    []spec.Field   // of the new version
	removed []spec.Field   // of the old version
	added   []spec.Field   // of the new version
}

// A fieldPair is one field before and after. Their names differ where it was renamed.
type fieldPair struct{ old, new spec.Field }

// fields pairs by name; where a name is gone and another one of the same kind is new in its place, the field was renamed.
func fields(fn *spec.Function, prefix string, old, new []spec.Field) match {
	m := match{fn: fn, prefix: prefix, list: new}
	named := func(list []spec.Field, name string) int {
		return slices.IndexFunc(list, func(f spec.Field) bool { return f.Name == name })
	}
	renamed := func(i int) bool {
		return i < len(old) && i < len(new) && old[i].Kind == new[i].Kind && named(new, old[i].Name) < 0 && named(old, new[i].Name) < 0
	}
	m.pairs = make([]fieldPair, 0, min(len(old), len(new)))
	for i, f := range new {
		if j := named(old, f.Name); j >= 0 {
			m.pairs = append(m.pairs, fieldPair{old[j], f})
		} else if renamed(i) {
			m.pairs = append(m.pairs, fieldPair{old[i], f})
		} else {
			m.added = append(m.added, f)
		}
	}
	for i, f := range old {
		if named(new, f.Name) < 0 && !renamed(i) {
			m.removed = append(m.removed, f)
		}
	}
	return m
}

// moved returns the first pair whose order relative to another one changed.
func (m *match) moved(old []spec.Field) *fieldPair {
	last := -1
	for i := range m.pairs {
		at := slices.IndexFunc(old, func(f spec.Field) bool { return f.Name == m.pairs[i].old.Name })
		if at < last {
			return &m.pairs[i]
		}
		last = at
	}
	return nil
}

// appended reports whether the i-th of the new fields comes after all of the old ones.
func (m *match) appended(i int, old []spec.Field) bool {
	place := slices.IndexFunc(m.list, func(f spec.Field) bool { return f.Name == m.added[i].Name })
	return place >= len(old)
}

// args are what a call carries beside its keys.
func args(list []spec.Field) []spec.Field {
	return slices.DeleteFunc(slices.Clone(list), func(f spec.Field) bool { return f.Kind == spec.KindKey })
}

func keys(list []spec.Field) []spec.Field {
	return slices.DeleteFunc(slices.Clone(list), func(f spec.Field) bool { return f.Kind != spec.KindKey })
}

// lists visits the lists of a function's fields, and those of the groups that both versions have; pick takes of each what is wanted.
func lists(fn *spec.Function, old, new []spec.Field, pick func([]spec.Field) []spec.Field, visit func(m match, old []spec.Field)) {
	visit(fields(fn, "", pick(old), pick(new)), pick(old))
	groups := fields(fn, "", args(old), args(new))
	for _, g := range groups.pairs {
		if g.old.Kind == spec.KindGroup && g.old.Kind == g.new.Kind {
			visit(fields(fn, g.new.Name+".", pick(g.old.Fields), pick(g.new.Fields)), pick(g.old.Fields))
		}
	}
}

// A matched is a list that lists visits.
type matched struct {
	match
	before []spec.Field // of the old version
}

// each visits the lists of every function, which it matches once for all rules.
func (p *pass) each(kept *[]matched, side func(*spec.Function) []spec.Field, pick func([]spec.Field) []spec.Field, visit func(m match, old []spec.Field)) {
	if *kept == nil {
		*kept = []matched{}
		p.functions(func(old, new *spec.Function) {
			lists(new, side(old), side(new), pick, func(m match, old []spec.Field) { *kept = append(*kept, matched{m, old}) })
		})
	}
	for _, l := range *kept {
		visit(l.match, l.before)
	}
}

func params(fn *spec.Function) []spec.Field { return fn.Params }

// arguments visits the lists of arguments of every function.
func (p *pass) arguments(visit func(m match, old []spec.Field)) {
	p.each(&p.argLists, params, args, visit)
}

// argument visits every argument that both versions have.
func (p *pass) argument(visit func(m match, f fieldPair)) {
	p.arguments(func(m match, _ []spec.Field) {
		for _, f := range m.pairs {
			visit(m, f)
		}
	})
}

// results visits the lists of results of every function.
func (p *pass) results(visit func(m match, old []spec.Field)) {
	p.each(&p.resultLists, func(fn *spec.Function) []spec.Field { return fn.Results }, args, visit)
}

// keys visits the lists of keys of every function.
func (p *pass) keys(visit func(m match, old []spec.Field)) {
	p.each(&p.keyLists, params, keys, visit)
}

// at reports a finding at a field of the new version.
func (p *pass) at(m match, f spec.Field, format string, args ...any) {
	p.add(cmp.Or(f.File, m.fn.File), f.Line, f.Col, format, args...)
}

// gone reports a finding at the function, for a removed part.
func (p *pass) gone(fn *spec.Function, format string, args ...any) {
	p.add(fn.File, fn.Line, 1, format, args...)
}
