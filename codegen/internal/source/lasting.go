package source

import (
	"cmp"
	"slices"

	"github.com/rlfunc/rlfunc/codegen/internal/annotation"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// lasting finds keys that one function of a library keeps forever and another does not: they are the same key in Redis.
func (l *loader) lasting(lib *Library) {
	type first struct {
		forever  bool
		function string
	}
	seen := map[string]first{}
	check := func(fn *spec.Function, k spec.Field, suffix string) {
		f, known := seen[suffix]
		switch {
		case !known:
			seen[suffix] = first{k.Forever, fn.Name}
		case f.forever && !k.Forever:
			l.found.Add(cmp.Or(k.File, fn.File), k.Line, k.Col, annotation.RuleKeys, "%s keeps the key that ends in %s forever: say so here, too", f.function, suffix)
		case !f.forever && k.Forever:
			l.found.Add(cmp.Or(k.File, fn.File), k.Line, k.Col, annotation.RuleKeys, "%s lets the key that ends in %s expire: say forever there, too, or not here", f.function, suffix)
		}
	}
	for i := range lib.Spec.Functions {
		fn := &lib.Spec.Functions[i]
		for _, p := range fn.Params {
			if p.Kind == spec.KindKey {
				check(fn, p, p.Suffix)
			}
			for _, k := range p.Keys() {
				if k.SuffixKind == "" {
					check(fn, k, k.Suffix)
					continue
				}
				if kind := slices.IndexFunc(p.Fields, func(f spec.Field) bool { return f.Name == k.SuffixKind }); kind >= 0 {
					for _, value := range p.Fields[kind].Values {
						check(fn, k, value)
					}
				}
			}
		}
	}
}
