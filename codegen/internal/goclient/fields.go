package goclient

import (
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/clients"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// rowFields returns the fields of a group's row struct.
func rowFields(g spec.Field) []spec.Field {
	var out []spec.Field
	for _, f := range g.Fields {
		if f.Kind != spec.KindKey {
			out = append(out, f)
		}
	}
	return out
}

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

// goType returns the Go type of a params field; owner is the function's Go name, followed by the group's in a row.
func goType(owner string, f spec.Field) string {
	if f.Several {
		return "[]fcall.Subject"
	}
	if f.Kind == spec.KindKey {
		return "fcall.Subject"
	}
	if f.Kind == spec.KindList {
		return resultType(owner, f)
	}
	if f.Kind == spec.KindGroup {
		return "[]" + rowName(owner, f)
	}
	if f.Kind == spec.KindPacked {
		return rowName(owner, f) + "Pack"
	}
	t := resultType(owner, f)
	if Pointer(f) {
		return "*" + t
	}
	return t
}

// answerType returns the Go type of a results field: a pointer if it is optional, because none is not the zero value. Bytes have nil for
// none.
func answerType(owner string, f spec.Field) string {
	if f.Optional && !nilable(f) {
		return "*" + resultType(owner, f)
	}
	return resultType(owner, f)
}

// nilable reports whether the Go type of a field has a nil that is not its empty value.
func nilable(f spec.Field) bool {
	return f.Kind == spec.KindBytes || f.Kind == spec.KindJSON
}

// resultType returns the Go type of a result that is there.
func resultType(owner string, f spec.Field) string {
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
		return owner + goName(f.Name)
	case spec.KindBytes:
		return "[]byte"
	case spec.KindJSON:
		return "json.RawMessage"
	case spec.KindList:
		return "[]" + resultType(owner, f.Fields[0])
	case spec.KindGroup:
		return "[]" + rowName(owner, f) + "Result"
	}
	return "string"
}

// fieldDoc returns a field's comment: the author's text, its bounds, and the meaning of omitting it.
func fieldDoc(f spec.Field, param bool) string {
	text := goName(f.Name) + ": " + f.Doc
	if f.Kind == spec.KindKey && !f.Several {
		text = goName(f.Name) + " is " + f.Doc
	}
	if f.Kind == spec.KindBool && strings.HasPrefix(f.Doc, "whether ") {
		text = goName(f.Name) + " reports " + f.Doc
		if param {
			text = goName(f.Name) + " sets " + f.Doc
		}
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	if !param && f.Optional {
		text += " Nil if there is none."
	}
	if !param {
		return paragraphs(text)
	}
	if b := clients.Bounds(f); b != "" {
		text += " " + strings.ToUpper(b[:1]) + b[1:]
		if f.Kind == spec.KindDuration {
			text += ", rounded up to a microsecond"
		}
		text += "."
	}
	value, given := clients.Default(f)
	switch {
	case f.Kind == spec.KindKey && !f.Several:
		text += " It must not be empty."
	case given && Pointer(f):
		text += " Nil defaults to " + value + "."
	case given:
		text += " Defaults to " + value + "."
	case Pointer(f):
		text += " Nil omits it."
	case f.Optional && f.Kind != spec.KindBool:
		text += " The zero value omits it."
	}
	return paragraphs(text)
}

// An enum is a Go string type with its values.
type enum struct {
	Type   string
	Of     string
	Values []string
}

// enums returns the enum types of a function, including those of its groups. An argument and a result of the same name share a type.
func enums(d data) []enum {
	seen := map[string]bool{}
	return append(enumsOf(d.Go, d.Params, seen), enumsOf(d.Go, d.Results, seen)...)
}

// enumsOf returns the enum types of fields that are not in seen, except those of rows that a lib file declares.
func enumsOf(owner string, fields []spec.Field, seen map[string]bool) (out []enum) {
	for _, f := range fields {
		name := owner + goName(f.Name)
		if f.Kind == spec.KindEnum && !seen[name] {
			seen[name] = true
			out = append(out, enum{name, f.Name, f.Values})
		}
		if f.Kind == spec.KindList {
			name = owner // an item has the list's name
		}
		if f.Rows == "" {
			out = append(out, enumsOf(name, f.Fields, seen)...)
		}
	}
	return out
}

// EnumType returns the Go type of an enum, whose owner is the function's Go name, followed by the group's in a row. The constant of a
// value is the type's name followed by the value's.
func EnumType(owner string, f spec.Field) string { return resultType(owner, f) }

// ItemType returns the Go type of a list's item of a kind that has no type of its own package.
func ItemType(f spec.Field) string { return resultType("", f) }

// imports are the packages that a file needs besides those of its template.
type imports struct{ Time, JSON bool }

// importsOf returns the imports of a file with these fields.
func importsOf(fields []spec.Field) (out imports) {
	for _, f := range fields {
		inner := importsOf(f.Fields)
		out.Time = out.Time || inner.Time || f.Kind == spec.KindDuration || f.Kind == spec.KindTime
		out.JSON = out.JSON || inner.JSON || f.Kind == spec.KindJSON
	}
	return out
}
