package vet

import (
	"maps"
	"slices"
	"strings"
)

// Forms is the table of forms.
func Forms() string { return formTable }

// CommandNames returns the commands that vet knows, sorted.
func CommandNames() []string { return slices.Sorted(maps.Keys(commands)) }

// Fits reports whether a command's literals have its form.
func Fits(args []string) bool {
	shapes := make([]shape, len(args)-1)
	for i := range shapes {
		shapes[i] = shape{kinds: isPlain, lead: args[i+1], whole: true}
	}
	return forms[strings.ToUpper(args[0])].fits(shapes)
}
