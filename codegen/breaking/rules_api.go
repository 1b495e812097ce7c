package breaking

import (
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/goclient"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

var apiRules = []Rule{
	{
		ID: "argument-name", Category: API, check: argumentName,
		Checks: "Checks that arguments keep their names.",
		Why:    "They are fields of the params struct. On the wire they have none, so a running client notices nothing.",
	},
	{
		ID: "argument-pointer", Category: API, check: argumentPointer,
		Checks: "Checks that a number does not become optional where 0 is legal, or the reverse.",
		Why:    "Its Go field is then a pointer, because omitted and 0 differ.",
	},
	{
		ID: "result-name", Category: API, check: resultName,
		Checks: "Checks that results keep their names.",
		Why:    "They are fields of the result struct.",
	},
	{
		ID: "result-value-removed", Category: API, check: resultValueRemoved,
		Checks: "Checks that an enum result keeps its values.",
		Why:    "They are constants in the clients.",
	},
}

func argumentName(p *pass) {
	p.argument(func(m match, f fieldPair) {
		if f.old.Name != f.new.Name {
			p.at(m, f.new, "argument %s%s of %s was called %s", m.prefix, f.new.Name, m.fn.Name, f.old.Name)
		}
	})
}

func argumentPointer(p *pass) {
	p.argument(func(m match, f fieldPair) {
		switch {
		case f.old.Kind != f.new.Kind || goclient.Pointer(f.old) == goclient.Pointer(f.new):
		case goclient.Pointer(f.new):
			p.at(m, f.new, "argument %s%s of %s is optional and may be 0: its Go field becomes a pointer", m.prefix, f.new.Name, m.fn.Name)
		default:
			p.at(m, f.new, "argument %s%s of %s was optional with a legal 0: its Go field is no longer a pointer", m.prefix, f.new.Name, m.fn.Name)
		}
	})
}

func resultName(p *pass) {
	p.results(func(m match, _ []spec.Field) {
		for _, f := range m.pairs {
			if f.old.Name != f.new.Name {
				p.at(m, f.new, "result %s%s of %s was called %s", m.prefix, f.new.Name, m.fn.Name, f.old.Name)
			}
		}
	})
}

func resultValueRemoved(p *pass) {
	p.results(func(m match, _ []spec.Field) {
		for _, f := range m.pairs {
			if values := lost(f.old, f.new); len(values) > 0 {
				p.at(m, f.new, "result %s%s of %s is no longer %s", m.prefix, f.new.Name, m.fn.Name, strings.Join(values, " or "))
			}
		}
	})
}
