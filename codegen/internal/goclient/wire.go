package goclient

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// countKeys returns the Go expression for a call's number of keys.
func countKeys(fields []spec.Field) string {
	n, rows := 0, ""
	for _, f := range fields {
		switch {
		case f.Several:
			rows += fmt.Sprintf(" + len(p.%s)", goName(f.Name))
		case f.Kind == spec.KindKey:
			n++
		case f.Kind == spec.KindGroup && len(f.Keys()) > 0:
			rows += fmt.Sprintf(" + %d*len(p.%s)", len(f.Keys()), goName(f.Name))
		case f.Kind == spec.KindPacked && len(f.Keys()) > 0:
			rows += fmt.Sprintf(" + p.%s.pack.Keys()", goName(f.Name))
		}
	}
	return fmt.Sprint(n) + rows
}

// countArgs returns the Go expression for a call's number of arguments.
func countArgs(fields []spec.Field) string {
	n, rows := 0, ""
	for _, f := range fields {
		switch f.Kind {
		case spec.KindKey:
		case spec.KindGroup, spec.KindList:
			n++
			rows += fmt.Sprintf(" + %d*len(p.%s)", len(rowFields(f)), goName(f.Name))
		default:
			n++
		}
	}
	return fmt.Sprint(n) + rows
}

// keyFields returns the statements that build the keys, all of which precede the first argument.
func keyFields(fields []spec.Field) string {
	var b strings.Builder
	subject, last := "", "" // last is the condition of the key before
	for _, f := range fields {
		if f.Kind == spec.KindKey {
			if subject == "" {
				f.Name = spec.Subject
				subject = "p." + goName(f.Name)
			}
			switch of := subject; {
			case f.Several:
			case f.With == "":
				b.WriteString(addKey(f, subject))
			default:
				if f.Own {
					of = fmt.Sprintf("cmp.Or(p.%sOf, %s)", goName(f.With), subject)
				}
				condition := fmt.Sprintf("if %s {\n", given(fields, f.With))
				if before, ok := strings.CutSuffix(b.String(), "}\n"); ok && last == condition {
					b.Reset()
					b.WriteString(before)
				} else {
					b.WriteString(condition)
				}
				last = condition
				b.WriteString(addKey(f, of) + "}\n")
			}
		}
	}
	for _, g := range fields {
		if g.Kind == spec.KindPacked && len(g.Keys()) > 0 {
			fmt.Fprintf(&b, "a.PackKeys(%q, p.%s.pack, %s, p.%sOf)\n", g.Name, goName(g.Name), subject, goName(g.Name))
		}
		if g.Kind != spec.KindGroup || len(g.Keys()) == 0 {
			continue
		}
		fmt.Fprintf(&b, "for i := range p.%s {\n", goName(g.Name))
		for _, k := range g.Keys() {
			suffix := fmt.Sprintf("%q", k.Suffix)
			if k.SuffixKind != "" {
				suffix = fmt.Sprintf("string(p.%s[i].%s)", goName(g.Name), goName(k.SuffixKind))
			}
			fmt.Fprintf(&b, "a.RowKey(%q, %s, %s, p.%s[i].%s)\n", k.Name, subject, suffix, goName(g.Name), goName(k.SuffixOf))
		}
		b.WriteString("}\n")
	}
	for _, f := range fields {
		if f.Several {
			fmt.Fprintf(&b, "a.Keys(%q, p.%s, %q, %d)\n", f.Name, goName(f.Name), f.Suffix, f.Max)
		}
	}
	return b.String()
}

// addKey returns the statement that adds a key outside groups, of a subject.
func addKey(k spec.Field, subject string) string {
	if k.SuffixOf != "" {
		return fmt.Sprintf("a.RowKey(%q, %s, %q, p.%s)\n", k.Name, subject, k.Suffix, goName(k.SuffixOf))
	}
	return fmt.Sprintf("a.Key(%q, %s, %q)\n", k.Name, subject, k.Suffix)
}

