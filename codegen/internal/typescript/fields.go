package typescript

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/clients"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

func quote(s string) string { return strconv.QuoteToASCII(s) }

// camel turns snake_case into camelCase.
func camel(name string) string {
	all := clients.Class(name)
	return strings.ToLower(all[:1]) + all[1:]
}

// method returns the name of a client's method. A promise of a client with a method then would call it, and every client has a close.
func method(name string) string {
	name = camel(name)
	if slices.Contains([]string{"close", "constructor", "then", "toString", "toLocaleString", "valueOf", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"}, name) {
		return name + "_"
	}
	return name
}

// words returns the values of an enum as a list of literals.
func words(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = quote(v)
	}
	return strings.Join(out, ", ")
}

func typeOf(owner string, f spec.Field, param bool) string {
	switch {
	case f.Several:
		return "readonly Subject[]"
	case f.Kind == spec.KindKey:
		return "Subject"
	case f.Kind == spec.KindList:
		return "readonly (" + typeOf(owner, f.Fields[0], param) + ")[]"
	case f.Kind == spec.KindGroup && param:
		return "readonly " + clients.RowType(owner, f, true) + "[]"
	case f.Kind == spec.KindGroup:
		return clients.RowType(owner, f, false) + "[]"
	case f.Kind == spec.KindPacked:
		return clients.RowType(owner, f, true) + "Pack"
	}
	switch f.Kind {
	case spec.KindCount, spec.KindInt, spec.KindFloat:
		if param {
			return "Count"
		}
		return "number"
	case spec.KindMicros:
		return "Micros"
	case spec.KindDuration:
		return "Duration"
	case spec.KindTime:
		if !param {
			return "Time | undefined"
		}
		return "Time"
	case spec.KindBool:
		return "boolean"
	case spec.KindEnum:
		return owner + clients.Class(f.Name)
	case spec.KindBytes:
		return "Uint8Array"
	case spec.KindJSON:
		return "unknown"
	}
	if param {
		return "Text"
	}
	return "string"
}

// property returns a property of an interface with its comment.
func property(owner string, f spec.Field, param bool) string {
	if !param {
		kind := typeOf(owner, f, false)
		if f.Optional && f.Kind != spec.KindTime && f.Kind != spec.KindJSON {
			kind += " | undefined"
		}
		return comment("  ", clients.Sentence(f)) + fmt.Sprintf("  %s: %s;\n", camel(f.Name), kind)
	}
	mark := ""
	if clients.Optional(f) {
		mark = "?"
	}
	return comment("  ", clients.ArgDoc("Undefined", f)) + fmt.Sprintf("  %s%s: %s;\n", camel(f.Name), mark, typeOf(owner, f, true))
}

// params returns the properties of a function's arguments.
func params(fn clients.Function) string {
	var b strings.Builder
	for _, f := range clients.Args(fn.Function) {
		b.WriteString(property(fn.Class, f, true))
		switch {
		case f.Kind == spec.KindPacked && len(f.Keys()) > 0:
			b.WriteString(comment("  ", "The subjects of the rows of "+camel(f.Name)+", in order. Defaults to the call's subject for every row."))
			fmt.Fprintf(&b, "  %s?: readonly Subject[];\n", camel(f.Name+"_of"))
		case clients.HasOwn(fn.Params, f.Name):
			b.WriteString(comment("  ", "The subject of the keys that "+camel(f.Name)+" uses. Defaults to the call's subject."))
			fmt.Fprintf(&b, "  %s?: Subject;\n", camel(f.Name+"_of"))
		}
	}
	return b.String()
}

// names returns the names of a function's arguments.
func names(fn clients.Function) (all []string) {
	for _, f := range clients.Args(fn.Function) {
		all = append(all, camel(f.Name))
		if f.Kind == spec.KindPacked && len(f.Keys()) > 0 || clients.HasOwn(fn.Params, f.Name) {
			all = append(all, camel(f.Name+"_of"))
		}
	}
	return all
}

// document returns a method's comment.
func document(fn clients.Function) string {
	text := fn.Summary
	if fn.Doc != "" {
		text += "\n\n" + fn.Doc
	}
	for _, e := range fn.Errors {
		text += "\n\n" + e.Code + ": " + e.Doc
	}
	return comment("  ", text)
}

// comment returns a JSDoc comment, wrapped at 110 columns.
func comment(indent, text string) string {
	var lines []string
	for _, p := range strings.Split(strings.ReplaceAll(text, "*/", "* /"), "\n\n") {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		line := ""
		for _, w := range strings.Fields(p) {
			if line != "" && len(line)+1+len(w) > 104 {
				lines, line = append(lines, line), ""
			}
			line = strings.TrimSpace(line + " " + w)
		}
		lines = append(lines, line)
	}
	if len(lines) == 1 {
		return indent + "/** " + lines[0] + " */\n"
	}
	var b strings.Builder
	b.WriteString(indent + "/**\n")
	for _, l := range lines {
		b.WriteString(strings.TrimRight(indent+" * "+l, " ") + "\n")
	}
	b.WriteString(indent + " */\n")
	return b.String()
}
