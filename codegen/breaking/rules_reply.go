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
		Checks: "Checks that a new result comes after all others.",
		Why:    "Clients read a reply by position and ignore what follows: a result in between is read as another.",
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
		ID: "result-values", Category: Reply, check: resultValues,
		Checks: "Checks that an enum result has no new value.",
		Why:    "An old client doesn't know what the word means, and the call has charged.",
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
	p.results(func(m match, old []spec.Field) {
		for i, f := range m.added {
			if !m.appended(i, old) {
				p.at(m, f, "result %s%s of %s is new before others: old clients read results by position, so put it last", m.prefix, f.Name, m.fn.Name)
			}
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

func resultValues(p *pass) {
	p.results(func(m match, _ []spec.Field) {
		for _, f := range m.pairs {
			if values := lost(f.new, f.old); len(values) > 0 {
				p.at(m, f.new, "result %s%s of %s may be %s now: old clients do not know that", m.prefix, f.new.Name, m.fn.Name, strings.Join(values, " or "))
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
