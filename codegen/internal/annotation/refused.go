package annotation

import (
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// readRefused reads `@refused reserved` of a bool, or `@refused outcome full blocked` of an enum, below the result.
func readRefused(r *fieldReader, rw row, fn *spec.Function) {
	words := strings.Fields(rw.doc(rw.text))
	column := func(w string) int { return rw.textCol + max(0, strings.Index(rw.text, w)) }
	if len(words) == 0 {
		r.add(rw.line, rw.col, RuleRefused, "@refused names a bool result that is false in a refused call, or an enum result and the values that refuse")
		return
	}
	if fn.Refused != nil {
		r.add(rw.line, rw.col, RuleDuplicate, "@refused is already declared for %s", fn.Refused.Result)
		return
	}
	name, values := words[0], words[1:]
	var known []string
	for _, f := range fn.Results {
		known = append(known, f.Name)
	}
	at := slices.Index(known, name)
	if at < 0 {
		r.add(rw.line, column(name), RuleRefused, "result %s is not declared above%s", name, spelling.DidYouMean(name, known))
		return
	}
	switch f := fn.Results[at]; {
	case f.Kind != spec.KindBool && f.Kind != spec.KindEnum:
		r.add(rw.line, column(name), RuleRefused, "%s is a %s: only a bool or an enum can say that a call was refused", name, f.Kind)
		return
	case f.Kind == spec.KindBool && len(values) > 0:
		r.add(rw.line, column(values[0]), RuleRefused, "%s is a bool, and false refuses: leave out %s", name, strings.Join(values, " "))
		return
	case f.Kind == spec.KindEnum && len(values) == 0:
		r.add(rw.line, column(name), RuleRefused, "say which values of %s refuse: %s", name, strings.Join(f.Values, ", "))
		return
	default:
		for i, v := range values {
			if strings.Contains(v, ",") {
				r.add(rw.line, column(v), RuleRefused, "values are separated by blanks, without commas, got %s", v)
				return
			}
			if !slices.Contains(f.Values, v) {
				r.add(rw.line, column(v), RuleRefused, "%s has no value %s%s (values: %s)", name, v, spelling.DidYouMean(v, f.Values), strings.Join(f.Values, ", "))
				return
			}
			if slices.Contains(values[:i], v) {
				r.add(rw.line, column(v), RuleDuplicate, "%s is repeated", v)
				return
			}
		}
	}
	fn.Refused = &spec.Refused{Result: name, Values: values}
}

// allowedRefuses makes a bool named allowed say so without an @refused.
func allowedRefuses(fn *spec.Function) {
	for _, f := range fn.Results {
		if fn.Refused == nil && f.Name == "allowed" && f.Kind == spec.KindBool {
			fn.Refused = &spec.Refused{Result: f.Name}
		}
	}
}

// checkRecords reads `@records the attempt`: what a refused call changes. Without one it changes nothing.
func (r *fieldReader) checkRecords(rows []row, fn *spec.Function) {
	allowedRefuses(fn)
	for _, rw := range ofTag(rows, tagRecords) {
		switch text := rw.doc(rw.text); {
		case text == "":
			r.add(rw.line, rw.col, RuleRefused, "@records has no text: say what a refused call records, such as the attempt")
		case fn.Refused == nil:
			r.add(rw.line, rw.col, RuleRefused, "no result of %s says that a call was refused: @records goes with a @refused, or a bool named allowed", fn.Name)
		case fn.Has("no-writes"):
			r.add(rw.line, rw.col, RuleRefused, "%s has the flag no-writes: no call records anything", fn.Name)
		case fn.Refused.Records != "":
			r.add(rw.line, rw.col, RuleDuplicate, "@records is repeated")
		default:
			fn.Refused.Records = text
		}
	}
}

// ofTag are the rows of a tag.
func ofTag(rows []row, tag string) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(rw row) bool { return rw.tag != tag })
}
