package annotation

import (
	"fmt"
	"slices"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// required reports whether fields have a required one of this name and kind.
func required(fields []spec.Field, name string, kind spec.Kind) bool {
	return slices.ContainsFunc(fields, func(f spec.Field) bool { return f.Name == name && f.Kind == kind && !f.Optional })
}

// checkEnds finds keys outside groups that do not end in a required text argument.
func (r *fieldReader) checkEnds(params []spec.Field) {
	for _, k := range params {
		if k.SuffixOf != "" && !required(params, k.SuffixOf, spec.KindText) {
			r.add(k.Line, k.Col, RuleKeys, "%s ends in %s, which is not a required text argument", k.Name, k.SuffixOf)
		}
	}
}

// documentShared adds to the doc which arguments make two keys one.
func documentShared(fn *spec.Function) {
	for i, k := range fn.Params {
		for _, other := range fn.Params[:i] {
			if k.SuffixOf != "" && other.SuffixOf != "" && k.Suffix == other.Suffix {
				if fn.Doc != "" {
					fn.Doc += "\n\n"
				}
				fn.Doc += fmt.Sprintf("If %s and %s are equal, %s and %s are one key.", other.SuffixOf, k.SuffixOf, other.Name, k.Name)
			}
		}
	}
}
