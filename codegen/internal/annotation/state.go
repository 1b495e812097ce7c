package annotation

import (
	"slices"
	"strconv"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// readState reads `@state NAME NUMBER text`: what a file stores, and the number of its shape.
func readState(r *fieldReader, rw row, states *[]spec.State) {
	name, rest, col, restCol := word(rw.text, rw.textCol)
	digits, text, numberCol, _ := word(rest, restCol)
	number, err := strconv.Atoi(digits)
	doc := rw.doc(text)
	switch {
	case !nameForm.MatchString(name):
		r.add(rw.line, col, RuleState, "@state names what is stored and the number of its shape, as `@state log 1 the times, oldest first`, got %q", name)
	case err != nil || number < 1 || digits != strconv.Itoa(number):
		r.add(rw.line, numberCol, RuleState, "the shape of %s has a whole number from 1, which goes up when the shape changes, got %q", name, digits)
	case doc == "":
		r.add(rw.line, numberCol, RuleState, "@state %s does not say what is stored", name)
	case slices.ContainsFunc(*states, func(s spec.State) bool { return s.Name == name }):
		r.add(rw.line, col, RuleDuplicate, "@state %s is repeated", name)
	default:
		*states = append(*states, spec.State{Name: name, Number: number, Doc: doc, File: r.path, Line: rw.line, Col: col})
	}
}
