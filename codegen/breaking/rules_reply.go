package breaking

import (
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

var replyRules = []Rule{
	{
		ID: "result-removed", Category: Reply, check: resultRemoved,
		Checks: "Checks that no result is removed.",
		Why:    "Clients read a reply by position, so an old client can't read it, and the call has charged.",
	},
	{
		ID: "result-added", Category: Reply, check: resultAdded,
		Checks: "Checks that no result is new.",
		Why:    "Clients read a reply by position, so an old client can't read it, and the call has charged. A new function beside the old one breaks nothing.",
	},
	{
		ID: "result-order", Category: Reply, check: resultOrder,
		Checks: "Checks that results keep their order.",
		Why:    "They are read by position: a refusal is read as an admission.",
	},
	{
		ID: "result-type", Category: Reply, check: resultType,
		Checks: "Checks that a result keeps its type, and with it its unit.",
		Why:    "An unreadable reply, or a number in another unit.",
	},
	{
		ID: "result-optional", Category: Reply, check: resultOptional,
		Checks: "Checks that a result does not become optional, nor an optional one required.",
		Why:    "A mark precedes an optional result, and an old client takes it for a result.",
	},
	{
		ID: "result-values", Category: Reply, check: resultValues,
		Checks: "Checks that an enum result has the same values in the same order.",
		Why:    "A value is sent as its index, in a number that other results share, so an old client reads wrong values.",
	},
	{
		ID: "result-bounds", Category: Reply, check: resultBounds,
		Checks: "Checks that a small count keeps its upper bound.",
		Why:    "It shares a number with other results, and their places in it depend on its bounds.",
	},
	{
		ID: "error-added", Category: Reply, check: errorAdded,
		Checks: "Checks that no error code is new.",
		Why:    "An old client doesn't know that the code is a refusal, so it can't tell whether the call ran.",
	},
}

func resultRemoved(p *pass) {
	p.results(func(m match, _ []spec.Field) {
		for _, f := range m.removed {
			p.gone(m.fn, "result %s%s of %s is gone", m.prefix, f.Name, m.fn.Name)
		}
	})
}

func resultAdded(p *pass) {
	p.results(func(m match, _ []spec.Field) {
		for _, f := range m.added {
			p.at(m, f, "result %s%s of %s is new: old clients read a reply to its end, and refuse a longer one; write a function beside %s",
				m.prefix, f.Name, m.fn.Name, m.fn.Name)
		}
	})
}

func resultOrder(p *pass) {
	p.results(func(m match, old []spec.Field) {
		if f := m.moved(old); f != nil {
			p.at(m, f.new, "result %s%s of %s moved: results are read by position", m.prefix, f.new.Name, m.fn.Name)
		}
	})
}

func resultType(p *pass) {
	p.results(func(m match, _ []spec.Field) {
		for _, f := range m.pairs {
			if f.old.Kind != f.new.Kind {
				p.at(m, f.new, "result %s%s of %s is %s and was %s", m.prefix, f.new.Name, m.fn.Name, f.new.Kind, f.old.Kind)
			}
		}
	})
}

func resultOptional(p *pass) {
	p.results(func(m match, _ []spec.Field) {
		for _, f := range m.pairs {
			switch {
			case f.new.Optional && !f.old.Optional:
				p.at(m, f.new, "result %s%s of %s may be none and was always there", m.prefix, f.new.Name, m.fn.Name)
			case f.old.Optional && !f.new.Optional:
				p.at(m, f.new, "result %s%s of %s is always there and was optional", m.prefix, f.new.Name, m.fn.Name)
			}
		}
	})
}

func resultValues(p *pass) {
	p.results(func(m match, _ []spec.Field) {
		for _, f := range m.pairs {
			if values := lost(f.new, f.old); len(values) > 0 {
				p.at(m, f.new, "result %s%s of %s may be %s now: old clients do not know that", m.prefix, f.new.Name, m.fn.Name, strings.Join(values, " or "))
			} else if !slices.Equal(f.old.Values, f.new.Values) {
				p.at(m, f.new, "result %s%s of %s had the values %s: they are read by position", m.prefix, f.new.Name, m.fn.Name, strings.Join(f.old.Values, ", "))
			}
		}
	})
}

func resultBounds(p *pass) {
	p.results(func(m match, _ []spec.Field) {
		for _, f := range m.pairs {
			if f.old.Kind == spec.KindCount && f.new.Kind == spec.KindCount && f.old.Digit() != f.new.Digit() {
				p.at(m, f.new, "result %s%s of %s is at most %d and was at most %d: the results that share its number move", m.prefix, f.new.Name, m.fn.Name, f.new.Max, f.old.Max)
			}
		}
	})
}

// always are the codes that every client knows.
var always = []string{"RLARG", "RLSTATE"}

func errorAdded(p *pass) {
	p.functions(func(old, new *spec.Function) {
		for _, e := range new.Errors {
			known := slices.ContainsFunc(old.Errors, func(was spec.Error) bool { return was.Code == e.Code })
			if !known && !slices.Contains(always, e.Code) {
				p.gone(new, "error %s of %s is new: old clients do not know it", e.Code, new.Name)
			}
		}
	})
}
