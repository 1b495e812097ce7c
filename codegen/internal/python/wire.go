package python

import (
	"fmt"
	"slices"
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
			subject, f.Name = spec.Subject, spec.Subject
		}
		switch {
		case f.Several:
		case f.With == "":
			b.WriteString("    " + addKey(f, subject))
		default:
			of := subject
			if f.Own {
				of = fmt.Sprintf("%s if %s_of is None else %s_of", subject, f.With, f.With)
			}
			fmt.Fprintf(&b, "    if %s:\n        %s", variable(f.With), addKey(f, of))
		}
	}
	for _, g := range fn.Params {
		switch {
		case g.Kind == spec.KindPacked && len(g.Keys()) > 0:
			fmt.Fprintf(&b, "    a.pack_keys(%q, %s, %s, %s_of)\n", g.Name, variable(g.Name), subject, g.Name)
		case g.Kind == spec.KindGroup && len(g.Keys()) > 0:
			fmt.Fprintf(&b, "    for %s in %s:\n", rowVariable(g), variable(g.Name))
			for _, k := range g.Keys() {
				fmt.Fprintf(&b, "        a.row_key(%q, %s, %s, %s.%s)\n", k.Name, subject, suffix(rowVariable(g), k), rowVariable(g), variable(k.SuffixOf))
			}
		}
	}
	for _, f := range fn.Params {
		if f.Several {
			fmt.Fprintf(&b, "    a.subjects(%q, %s, %q, %d)\n", f.Name, variable(f.Name), f.Suffix, f.Max)
		}
	}
	for _, f := range fn.Params {
		if f.Kind != spec.KindKey {
			b.WriteString(encode("    ", fn.Class, variable(f.Name), f))
		}
	}
	return b.String() + callRules(fn)
}

// addKey returns the statement that adds a key outside groups, of a subject.
func addKey(k spec.Field, subject string) string {
	if k.SuffixOf != "" {
		return fmt.Sprintf("a.row_key(%q, %s, %q, %s)\n", k.Name, subject, k.Suffix, variable(k.SuffixOf))
	}
	return fmt.Sprintf("a.key(%q, %s, %q)\n", k.Name, subject, k.Suffix)
}

// rowVariable names the variable of a loop over a group: each group has its own, because a variable has one type.
func rowVariable(g spec.Field) string { return g.Name + "_row" }

func suffix(row string, k spec.Field) string {
	if k.SuffixKind != "" {
		return fmt.Sprintf("%s.%s", row, variable(k.SuffixKind))
	}
	return fmt.Sprintf("%q", k.Suffix)
}

// encode returns the statements that add one argument, whose value is an expression.
func encode(indent, owner, value string, f spec.Field) string {
	more := ""
	if f.Optional {
		more = ", optional=True"
	}
	switch f.Kind {
	case spec.KindBool:
		if f.TrueByDefault() {
			more = fmt.Sprintf(", optional=%s is None", value)
		}
		return fmt.Sprintf("%sa.flag(%q, %s%s)\n", indent, named(f), value, more)
	case spec.KindEnum:
		return fmt.Sprintf("%sa.enum(%q, %s, %s%s)\n", indent, named(f), value, owner+clients.Class(f.Name), more)
	case spec.KindPacked:
		return fmt.Sprintf("%sa.pack(%q, %s, %sPack, %d, %d)\n", indent, f.Name, value, clients.RowType(owner, f, true), f.Min, f.Max)
	case spec.KindList:
		item := f.Fields[0]
		item.Lua = "" // it has no name of its own
		row := rowVariable(f)
		return fmt.Sprintf("%sfor a.row, %s in enumerate(a.items(%q, %s, %d, %d)):\n%s%sa.group = \"\"\n",
			indent, row, f.Name, value, f.Min, f.Max, encode(indent+"    ", owner, row, item), indent)
	case spec.KindGroup:
		var b strings.Builder
		fmt.Fprintf(&b, "%sa.rows(%q, len(%s), %d, %d)\n%sfor a.row, %s in enumerate(%s):\n", indent, f.Name, value, f.Min, f.Max, indent, rowVariable(f), value)
		for _, inner := range f.Fields {
			if inner.Kind != spec.KindKey {
				b.WriteString(encode(indent+"    ", clients.RowPrefix(owner, f), rowVariable(f)+"."+variable(inner.Name), inner))
			}
		}
		return b.String() + indent + "a.group = \"\"\n"
	}
	method := map[spec.Kind]string{
		spec.KindCount: "integer", spec.KindMicros: "integer", spec.KindDuration: "duration", spec.KindTime: "time", spec.KindText: "text",
		spec.KindInt: "integer", spec.KindFloat: "decimal", spec.KindBytes: "text", spec.KindJSON: "json",
	}[f.Kind]
	least, most := fmt.Sprint(f.Min), fmt.Sprint(f.Max)
	if f.Kind == spec.KindFloat && f.Min == spec.NoMin {
		least = "None"
	}
	if f.Kind == spec.KindFloat && f.Max == spec.NoMax {
		most = "None"
	}
	return fmt.Sprintf("%sa.%s(%q, %s, %s, %s%s)\n", indent, method, named(f), value, least, most, more)
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
	for _, f := range r.Fields {
		b.WriteString(encode("        ", r.Prefix, "row."+variable(f.Name), f))
	}
	return b.String() + rowRules(r)
}

