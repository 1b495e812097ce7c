package bundle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// value writes the check and decoding of one argument; refusal is a Lua expression of the error's text.
func (e *entryWriter) value(p spec.Field, target, from, refusal string) {
	in := e.indent
	refuse := func(condition string) {
		if e.packed {
			e.printf("%sif %s then\n%s  return nil, %s\n%send\n", in, condition, in, refusal, in)
			return
		}
		e.printf("%sif %s then\n%s  return {err = %s}\n%send\n", in, condition, in, refusal, in)
	}
	name := strings.TrimPrefix(target, "local ")
	if p.Optional {
		if !e.declared {
			e.printf("%s%s\n", in, absent(p, target))
		}
		e.printf("%sif %s%s ~= '' then\n", in, e.end, from)
		e.indent += "  "
		required := p
		required.Optional = false
		e.value(required, name, from, refusal)
		e.indent = in
		e.printf("%send\n", in)
		return
	}
	switch p.Kind {
	case spec.KindBool:
		e.printf("%s%s = %s == '1'\n", in, target, from)
		refuse(fmt.Sprintf("not %s and %s ~= '0'", name, from))
	case spec.KindText, spec.KindBytes, spec.KindJSON:
		if e.packed {
			e.printf("%s%s = rlfunc_pack.text(%s)\n", in, target, from)
			refuse(fmt.Sprintf("not %s or #%s < %d or #%s > %d", name, name, p.Min, name, p.Max))
			return
		}
		e.printf("%s%s = %s\n", in, target, from)
		refuse(fmt.Sprintf("#%s < %d or #%s > %d", name, p.Min, name, p.Max))
	case spec.KindEnum:
		e.printf("%s%s = %s\n", in, target, from)
		tests := make([]string, len(p.Values))
		for i, v := range p.Values {
			tests[i] = fmt.Sprintf("%s ~= '%s'", name, v)
		}
		refuse(strings.Join(tests, " and "))
	default:
		number := integer(p, from, e.row)
		if e.packed && !p.Kind.Signed() { // the rows are kept, so the numbers need not be
			number = fmt.Sprintf("rlfunc_whole(%s)", from)
		}
		e.printf("%s%s = %s\n", in, target, number)
		refuse(outside(name, p))
	}
}

// maxCached is the upper bound of counts that callers repeat, such as limits and costs.
const maxCached = 1_000_000_000_000

// integer returns the Lua expression for a text's number, nil unless it is a canonical whole number. Values that callers repeat are
// cached. Times, larger counts and amounts of money differ in most calls, except money in a row of a group, which is a budget.
func integer(p spec.Field, text string, row bool) string {
	switch p.Kind {
	case spec.KindInt:
		return fmt.Sprintf("rlfunc_signed.whole(%s)", text)
	case spec.KindFloat:
		return fmt.Sprintf("rlfunc_signed.number(%s)", text)
	}
	if p.Kind == spec.KindTime || p.Kind == spec.KindMicros && !row || p.Kind == spec.KindCount && p.Max > maxCached {
		return fmt.Sprintf("rlfunc_whole(%s)", text)
	}
	return fmt.Sprintf("rlfunc_recent[%s] or rlfunc_parse(%s)", text, text)
}

// outside returns the Lua condition that such a number is out of bounds.
func outside(name string, p spec.Field) string {
	if p.Kind == spec.KindFloat && (p.Min == spec.NoMin || p.Max == spec.NoMax) { // number returns finite ones only
		tests := []string{"not " + name}
		if p.Min != spec.NoMin {
			tests = append(tests, fmt.Sprintf("%s < %d", name, p.Min))
		}
		if p.Max != spec.NoMax {
			tests = append(tests, fmt.Sprintf("%s > %d", name, p.Max))
		}
		return strings.Join(tests, " or ")
	}
	return fmt.Sprintf("not %s or %s < %d or %s > %d", name, name, p.Min, name, p.Max)
}

// absent declares an optional argument with its default.
func absent(p spec.Field, target string) string {
	value, given := p.DefaultWord()
	switch {
	case given && (p.Kind == spec.KindEnum || p.Kind == spec.KindText):
		return target + " = " + quote(value)
	case given:
		return target + " = " + value
	case p.Kind == spec.KindBool:
		return target + " = false"
	}
	return target
}

