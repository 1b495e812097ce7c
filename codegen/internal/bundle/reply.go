package bundle

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// call writes the call of the author's function, and its reply unless it fails.
func (e *entryWriter) call(args []string) {
	names := make([]string, len(e.fn.Results))
	for i, r := range e.fn.Results {
		names[i] = result(r)
	}
	if len(names) == 1 {
		names = append(names, "rlfunc_refusal")
	}
	e.printf("  if rlfunc_unproven > 0 then\n    local lacking = rlfunc_lacking('%s', keys[1], {%s})\n", e.fn.Name, e.commands)
	e.printf("    if lacking then\n      return lacking\n    end\n    rlfunc_unproven = rlfunc_unproven - 1\n  end\n")
	e.printf("  local rlfunc_ok, %s = pcall(%s, %s)\n", strings.Join(names, ", "), e.function, strings.Join(args, ", "))
	e.printf("  if rlfunc_ok then\n")
	e.printf("    if %s == nil then\n      return %s\n    end\n", names[0], names[1])
	e.reply()
	e.printf("  end\n")
	e.printf("  local reply, raise, denied = rlfunc_failed(%s, keys, %s)\n", names[0], e.keyParts())
	e.printf("  if reply then\n    return reply\n  end\n")
	e.printf("  if denied then\n    rlfunc_unproven = 1000\n  end\n")
	// Redis reports the line that raises, so map it to the function's own line.
	e.section(e.fn.File, e.fn.Line)
	e.printf("  error(raise, 0)\n")
	e.section("", 0)
}

// result names the local that holds a result; the prefix distinguishes it from parameters.
func result(f spec.Field) string { return "out_" + f.Lua }

// reply writes the reply that the client unpacks by fcall.Result, unless a result cannot be sent. docs/reference/wire.md describes it.
func (e *entryWriter) reply() {
	w := replyWriter{e, "    "}
	w.printf("local rlfunc_wrong")
	results := spec.Sent(e.fn.Results)
	for _, r := range results {
		w.optional(r, "out_")
	}
	top := w.record("rlfunc_head", results, "out_", "")
	w.printf("if not rlfunc_wrong then")
	w.indent += "  "
	if len(top.groups) > 0 {
		w.list(top)
	} else {
		w.plain(top)
	}
	w.indent = w.indent[2:]
	w.printf("end")
	w.printf("%s = rlfunc_wrong", result(e.fn.Results[0]))
}

// A replyWriter writes lines of Lua.
type replyWriter struct {
	*entryWriter
	indent string
}

func (w *replyWriter) printf(format string, args ...any) {
	w.entryWriter.printf("%s", w.indent+fmt.Sprintf(format, args...)+"\n")
}

// optional writes the local that says whether an optional result is there, and gives one that is not a value to send.
func (w *replyWriter) optional(f spec.Field, prefix string) {
	if !f.Optional {
		return
	}
	value := prefix + f.Lua
	w.printf("local %s%s%s = %s ~= nil", prefix, spec.HasPrefix, f.Lua, value)
	w.printf("if %s == nil then", value)
	w.printf("  %s = %s", value, unsent(f))
	w.printf("end")
}

// unsent returns what stands for an optional result that is not there: a value within its bounds that is sent as nothing if there is one.
func unsent(f spec.Field) string {
	switch {
	case f.Kind == spec.KindBool:
		return "false"
	case f.Kind == spec.KindEnum:
		return quote(f.Values[0])
	case f.Kind.Sized():
		return "''"
	}
	return strconv.FormatInt(min(max(f.Min, 0), f.Max), 10)
}

// word writes the sum of the small results among fields into a local, except the wide one, and checks all results: Redis would send NaN,
// infinities and numbers above 2^53 as other numbers, and a digit that is too large would change its neighbor. Most results are zero,
// which needs no check. It returns the place value above the digits.
func (w *replyWriter) word(name string, fields []spec.Field, prefix, group string) (above int64) {
	w.printf("local %s = 0", name)
	above = 1
	for i, values := range spec.Digits(fields) {
		f := fields[i]
		if values == spec.Wide {
			values = 0
		}
		value, add := prefix+f.Lua, fmt.Sprintf("%s = %s + %%s", name, name)
		switch {
		case f.Kind == spec.KindBool && values > 0:
			w.printf("if %s then", value)
			w.printf("  "+add, strconv.FormatInt(above, 10))
			w.printf("end")
		case f.Kind == spec.KindEnum && values > 0:
			w.printf("if %s ~= '%s' then", value, f.Values[0])
			w.indent += "  "
			w.place(f, prefix, group)
			w.printf(add, times(place(f, prefix), above))
			w.indent = w.indent[2:]
			w.printf("end")
		case f.Kind == spec.KindEnum:
			w.place(f, prefix, group)
		case f.Kind.Signed():
			w.signed(f, prefix, group)
		case f.Kind.Integer():
			if f.Min > 0 { // 0 is out of bounds, too
				w.whole(f, value, group)
				if values > 0 {
					w.printf(add, times(value, above))
				}
				break
			}
			w.printf("if %s ~= 0 then", value)
			w.indent += "  "
			w.whole(f, value, group)
			if values > 0 {
				w.printf(add, times(value, above))
			}
			w.indent = w.indent[2:]
			w.printf("end")
		case f.Kind.Sized() && f.Max > 0:
			w.printf("if #%s > %d then", value, f.Max)
			w.printf("  rlfunc_wrong = 'result %s must be at most %d bytes'", group+f.Name, f.Max)
			w.printf("end")
		}
		if values > 0 {
			above *= values
		}
	}
	return above
}

