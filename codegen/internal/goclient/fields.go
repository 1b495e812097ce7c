package goclient

import (
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/clients"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// Pointer reports whether the Go field of an argument is a pointer: omitting it needs a nil, because its zero value is a valid
// argument with another meaning.
func Pointer(f spec.Field) bool {
	switch {
	case !f.Optional || f.Kind == spec.KindTime || zeroByDefault(f):
		return false
	case f.Kind == spec.KindBool:
		return f.TrueByDefault()
	}
	return (f.Kind.Integer() || f.Kind == spec.KindFloat) && f.Min <= 0 && f.Max >= 0
}

// zeroByDefault reports whether an omitted argument means 0.
func zeroByDefault(f spec.Field) bool {
	return f.Default != nil && *f.Default == 0 || f.Kind == spec.KindFloat && f.DefaultOf == "0"
}

// goType returns the Go type of a params field; owner is the function's Go name, or the type of a row.
func goType(owner string, f spec.Field) string {
	switch {
	case f.Several:
		return "[]fcall.Subject"
	case f.Kind == spec.KindKey:
		return "fcall.Subject"
	case f.Kind == spec.KindGroup:
		return "fcall.Rows[" + RowType(owner, f) + "]"
	case Pointer(f):
		return "*" + ResultType(owner, f)
	}
	return ResultType(owner, f)
}

// ResultType returns the Go type of a result; owner is the function's Go name, or the type of a row. A constant of an enum is its type's
// name followed by the value's.
func ResultType(owner string, f spec.Field) string {
	switch f.Kind {
	case spec.KindCount, spec.KindInt:
		return "int64"
	case spec.KindFloat:
		return "float64"
	case spec.KindMicros:
		return "fcall.Micros"
	case spec.KindDuration:
		return "time.Duration"
	case spec.KindTime:
		return "time.Time"
	case spec.KindBool:
		return "bool"
	case spec.KindEnum:
		return owner + Name(f.Name)
	case spec.KindGroup:
		return "[]" + RowType(owner, f) + "Result"
	}
	return "string"
}

// fieldDoc returns a field's comment: the author's text, its bounds, and the meaning of omitting it.
func fieldDoc(f spec.Field, param bool) string {
	text := Name(f.Name) + ": " + f.Doc
	if f.Kind == spec.KindKey && !f.Several {
		text = Name(f.Name) + " is " + f.Doc
	}
	if f.Kind == spec.KindBool && strings.HasPrefix(f.Doc, "whether ") {
		text = Name(f.Name) + " reports " + f.Doc
		if param {
			text = Name(f.Name) + " sets " + f.Doc
		}
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	if !param {
		return paragraphs(text)
	}
	if b := clients.Bounds(f); b != "" {
		text += " " + strings.ToUpper(b[:1]) + b[1:] + "."
	}
	value, given := clients.Default(f)
	switch {
	case given && Pointer(f):
		text += " Nil defaults to " + value + "."
	case given:
		text += " Defaults to " + value + "."
	case Pointer(f):
		text += " Nil omits it."
	case f.Optional && f.Kind != spec.KindBool && f.Kind != spec.KindKey:
		text += " The zero value omits it."
	}
	return paragraphs(text)
}

// ruleDoc returns the paragraph of a comment that lists the rules of a call or of its rows; nothing without any.
func ruleDoc(rules []spec.Rule) string {
	if len(rules) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("//\n// Besides the bounds of each, by their names on the server:\n")
	for i := range rules {
		lines := strings.ReplaceAll(paragraphs(rules[i].Text()+"."), "\n// ", "\n//     ")
		b.WriteString("//   - " + strings.TrimPrefix(lines, "// ") + "\n")
	}
	return b.String()
}
