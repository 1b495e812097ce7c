package python

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/clients"
	"github.com/rlfunc/rlfunc/codegen/internal/rule"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

var keywords = strings.Fields(`False None True and as assert async await break class continue def del elif else except finally for from
global if import in is lambda nonlocal not or pass raise return try while with yield self a r`)

// annotations are the names of types in a class. A field with such a name would stand for the type in the annotations after it.
var annotations = strings.Fields("int float str bytes bool list dict datetime timedelta")

// identifier returns a name that Python accepts: a keyword, or a name that generated code uses itself, gets an underscore.
func identifier(name string) string {
	if slices.Contains(keywords, name) {
		return name + "_"
	}
	return name
}

// method returns the name of a client's method. Every client has a close.
func method(name string) string {
	if name == "close" {
		return name + "_"
	}
	return identifier(name)
}

// variable returns the name of an argument or field, with an underscore also if it is that of a type.
func variable(name string) string {
	if slices.Contains(annotations, name) {
		return name + "_"
	}
	return identifier(name)
}

// member returns the name of an enum's member.
func member(value string) string { return strings.ToUpper(value) }

func quote(s string) string { return strconv.QuoteToASCII(s) }

// plainType returns the type of a value that is neither a key nor a group.
func plainType(owner string, f spec.Field, param bool) string {
	switch f.Kind {
	case spec.KindCount, spec.KindInt:
		return "int"
	case spec.KindFloat:
		return "float"
	case spec.KindMicros:
		return "Micros"
	case spec.KindDuration:
		return "timedelta"
	case spec.KindTime:
		if !param {
			return "datetime | None"
		}
		return "datetime"
	case spec.KindBool:
		return "bool"
	case spec.KindEnum:
		return owner + clients.Class(f.Name)
	case spec.KindBytes:
		return "bytes"
	case spec.KindJSON:
		return "Any"
	}
	if param {
		return "Text"
	}
	return "str"
}

// argType returns the annotation of a parameter, with its default.
func argType(owner string, f spec.Field) string {
	switch {
	case f.Several:
		return "Sequence[Subject]" + defaultOf(f, " = ()")
	case f.Kind == spec.KindKey:
		return "Subject"
	case f.Kind == spec.KindList:
		return "Sequence[" + plainType(owner, f.Fields[0], true) + "]" + defaultOf(f, " = ()")
	case f.Kind == spec.KindGroup:
		return "Sequence[" + clients.RowType(owner, f, true) + "]" + defaultOf(f, " = ()")
	case f.Kind == spec.KindPacked && clients.Optional(f):
		return clients.RowType(owner, f, true) + "Pack | None = None"
	case f.Kind == spec.KindPacked:
		return clients.RowType(owner, f, true) + "Pack"
	case f.Kind == spec.KindBool && f.Optional && !f.TrueByDefault():
		return "bool = False"
	case f.Optional:
		return plainType(owner, f, true) + " | None = None"
	}
	return plainType(owner, f, true)
}

func defaultOf(f spec.Field, value string) string {
	if clients.Optional(f) {
		return value
	}
	return ""
}

// signature returns the parameters of a method after self: the subject by position, all others by name.
func signature(fn clients.Function) string {
	var b strings.Builder
	for i, p := range parameters(fn) {
		if i == 1 {
			b.WriteString("        *,\n")
		}
		fmt.Fprintf(&b, "        %s: %s,\n", p.Name, p.Type)
	}
	return b.String()
}

// pass returns the arguments that a method passes on.
func pass(fn clients.Function) string {
	var names []string
	for i, p := range parameters(fn) {
		if i > 0 {
			p.Name += "=" + p.Name
		}
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// attribute returns a field of a dataclass with its docstring.
func attribute(owner string, f spec.Field, param bool) string {
	kind, doc := plainType(owner, f, param), clients.Sentence(f)
	switch {
	case param:
		kind, doc = argType(owner, f), clients.ArgDoc("None", f)
	case f.Kind == spec.KindList:
		kind = "list[" + plainType(owner, f.Fields[0], false) + "]"
	case f.Optional && f.Kind != spec.KindTime:
		kind += " | None"
	case f.Kind == spec.KindGroup:
		kind = "list[" + clients.RowType(owner, f, false) + "]"
	}
	return fmt.Sprintf("    %s: %s\n%s", variable(f.Name), kind, literal("    ", doc))
}

// docstring returns a method's docstring.
func docstring(fn clients.Function) string {
	text := fn.Summary
	if fn.Doc != "" {
		text += "\n\n" + fn.Doc
	}
	lines := []string{text, "Args:"}
	for _, p := range parameters(fn) {
		lines = append(lines, "\x00"+p.Name+": "+p.Doc)
	}
	if rules := rule.Documented(&fn.Function); len(rules) > 0 {
		lines = append(lines, "Besides the bounds of each:")
		for _, r := range rules {
			lines = append(lines, "\x00"+rule.Sentence(r, false))
		}
	}
	if len(fn.Errors) > 0 {
		lines = append(lines, "Raises, besides what every call does:")
		for _, e := range fn.Errors {
			lines = append(lines, "\x00"+e.Code+": "+e.Doc)
		}
	}
	return literal("        ", strings.ReplaceAll(strings.Join(lines, "\n\n"), "\n\n\x00", "\n\x00"))
}

// literal returns a docstring, wrapped at 110 columns.
func literal(indent, text string) string {
	text = strings.NewReplacer(`\`, `\\`, `"""`, `'''`).Replace(text)
	var lines []string
	for _, line := range strings.Split(text, "\n\n") {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		for _, item := range strings.Split(line, "\n\x00") {
			prefix := ""
			if strings.Contains(line, "\n\x00") && item != strings.Split(line, "\n\x00")[0] {
				prefix = "    "
			}
			lines = append(lines, wrap(prefix, item)...)
		}
	}
	if len(lines) == 1 {
		return indent + `"""` + lines[0] + `"""` + "\n"
	}
	var b strings.Builder
	b.WriteString(indent + `"""` + lines[0] + "\n")
	for _, l := range lines[1:] {
		b.WriteString(strings.TrimRight(indent+l, " ") + "\n")
	}
	b.WriteString(indent + `"""` + "\n")
	return b.String()
}

func wrap(prefix, text string) (out []string) {
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(line)+1+len(w) > 100 {
			out = append(out, prefix+line)
			line, w = "", "    "+w
			if prefix == "" {
				w = strings.TrimSpace(w)
			}
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(out, prefix+line)
}

// A parameter of a method: its name, and its annotation with a default.
type parameter struct{ Name, Type, Doc string }

func parameters(fn clients.Function) (out []parameter) {
	for _, f := range clients.Args(fn.Function) {
		out = append(out, parameter{variable(f.Name), argType(fn.Class, f), clients.ArgDoc("None", f)})
		switch {
		case f.Kind == spec.KindPacked && len(f.Keys()) > 0:
			out = append(out, parameter{f.Name + "_of", "Sequence[Subject] = ()", "The subjects of the rows of " + f.Name + ", in order. Defaults to the call's subject for every row."})
		case clients.HasOwn(fn.Params, f.Name):
			out = append(out, parameter{f.Name + "_of", "Subject | None = None", "The subject of the keys that " + f.Name + " uses. Defaults to the call's subject."})
		}
	}
	return out
}