// whole writes the check of a number.
func (w *replyWriter) whole(f spec.Field, value, group string) {
	most := f.Max
	if f.Kind == spec.KindDuration && most == spec.MaxDuration {
		most = spec.MaxInt // without a bound a result may be longer than an argument
	}
	w.printf("if not (%s >= %d and %s <= %d and %s %% 1 == 0) then", value, f.Min, value, most, value)
	w.printf("  rlfunc_wrong = 'result %s must be a whole number from %d to %d'", group+f.Name, f.Min, most)
	w.printf("end")
}

// signed writes the local with the text of a number that may be below 0, empty for 0. So -0 is never sent.
func (w *replyWriter) signed(f spec.Field, prefix, group string) {
	value := prefix + f.Lua
	w.printf("local %s = ''", sent(f, prefix))
	condition, indent := value+" ~= 0", w.indent
	if f.Min > 0 || f.Max < 0 { // 0 is out of bounds, too
		condition = "true"
	}
	w.printf("if %s then", condition)
	w.indent += "  "
	if f.Kind == spec.KindInt {
		w.whole(f, value, group)
		w.printf("%s = string.format('%%.0f', %s)", sent(f, prefix), value)
	} else {
		least, most := f.Span() // a comparison refuses NaN and what is no number, too
		w.printf("if not (%s >= %s and %s <= %s) then", value, decimal(least), value, decimal(most))
		w.printf("  rlfunc_wrong = 'result %s must %s'", group+f.Name, Must(f))
		w.printf("end")
		w.printf("%s = rlfunc_signed.text(%s)", sent(f, prefix), value)
	}
	w.indent = indent
	w.printf("end")
}

// decimal writes a bound of a float.
func decimal(n float64) string {
	if math.Abs(n) > spec.MaxInt {
		return strconv.FormatFloat(n, 'g', -1, 64)
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// place writes the local with the index of an enum's value.
func (w *replyWriter) place(f spec.Field, prefix, group string) {
	w.printf("local %s = %s[%s]", place(f, prefix), places(group+f.Name), prefix+f.Lua)
	w.printf("if not %s then", place(f, prefix))
	w.printf("  rlfunc_wrong, %s = 'result %s must be one of %s', 0", place(f, prefix), group+f.Name, strings.Join(f.Values, ", "))
	w.printf("end")
}

// sent returns the Lua expression that is sent for a result, which is not a group.
func sent(f spec.Field, prefix string) string {
	switch f.Kind {
	case spec.KindBool:
		return fmt.Sprintf("(%s and 1 or 0)", prefix+f.Lua)
	case spec.KindEnum:
		return place(f, prefix)
	case spec.KindInt, spec.KindFloat:
		return prefix + "text_" + f.Lua
	}
	return prefix + f.Lua
}

// place names the local with the index of an enum's value.
func place(f spec.Field, prefix string) string { return prefix + "place_" + f.Lua }

// places names the table from an enum's values to their indexes.
func places(name string) string { return "rlfunc_places_" + strings.ReplaceAll(name, ".", "_") }

// enums writes those tables.
func (e *entryWriter) enums(fields []spec.Field, group string) {
	for _, f := range fields {
		switch f.Kind {
		case spec.KindGroup:
			e.enums(f.Fields, f.Name+".")
		case spec.KindList:
			e.enums(f.Fields, group)
		case spec.KindEnum:
			values := make([]string, len(f.Values))
			for i, v := range f.Values {
				values[i] = fmt.Sprintf("['%s'] = %d", v, i)
			}
			e.printf("local %s = {%s}\n", places(group+f.Name), strings.Join(values, ", "))
		}
	}
}

func times(value string, n int64) string {
	if n == 1 {
		return value
	}
	return fmt.Sprintf("%s * %d", value, n)
}
