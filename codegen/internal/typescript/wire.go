package typescript

import (
	"fmt"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/clients"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// encodeAll returns the statements that add a call's keys, then its arguments.
func encodeAll(fn clients.Function) string {
	var b strings.Builder
	subject := ""
	for _, f := range fn.Params {
		if f.Kind != spec.KindKey {
			continue
		}
		if subject == "" {
			subject, f.Name = "p."+spec.Subject, spec.Subject
		}
		switch {
		case f.Several:
		case f.With == "":
			b.WriteString("  " + addKey(f, subject))
		default:
			of := subject
			if f.Own {
				of = fmt.Sprintf("p.%s ?? %s", camel(f.With+"_of"), subject)
			}
			fmt.Fprintf(&b, "  if (given(p.%s)) %s", camel(f.With), addKey(f, of))
		}
	}
	for _, g := range fn.Params {
		switch {
		case g.Kind == spec.KindPacked && len(g.Keys()) > 0:
			fmt.Fprintf(&b, "  a.packKeys(%q, p.%s, %s, p.%s);\n", g.Name, camel(g.Name), subject, camel(g.Name+"_of"))
		case g.Kind == spec.KindGroup && len(g.Keys()) > 0:
			fmt.Fprintf(&b, "  for (const row of %s) {\n", list(g))
			for _, k := range g.Keys() {
				fmt.Fprintf(&b, "    a.rowKey(%q, %s, %s, row.%s);\n", k.Name, subject, suffix(k), camel(k.SuffixOf))
			}
			b.WriteString("  }\n")
		}
	}
	for _, f := range fn.Params {
		if f.Several {
			fmt.Fprintf(&b, "  a.subjects(%q, %s, %q, %d);\n", f.Name, list(f), f.Suffix, f.Max)
		}
	}
	for _, f := range fn.Params {
		if f.Kind != spec.KindKey {
			b.WriteString(encode("  ", fn.Class, "p."+camel(f.Name), f))
		}
	}
	return b.String() + callRules(fn)
}

// addKey returns the statement that adds a key outside groups, of a subject.
func addKey(k spec.Field, subject string) string {
	if k.SuffixOf != "" {
		return fmt.Sprintf("a.rowKey(%q, %s, %q, p.%s);\n", k.Name, subject, k.Suffix, camel(k.SuffixOf))
	}
	return fmt.Sprintf("a.key(%q, %s, %q);\n", k.Name, subject, k.Suffix)
}

// list returns the expression for a list that may be omitted.
func list(f spec.Field) string {
	if clients.Optional(f) {
		return fmt.Sprintf("p.%s ?? []", camel(f.Name))
	}
	return "p." + camel(f.Name)
}

func suffix(k spec.Field) string {
	if k.SuffixKind != "" {
		return "row." + camel(k.SuffixKind)
	}
	return quote(k.Suffix)
}

// encode returns the statements that add one argument, whose value is an expression.
func encode(indent, owner, value string, f spec.Field) string {
	more := ""
	if f.Optional {
		more = ", true"
	}
	switch f.Kind {
	case spec.KindBool:
		if f.TrueByDefault() {
			more = fmt.Sprintf(", %s === undefined", value)
		}
		return fmt.Sprintf("%sa.flag(%q, %s%s);\n", indent, named(f), value, more)
	case spec.KindEnum:
		return fmt.Sprintf("%sa.word(%q, %s, %s%s);\n", indent, named(f), value, owner+clients.Class(f.Name)+"Values", more)
	case spec.KindPacked:
		return fmt.Sprintf("%sa.pack(%q, %s, %d, %d);\n", indent, f.Name, value, f.Min, f.Max)
	case spec.KindGroup, spec.KindList:
		var b strings.Builder
		rows := list(f)
		fmt.Fprintf(&b, "%sa.rows(%q, (%s).length, %d, %d);\n%s(%s).forEach((row, i) => {\n%s  a.row = i;\n", indent, f.Name, rows, f.Min, f.Max, indent, rows, indent)
		if f.Kind == spec.KindGroup {
			b.WriteString(indent + "  " + only(f.Fields))
		}
		for _, inner := range f.Fields {
			switch {
			case f.Kind == spec.KindList:
				inner.Lua = "" // it has no name of its own
				b.WriteString(encode(indent+"  ", owner, "row", inner))
			case inner.Kind != spec.KindKey:
				b.WriteString(encode(indent+"  ", clients.RowPrefix(owner, f), "row."+camel(inner.Name), inner))
			}
		}
		return b.String() + indent + "});\n" + indent + "a.group = \"\";\n"
	}
	method := map[spec.Kind]string{
		spec.KindCount: "integer", spec.KindMicros: "integer", spec.KindDuration: "duration", spec.KindTime: "time", spec.KindText: "text",
		spec.KindInt: "integer", spec.KindFloat: "decimal", spec.KindBytes: "text", spec.KindJSON: "json",
	}[f.Kind]
	least, most := fmt.Sprint(f.Min), fmt.Sprint(f.Max)
	if f.Kind == spec.KindFloat && f.Min == spec.NoMin {
		least = "-Infinity"
	}
	if f.Kind == spec.KindFloat && f.Max == spec.NoMax {
		most = "Infinity"
	}
	return fmt.Sprintf("%sa.%s(%q, %s, %s, %s%s);\n", indent, method, named(f), value, least, most, more)
}

// only returns the statement that rejects fields which a row does not have.
func only(fields []spec.Field) string {
	var names []string
	for _, f := range fields {
		if f.Kind != spec.KindKey {
			names = append(names, camel(f.Name))
		}
	}
	return fmt.Sprintf("a.only(row, %s);\n", words(names))
}

// named returns the name of a field in errors, which an item of a list does not have.
func named(f spec.Field) string {
	if f.Lua == "" {
		return ""
	}
	return f.Name
}

// cells returns the statements that add one row's cells of a pack.
func cells(r clients.Row) string {
	var b strings.Builder
	b.WriteString("      " + only(r.Fields))
	for _, f := range r.Fields {
		b.WriteString(encode("      ", r.Prefix, "row."+camel(f.Name), f))
	}
	return b.String() + rowRules(r)
}

// packKeys returns the list of a packed row's key suffixes.
func packKeys(r clients.Row) string {
	var keys []string
	for _, k := range r.Group.Keys() {
		keys = append(keys, fmt.Sprintf("[%s, row.%s]", suffix(k), camel(k.SuffixOf)))
	}
	return "[" + strings.Join(keys, ", ") + "]"
}

// decodeAll returns the properties of a result, read in order.
func decodeAll(fn clients.Function) string {
	var b strings.Builder
	for _, f := range fn.Results {
		if f.Kind == spec.KindList {
			fmt.Fprintf(&b, "    %s: r.rows(() => %s),\n", camel(f.Name), decode(fn.Class, f.Fields[0]))
			continue
		}
		if f.Kind != spec.KindGroup {
			fmt.Fprintf(&b, "    %s: %s,\n", camel(f.Name), decode(fn.Class, f))
			continue
		}
		fmt.Fprintf(&b, "    %s: r.rows(() => ({\n", camel(f.Name))
		for _, inner := range f.Fields {
			fmt.Fprintf(&b, "      %s: %s,\n", camel(inner.Name), decode(clients.RowPrefix(fn.Class, f), inner))
		}
		b.WriteString("    })),\n")
	}
	return b.String()
}

func decode(owner string, f spec.Field) string {
	if f.Optional {
		f.Optional = false
		skip := "count"
		if f.Kind.Text() {
			skip = "raw"
		}
		return fmt.Sprintf("r.flag() ? %s : r.none(r.%s())", decode(owner, f), skip)
	}
	switch f.Kind {
	case spec.KindEnum:
		return fmt.Sprintf("r.word(%sValues)", owner+clients.Class(f.Name))
	case spec.KindBytes:
		return "r.raw()"
	case spec.KindJSON:
		return "r.json()"
	case spec.KindBool:
		return "r.flag()"
	case spec.KindText, spec.KindMicros, spec.KindDuration, spec.KindTime:
		return fmt.Sprintf("r.%s()", f.Kind)
	case spec.KindInt:
		return "r.signed()"
	case spec.KindFloat:
		return "r.decimal()"
	}
	return "r.count()"
}

// results returns the array that describes the encoding of results.
func results(fields []spec.Field) string {
	digits := spec.Digits(fields)
	out := make([]string, len(fields))
	for i, f := range fields {
		switch {
		case f.Kind.Repeated():
			out[i] = fmt.Sprintf("{ rows: %s }", results(f.Fields))
		case f.Kind.Text():
			out[i] = "{ text: true }"
		case digits[i] > 0:
			out[i] = fmt.Sprintf("{ values: %d }", digits[i])
		default:
			out[i] = "{}"
		}
	}
	return "[" + strings.Join(out, ", ") + "]"
}