// given returns the Go condition that a call has the argument that a key needs.
func given(fields []spec.Field, name string) string {
	i := slices.IndexFunc(fields, func(f spec.Field) bool { return f.Name == name && f.Kind != spec.KindKey })
	if fields[i].Kind == spec.KindPacked {
		return fmt.Sprintf("p.%s.Len() > 0", goName(name))
	}
	return fmt.Sprintf(`p.%s != ""`, goName(name))
}

// encode returns the statement that adds one argument, read from the struct `from`; owner is the function's Go name.
func encode(owner, from string, f spec.Field) string {
	return encodeValue(owner, from+"."+goName(f.Name), f)
}

func encodeValue(owner, value string, f spec.Field) string {
	opt := ""
	if f.Optional {
		opt = "Opt"
	}
	ptr := ""
	if Pointer(f) {
		ptr = "Ptr"
	}
	switch f.Kind {
	case spec.KindBool:
		return fmt.Sprintf("a.%sBool%s(%q, %s)", opt, ptr, f.Name, value)
	case spec.KindText:
		return fmt.Sprintf("a.%sText(%q, %s, %d, %d)", opt, f.Name, value, f.Min, f.Max)
	case spec.KindBytes:
		return fmt.Sprintf("a.%sText(%q, string(%s), %d, %d)", opt, f.Name, value, f.Min, f.Max)
	case spec.KindJSON:
		return fmt.Sprintf("a.%sJSON(%q, %s, %d, %d)", opt, f.Name, value, f.Min, f.Max)
	case spec.KindEnum:
		return fmt.Sprintf("a.%sEnum(%q, string(%s), %s)", opt, f.Name, value, quoted(f.Values))
	case spec.KindFloat:
		return fmt.Sprintf("a.%sFloat%s(%q, %s, %s, %s)", opt, ptr, f.Name, value, floatBound(f.Min), floatBound(f.Max))
	case spec.KindCount, spec.KindInt:
		return fmt.Sprintf("a.%sInt%s(%q, %s, %d, %d)", opt, ptr, f.Name, value, f.Min, f.Max)
	case spec.KindMicros:
		amount := "int64(" + value + ")"
		if ptr != "" {
			amount = "(*int64)(" + value + ")"
		}
		return fmt.Sprintf("a.%sInt%s(%q, %s, %d, %d)", opt, ptr, f.Name, amount, f.Min, f.Max)
	case spec.KindDuration:
		return fmt.Sprintf("a.%sDuration%s(%q, %s, %d, %d)", opt, ptr, f.Name, value, f.Min, f.Max)
	case spec.KindTime:
		return fmt.Sprintf("a.%sTime(%q, %s, %d, %d)", opt, f.Name, value, f.Min, f.Max)
	case spec.KindPacked:
		return fmt.Sprintf("a.Pack(%q, %s.pack, %d, %d)", f.Name, value, f.Min, f.Max)
	case spec.KindList:
		item := f.Fields[0]
		item.Name = ""
		return fmt.Sprintf("a.Rows(%q, len(%s), %d, %d)\nfor i, item := range %s {\na.Row(i)\n%s\n}\na.EndRows()", f.Name, value, f.Min, f.Max, value, encodeValue(owner, "item", item))
	case spec.KindGroup:
		var b strings.Builder
		fmt.Fprintf(&b, "a.Rows(%q, len(%s), %d, %d)\n", f.Name, value, f.Min, f.Max)
		fmt.Fprintf(&b, "for i, row := range %s {\na.Row(i)\n", value)
		for _, inner := range rowFields(f) {
			b.WriteString(encode(owner, "row", inner) + "\n")
		}
		b.WriteString("}\na.EndRows()")
		return b.String()
	}
	return ""
}

