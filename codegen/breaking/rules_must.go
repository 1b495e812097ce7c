package breaking

import (
	"slices"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// argumentRule finds rules that refuse calls which the old version allowed.
func argumentRule(p *pass) {
	p.functions(func(old, new *spec.Function) {
		names := renames(old, new)
		for i := range new.Rules {
			now := &new.Rules[i]
			kept := func(was spec.Rule) bool { return implies(renamed(was, names), now) }
			if slices.ContainsFunc(old.Rules, kept) || !concerns(new, now, names) {
				continue
			}
			file := now.File
			if file == "" {
				file = new.File
			}
			p.add(file, now.Line, now.Col, "%s asks more than before: %s", new.Name, now.Text)
		}
	})
}

// renames maps the paths of the old version's arguments to those of the new one.
func renames(old, new *spec.Function) map[string]string {
	names := map[string]string{}
	for _, pair := range fields(new, "", args(old.Params), args(new.Params)).pairs {
		names[pair.old.Name] = pair.new.Name
		for _, inner := range fields(new, "", args(pair.old.Fields), args(pair.new.Fields)).pairs {
			names[pair.old.Name+"."+inner.old.Name] = pair.new.Name + "." + inner.new.Name
		}
	}
	return names
}

// renamed returns an old rule with the names of the new version.
func renamed(r spec.Rule, names map[string]string) *spec.Rule {
	to := func(path string) string {
		if name, known := names[path]; known {
			return name
		}
		return path
	}
	side := func(e *spec.Expression) *spec.Expression {
		if e == nil {
			return nil
		}
		moved := *e
		moved.Terms = slices.Clone(e.Terms)
		for i := range moved.Terms {
			moved.Terms[i].Field = to(moved.Terms[i].Field)
		}
		return &moved
	}
	r.Group, r.Left, r.Right = to(r.Group), side(r.Left), side(r.Right)
	r.Fields, r.If = slices.Clone(r.Fields), slices.Clone(r.If)
	for i := range r.Fields {
		r.Fields[i] = to(r.Fields[i])
	}
	for i := range r.If {
		r.If[i].Field = to(r.If[i].Field)
	}
	return &r
}

// implies reports whether every call that obeys the old rule obeys the new one.
func implies(old, new *spec.Rule) bool {
	weaker := old.Kind == spec.RuleBelow && new.Kind == spec.RuleAtMost
	if old.Kind != new.Kind && !weaker || old.Group != new.Group {
		return false
	}
	for _, c := range old.If { // the new rule may have more conditions, so that it applies to fewer calls
		if !slices.ContainsFunc(new.If, func(d spec.Condition) bool { return equal(c, d) }) {
			return false
		}
	}
	within := func(some, all []string) bool {
		return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
	}
	switch old.Kind {
	case spec.RuleGiven, spec.RuleOmitted, spec.RuleAsMany:
		return within(new.Fields, old.Fields)
	case spec.RuleOneGiven:
		return within(old.Fields, new.Fields)
	case spec.RuleIs:
		return old.Fields[0] == new.Fields[0] && within(old.Values, new.Values)
	case spec.RuleIsNot:
		return old.Fields[0] == new.Fields[0] && within(new.Values, old.Values)
	case spec.RuleDiffer:
		return within(old.Fields, new.Fields)
	}
	return atMost(old.Left, new.Left, -1) && atMost(old.Right, new.Right, 1)
}

// atMost reports whether two expressions have the same fields, and the numbers of the new one are as great, or greater in a direction.
func atMost(old, new *spec.Expression, direction int64) bool {
	if old.Product != new.Product || len(old.Terms) != len(new.Terms) {
		return false
	}
	for i, was := range old.Terms {
		now := new.Terms[i]
		if was.Field != now.Field || was.Now != now.Now || (now.Number-was.Number)*direction < 0 {
			return false
		}
	}
	return true
}

func equal(c, d spec.Condition) bool {
	return c.Field == d.Field && c.Not == d.Not && slices.Equal(slices.Sorted(slices.Values(c.Values)), slices.Sorted(slices.Values(d.Values)))
}

// concerns reports whether a call of an old client can break a new rule: it omits arguments that are new.
func concerns(new *spec.Function, r *spec.Rule, names map[string]string) bool {
	known := map[string]bool{}
	for _, path := range names {
		known[path] = true
	}
	lacks := func(path string) bool {
		f, _ := new.Arg(path)
		_, given := f.DefaultWord()
		return !known[path] && !given
	}
	for _, c := range r.If {
		if lacks(c.Field) && !c.Not {
			return false
		}
	}
	switch r.Kind {
	case spec.RuleGiven, spec.RuleOneGiven, spec.RuleAsMany:
		return true
	case spec.RuleOmitted:
		return slices.ContainsFunc(r.Fields, func(path string) bool { return !lacks(path) })
	}
	return !slices.ContainsFunc(r.Fields, lacks)
}