// packKeys returns the list of a packed row's key suffixes.
func packKeys(r clients.Row) string {
	var keys []string
	for _, k := range r.Group.Keys() {
		keys = append(keys, fmt.Sprintf("(%s, row.%s)", suffix("row", k), variable(k.SuffixOf)))
	}
	return "[" + strings.Join(keys, ", ") + "]"
}

// decodeAll returns the statements that read a result, in order.
func decodeAll(fn clients.Function) string {
	var b strings.Builder
	var names []string
	for _, f := range fn.Results {
		name := "r_" + f.Name
		names = append(names, variable(f.Name)+"="+name)
		if f.Kind == spec.KindList {
			fmt.Fprintf(&b, "    %s = [%s for _ in range(r.count())]\n", name, decode(fn.Class, f.Fields[0]))
			continue
		}
		if f.Kind != spec.KindGroup {
			fmt.Fprintf(&b, "    %s = %s\n", name, decode(fn.Class, f))
			continue
		}
		row := clients.RowType(fn.Class, f, false)
		fmt.Fprintf(&b, "    %s = [\n        %s(\n", name, row)
		for _, inner := range f.Fields {
			fmt.Fprintf(&b, "            %s=%s,\n", variable(inner.Name), decode(clients.RowPrefix(fn.Class, f), inner))
		}
		b.WriteString("        )\n        for _ in range(r.count())\n    ]\n")
	}
	fmt.Fprintf(&b, "    return %sResult(\n        %s,\n    )\n", fn.Class, strings.Join(names, ",\n        "))
	return b.String()
}

func decode(owner string, f spec.Field) string {
	if f.Optional {
		f.Optional = false
		skip := "count"
		if f.Kind.Text() {
			skip = "raw"
		}
		return fmt.Sprintf("r.optional(%s, r.%s)", reader(decode(owner, f)), skip)
	}
	switch f.Kind {
	case spec.KindEnum:
		return fmt.Sprintf("r.enum(%s)", owner+clients.Class(f.Name))
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

// reader returns a function that reads a result.
func reader(read string) string {
	if method, plain := strings.CutSuffix(read, "()"); plain {
		return method
	}
	return "lambda: " + read
}

// results returns the tuple that describes the encoding of results.
func results(fields []spec.Field) string {
	digits := spec.Digits(fields)
	out := make([]string, len(fields))
	for i, f := range fields {
		switch {
		case f.Kind.Repeated():
			out[i] = fmt.Sprintf("Result(rows=%s)", results(f.Fields))
		case f.Kind.Text():
			out[i] = "Result(text=True)"
		case digits[i] > 0:
			out[i] = fmt.Sprintf("Result(values=%d)", digits[i])
		default:
			out[i] = "Result()"
		}
	}
	return "(" + strings.Join(slices.Concat(out, []string{""}), ", ") + ")"
}
