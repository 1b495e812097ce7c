package vet

import "strings"

// Forms is the table of forms.
func Forms() string { return formTable }

// Fits reports whether a command's literals have its form.
func Fits(args []string) bool {
	shapes := make([]shape, len(args)-1)
	for i := range shapes {
		shapes[i] = shape{kinds: isPlain, lead: args[i+1], whole: true}
	}
	return forms[strings.ToUpper(args[0])].fits(shapes)
}