// group decodes a count and that many rows into an array of tables, or of a list's items.
func (e *entryWriter) group(g spec.Field) {
	refusal := quote("RLARG " + must(g, g.Name))
	e.next()
	e.printf("  local rlfunc_rows = %s\n", integer(g, "args[rlfunc_arg]", false))
	e.printf("  if %s then\n    return {err = %s}\n  end\n", outside("rlfunc_rows", g), refusal)
	keys := g.Keys()
	values := slices.DeleteFunc(slices.Clone(g.Fields), func(f spec.Field) bool { return f.Kind == spec.KindKey })
	e.printf("  if #args < rlfunc_arg + rlfunc_rows * %d or #keys < rlfunc_key + rlfunc_rows * %d then\n", len(values), len(keys))
	e.printf("    return {err = 'RLARG %s must be called with as many keys and arguments as its groups have rows'}\n  end\n", e.fn.Name)
	e.printf("  local %s = {%s}\n", g.Lua, strings.Join(slices.Repeat([]string{"nil"}, spareRows), ", "))
	e.printf("  for rlfunc_row = 1, rlfunc_rows do\n")
	e.indent, e.row = "    ", true
	key, arg := 0, 0
	cells := make([]string, len(g.Fields))
	for i, f := range g.Fields {
		if f.Kind == spec.KindKey {
			key++
			cells[i] = fmt.Sprintf("%s = keys[rlfunc_key + %d]", f.Lua, key)
			continue
		}
		arg++
		text := fmt.Sprintf("string.format('RLARG %s.%%d.%%s', rlfunc_row - 1, %s)", g.Name, quote(must(f, f.Name)))
		if g.Kind == spec.KindList {
			text = fmt.Sprintf("string.format('RLARG %s.%%d %%s', rlfunc_row - 1, %s)", g.Name, quote("must "+Must(f)))
		}
		e.value(f, "local in_"+f.Lua, fmt.Sprintf("args[rlfunc_arg + %d]", arg), text)
		cells[i] = fmt.Sprintf("%s = in_%s", f.Lua, f.Lua)
	}
	e.indent, e.row = "  ", false
	// One constructor allocates the row in its final size; field by field it would grow four times.
	row := "{" + strings.Join(cells, ", ") + "}"
	if g.Kind == spec.KindList {
		row = "in_" + g.Lua
	}
	e.printf("    %s[rlfunc_row] = %s\n", g.Lua, row)
	e.printf("    rlfunc_key, rlfunc_arg = rlfunc_key + %d, rlfunc_arg + %d\n", len(keys), len(values))
	e.printf("  end\n")
}

// must returns the text of a refusal: `limit must be a whole number from 1 to 10`.
func must(p spec.Field, name string) string { return name + " must " + Must(p) }

// Must describes a valid value: "be a whole number from 1 to 10".
func Must(p spec.Field) string {
	switch p.Kind {
	case spec.KindFloat:
		if p.Min == spec.NoMin && p.Max == spec.NoMax {
			return "be a finite number"
		}
		return "be a number " + FloatBounds(p)
	case spec.KindCount, spec.KindInt:
		return fmt.Sprintf("be a whole number from %d to %d", p.Min, p.Max)
	case spec.KindMicros:
		return fmt.Sprintf("be from %d to %d micros", p.Min, p.Max)
	case spec.KindDuration:
		return fmt.Sprintf("be from %d to %d microseconds", p.Min, p.Max)
	case spec.KindTime:
		return fmt.Sprintf("be from %d to %d microseconds since 1970", p.Min, p.Max)
	case spec.KindBool:
		return "be 1 or 0"
	case spec.KindText, spec.KindBytes:
		return fmt.Sprintf("be %d to %d bytes", p.Min, p.Max)
	case spec.KindJSON:
		return fmt.Sprintf("be %d to %d bytes of JSON", p.Min, p.Max)
	case spec.KindEnum:
		return "be one of " + strings.Join(p.Values, ", ")
	case spec.KindGroup, spec.KindPacked, spec.KindList:
		return fmt.Sprintf("have %d to %d rows", p.Min, p.Max)
	}
	return "be a key"
}

// FloatBounds describes the bounds of a float.
func FloatBounds(p spec.Field) string {
	switch {
	case p.Min == spec.NoMin && p.Max == spec.NoMax:
		return "any finite number"
	case p.Min == spec.NoMin:
		return fmt.Sprintf("at most %d", p.Max)
	case p.Max == spec.NoMax:
		return fmt.Sprintf("at least %d", p.Min)
	}
	return fmt.Sprintf("from %d to %d", p.Min, p.Max)
}

// quote writes a Lua string literal of printable ASCII; anything else is escaped by its decimal code.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, c := range []byte(s) {
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 32 || c > 126:
			fmt.Fprintf(&b, "\\%03d", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