// decode returns the expression that reads one result, or one item of a list, whose name in errors is empty.
func decode(owner, name string, f spec.Field) string {
	switch f.Kind {
	case spec.KindBool:
		return fmt.Sprintf("reply.Bool(%q)", name)
	case spec.KindText:
		return fmt.Sprintf("reply.Text(%q)", name)
	case spec.KindBytes:
		return fmt.Sprintf("[]byte(reply.Text(%q))", name)
	case spec.KindEnum:
		return fmt.Sprintf("%s(reply.Enum(%q, %s))", owner+goName(f.Name), name, quoted(f.Values))
	case spec.KindInt:
		return fmt.Sprintf("reply.Signed(%q)", name)
	case spec.KindFloat:
		return fmt.Sprintf("reply.Float(%q)", name)
	case spec.KindMicros:
		return fmt.Sprintf("fcall.Micros(reply.Count(%q))", name)
	case spec.KindDuration:
		return fmt.Sprintf("reply.Duration(%q)", name)
	case spec.KindTime:
		return fmt.Sprintf("reply.Time(%q)", name)
	}
	return fmt.Sprintf("reply.Count(%q)", name)
}

// returnValues returns the statements that fill r from the reply, in order.
func returnValues(owner string, fields []spec.Field) string {
	var b strings.Builder
	for _, f := range fields {
		if !f.Kind.Repeated() {
			b.WriteString(assign("r."+goName(f.Name), owner, f.Name, f))
			continue
		}
		fmt.Fprintf(&b, "r.%s = make(%s, reply.Rows(%q))\n", goName(f.Name), resultType(owner, f), f.Name)
		fmt.Fprintf(&b, "for i := range r.%s {\nreply.Row(i)\n", goName(f.Name))
		for _, inner := range f.Fields {
			if f.Kind == spec.KindList {
				b.WriteString(assign(fmt.Sprintf("r.%s[i]", goName(f.Name)), owner, "", inner))
				continue
			}
			b.WriteString(assign(fmt.Sprintf("r.%s[i].%s", goName(f.Name), goName(inner.Name)), rowName(owner, f), inner.Name, inner))
		}
		b.WriteString("}\nreply.EndRows()\n")
	}
	return b.String()
}

// assign returns the statement that reads one result into a field, or one item of a list, whose name in errors is empty.
func assign(target, owner, name string, f spec.Field) string {
	pointer := f.Optional && !nilable(f)
	var read string
	switch {
	case f.Kind == spec.KindJSON:
		read = fmt.Sprintf("reply.JSON(%q, &%s)\n", name, target)
	case pointer:
		read = fmt.Sprintf("%s = new(%s)\n", target, decode(owner, name, f))
	default:
		read = fmt.Sprintf("%s = %s\n", target, decode(owner, name, f))
	}
	if !f.Optional {
		return read
	}
	skip := "Count"
	if f.Kind.Text() {
		skip = "Text"
	}
	return fmt.Sprintf("if reply.Bool(%q) {\n%s} else {\nreply.%s(%q)\n}\n", name, read, skip, name)
}

// floatBound returns a bound of a float.
func floatBound(n int64) string {
	switch n {
	case spec.NoMin:
		return "fcall.NoMin"
	case spec.NoMax:
		return "fcall.NoMax"
	}
	return fmt.Sprint(n)
}

func quoted(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = fmt.Sprintf("%q", v)
	}
	return strings.Join(out, ", ")
}

// results returns the Go literal that describes the encoding of results.
func results(fields []spec.Field) string {
	digits := spec.Digits(fields)
	out := make([]string, len(fields))
	for i, f := range fields {
		switch {
		case f.Kind.Repeated():
			out[i] = fmt.Sprintf("{Rows: []fcall.Result%s}", results(f.Fields))
		case f.Kind.Text():
			out[i] = "{Text: true}"
		case digits[i] > 0:
			out[i] = fmt.Sprintf("{Values: %d}", digits[i])
		default:
			out[i] = "{}"
		}
	}
	if slices.ContainsFunc(fields, func(f spec.Field) bool { return f.Kind.Repeated() }) {
		return "{\n" + strings.Join(out, ",\n") + ",\n}"
	}
	return "{" + strings.Join(out, ", ") + "}"
}
