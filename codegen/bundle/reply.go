package bundle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// call writes the call of the author's function, and the reply unless it failed.
func (e *entryWriter) call(args []string) {
	names := make([]string, len(e.fn.Results))
	for i, r := range e.fn.Results {
		names[i] = result(r)
	}
	if len(names) == 1 {
		names = append(names, "rlfunc_refusal")
	}
	e.printf("  local rlfunc_ok, %s = pcall(%s, %s)\n", strings.Join(names, ", "), e.fn.Name, strings.Join(args, ", "))
	e.printf("  if rlfunc_ok then\n")
	e.printf("    if %s == nil then\n      return %s\n    end\n", names[0], names[1])
	e.reply()
	e.printf("  end\n")
	e.printf("  local reply, raise = rlfunc_failed(%s, keys, %s)\n", names[0], e.keyParts())
	e.printf("  if reply then\n    return reply\n  end\n")
	// The server tells the line that raises: the best that can be said of it is the function's own.
	e.section(e.fn.File, e.fn.Line)
	e.printf("  error(raise, 0)\n")
	e.section("", 0)
}

// result is the local that holds a result; the prefix keeps it apart from the parameters.
func result(f spec.Field) string { return "out_" + f.Lua }

// reply writes what the client unpacks, as fcall.Result says, unless a result is one that a reply cannot carry.
func (e *entryWriter) reply() {
	w := replyWriter{e, "    "}
	w.printf("local rlfunc_wrong")
	var groups, behind, texts []spec.Field
	above := w.word("rlfunc_head", e.fn.Results, "out_", "")
	for i, digit := range spec.Digits(e.fn.Results) {
		r := e.fn.Results[i]
		switch {
		case r.Kind == spec.KindGroup:
			groups = append(groups, r)
		case r.Kind == spec.KindText:
			texts = append(texts, r)
		case digit == 0:
			behind = append(behind, r)
		}
	}
	numbers := len(behind)
	behind = append(behind, texts...)
	w.printf("if not rlfunc_wrong then")
	w.indent += "  "
	if groups != nil {
		w.columns(above, groups, behind)
	} else {
		w.plain(above, behind, numbers)
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

// word writes the sum of the small results among fields into a local, with the checks of all: Redis would send NaN, infinities and what
// is above 2^53 as some other number, and a digit that is too great is another one's. Most results are zero, which needs no check. It
// returns what stands above the digits is worth.
func (w *replyWriter) word(name string, fields []spec.Field, prefix, group string) (above int64) {
	w.printf("local %s = 0", name)
	above = 1
	for i, values := range spec.Digits(fields) {
		f := fields[i]
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
		case f.Kind.Integer():
			most := int64(spec.MaxInt)
			if values > 0 {
				most = f.Max
			}
			w.printf("if %s ~= 0 then", value)
			w.printf("  if not (%s >= 0 and %s <= %d and %s %% 1 == 0) then", value, value, most, value)
			w.printf("    rlfunc_wrong = 'result %s must be a whole number from 0 to %d'", group+f.Name, most)
			w.printf("  end")
			if values > 0 {
				w.printf("  "+add, times(value, above))
			}
			w.printf("end")
		}
		if values > 0 {
			above *= values
		}
	}
	return above
}

// place writes the local that says which of its values an enum has.
func (w *replyWriter) place(f spec.Field, prefix, group string) {
	w.printf("local %s = %s[%s]", place(f, prefix), places(group+f.Name), prefix+f.Lua)
	w.printf("if not %s then", place(f, prefix))
	w.printf("  rlfunc_wrong, %s = 'result %s must be one of %s', 0", place(f, prefix), group+f.Name, strings.Join(f.Values, ", "))
	w.printf("end")
}

// sent is the Lua expression of what travels of a result that is no group.
func sent(f spec.Field, prefix string) string {
	switch f.Kind {
	case spec.KindBool:
		return fmt.Sprintf("(%s and 1 or 0)", prefix+f.Lua)
	case spec.KindEnum:
		return place(f, prefix)
	}
	return prefix + f.Lua
}

// place is the local that holds which of its values an enum has.
func place(f spec.Field, prefix string) string { return prefix + "place_" + f.Lua }

// places is the table that says which of its values an enum has.
func places(name string) string { return "rlfunc_places_" + strings.ReplaceAll(name, ".", "_") }

// enums writes those tables.
func (e *entryWriter) enums(fields []spec.Field, group string) {
	for _, f := range fields {
		switch f.Kind {
		case spec.KindGroup:
			e.enums(f.Fields, f.Name+".")
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

// plain writes the replies of a function without groups, the longest first.
func (w *replyWriter) plain(above int64, behind []spec.Field, numbers int) {
	if len(behind) == 0 {
		w.printf("return rlfunc_head")
		return
	}
	elements := "rlfunc_head"
	var all []string
	for _, f := range behind {
		elements += ", " + sent(f, "out_")
		all = append(all, elements)
	}
	for n := len(behind) - 1; n > 0 || n == 0 && numbers == 0; n-- {
		w.printf("if %s then", present(behind[n]))
		if n == 1 && numbers > 1 {
			w.pair(sent(behind[0], "out_"), sent(behind[1], "out_"))
		}
		w.printf("  return {%s}", all[n])
		w.printf("end")
	}
	if numbers == 0 {
		w.printf("return rlfunc_head")
		return
	}
	w.printf("local rlfunc_one = rlfunc_head + %s", times(sent(behind[0], "out_"), above))
	w.printf("if rlfunc_one <= %s then", maxInt)
	w.printf("  return rlfunc_one")
	w.printf("end")
	w.printf("return {%s}", all[0])
}

// pair writes the reply of small results and two numbers that are few thousands each, as the waits of a refusal are: a number below 0.
func (w *replyWriter) pair(first, second string) {
	most := int64(spec.PairNumber) * 1000
	w.printf("  if rlfunc_head < %d and %s < %d and %s < %d and %s %% 1000 == 0 and %s %% 1000 == 0 then", spec.PairHead, first, most, second, most, first, second)
	w.printf("    return -1 - rlfunc_head - %s / 1000 * %d - %s / 1000 * %d", first, spec.PairHead, second, spec.PairHead*spec.PairNumber)
	w.printf("  end")
}

// present is the Lua condition that a result is sent where nothing behind it is.
func present(f spec.Field) string {
	if f.Kind == spec.KindText {
		return sent(f, "out_") + " ~= ''"
	}
	return sent(f, "out_") + " ~= 0"
}

const (
	// spareRows is for how many rows of a group there is room from the start: a table that grows costs more than one that is large.
	spareRows = 2
	// mostRows is how many rows of a group a client reads.
	mostRows = 1 << 16
)

// columns writes the reply of a function with groups.
func (w *replyWriter) columns(above int64, groups, behind []spec.Field) {
	w.one(above, groups, behind)
	if foldable(groups[0]) {
		w.several(groups, behind)
	}
	w.printf("local reply, rlfunc_at = {rlfunc_head + %s%s}, 1", times("#"+result(groups[0]), above), strings.Repeat(", nil", spareRows*len(groups[0].Fields)))
	for i, g := range groups {
		if i > 0 {
			w.put("#" + result(g))
		}
		w.rows(g)
	}
	for _, f := range behind {
		w.put(sent(f, "out_"))
	}
	absent := "reply[rlfunc_at] == 0"
	if slices.ContainsFunc(append(slices.Clone(behind), last(groups).Fields...), func(f spec.Field) bool { return f.Kind == spec.KindText }) {
		absent = "(reply[rlfunc_at] == 0 or reply[rlfunc_at] == '')"
	}
	w.printf("while rlfunc_at > 1 and %s do", absent)
	w.printf("  reply[rlfunc_at] = nil")
	w.printf("  rlfunc_at = rlfunc_at - 1")
	w.printf("end")
	w.printf("if not rlfunc_wrong then")
	w.printf("  return reply")
	w.printf("end")
}

// one writes the replies where the first group has one row and no other group has any, as most calls have: the longest first, so
// that no zero at the end is sent.
func (w *replyWriter) one(above int64, groups, behind []spec.Field) {
	w.printf("if #%s == 1%s then", result(groups[0]), none(groups[1:]))
	w.indent += "  "
	w.printf("local row = %s[1]", result(groups[0]))
	row, worth := w.cells(groups[0])
	elements := append([]element{{fmt.Sprintf("rlfunc_head + %d", above), ""}}, row...)
	for range groups[1:] {
		elements = append(elements, element{name: "0"})
	}
	for _, f := range behind {
		elements = append(elements, element{sent(f, "out_"), strings.TrimPrefix(present(f), sent(f, "out_"))})
	}
	w.printf("if not rlfunc_wrong then")
	w.indent += "  "
	for n := len(elements) - 1; n > 0; n-- {
		if elements[n].present == "" {
			continue
		}
		w.printf("if %s%s then", elements[n].name, elements[n].present)
		if n == 2 && foldable(groups[0]) {
			w.fold(row, worth)
		}
		w.printf("  return {%s}", names(elements[:n+1]))
		w.printf("end")
	}
	w.printf("return %s", elements[0].name)
	w.indent = w.indent[2:]
	w.printf("end")
	w.indent = w.indent[2:]
	w.printf("end")
}

// foldable reports whether a reply with one such row may be one number: the row has a number of small results and another number.
func foldable(g spec.Field) bool {
	var small, others bool
	for i, digit := range spec.Digits(g.Fields) {
		small = small || digit > 0
		others = others || digit == 0 && g.Fields[i].Kind != spec.KindText
	}
	return small && others
}

// fold writes the reply of one row whose first number is whole thousands, where of all other results only the first is not zero: a
// number below 0, which costs the server a tenth of an array.
func (w *replyWriter) fold(row []element, worth int64) {
	w.printf("  if rlfunc_head == 1 and %s %% 1000 == 0 then", row[1].name)
	w.printf("    local rlfunc_one = %s + %s", row[0].name, times(row[1].name+" / 1000", worth))
	w.printf("    if rlfunc_one < %s then", maxInt)
	w.printf("      return -1 - rlfunc_one")
	w.printf("    end")
	w.printf("  end")
}

// several writes the reply of rows that could each be sent as one does alone: -1, then a number for each row.
func (w *replyWriter) several(groups, behind []spec.Field) {
	zero := ""
	for _, f := range behind {
		zero += " and " + sent(f, "out_") + strings.Replace(strings.TrimPrefix(present(f), sent(f, "out_")), "~=", "==", 1)
	}
	g := groups[0]
	w.printf("if rlfunc_head == 1 and #%s > 1%s%s then", result(g), none(groups[1:]), zero)
	w.indent += "  "
	w.printf("local rlfunc_rows = {-1%s}", strings.Repeat(", nil", spareRows))
	w.printf("for i = 1, #%s do", result(g))
	w.indent += "  "
	w.printf("local row = %s[i]", result(g))
	row, worth := w.cells(g)
	w.printf("local rlfunc_one = rlfunc_word + %s", times(row[1].name+" / 1000", worth))
	others := ""
	for _, cell := range row[2:] {
		others += fmt.Sprintf(" or %s%s", cell.name, cell.present)
	}
	w.printf("if rlfunc_wrong or rlfunc_one > %s or %s %% 1000 ~= 0%s then", maxInt, row[1].name, others)
	w.printf("  rlfunc_rows = nil")
	w.printf("  break")
	w.printf("end")
	w.printf("rlfunc_rows[i + 1] = rlfunc_one")
	w.indent = w.indent[2:]
	w.printf("end")
	w.printf("if rlfunc_rows then")
	w.printf("  return rlfunc_rows")
	w.printf("end")
	w.indent = w.indent[2:]
	w.printf("end")
}

// An element of a reply: its Lua expression, and what follows it in the condition that it is sent where nothing behind it is.
type element struct{ name, present string }

func names(elements []element) string {
	out := make([]string, len(elements))
	for i, e := range elements {
		out[i] = e.name
	}
	return strings.Join(out, ", ")
}

// none is the Lua condition that groups have no rows.
func none(groups []spec.Field) string {
	var out strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&out, " and #%s == 0", result(g))
	}
	return out.String()
}

func last(groups []spec.Field) spec.Field { return groups[len(groups)-1] }

// put writes the next element.
func (w *replyWriter) put(value string) {
	w.printf("rlfunc_at = rlfunc_at + 1")
	w.printf("reply[rlfunc_at] = %s", value)
}

// rows writes the columns of one group: the small fields' number, the other numbers, the texts.
func (w *replyWriter) rows(g spec.Field) {
	rows := "rlfunc_" + g.Lua
	w.printf("local %s = #%s", rows, result(g))
	w.printf("if %s > %d then", rows, mostRows)
	w.printf("  rlfunc_wrong, %s = 'result %s must have at most %d rows', 0", rows, g.Name, mostRows)
	w.printf("end")
	w.printf("for i = 1, %s do", rows)
	w.indent += "  "
	w.printf("local row = %s[i]", result(g))
	cells, _ := w.cells(g)
	at := "rlfunc_at + i"
	for i, cell := range cells {
		w.printf("reply[%s] = %s", at, cell.name)
		at = fmt.Sprintf("rlfunc_at + i + %s", times(rows, int64(i+1)))
	}
	w.indent = w.indent[2:]
	w.printf("end")
	w.printf("rlfunc_at = rlfunc_at + %s", times(rows, int64(len(cells))))
}

// cells writes the locals of a row's fields and their checks, and returns what travels of them: the small fields' number first, then
// the other numbers and the texts; and what stands above that number's digits is worth.
func (w *replyWriter) cells(g spec.Field) (cells []element, above int64) {
	for _, f := range g.Fields {
		w.printf("local row_%s = row.%s", f.Lua, f.Lua)
	}
	above = w.word("rlfunc_word", g.Fields, "row_", g.Name+".")
	if slices.ContainsFunc(spec.Digits(g.Fields), func(digit int64) bool { return digit > 0 }) {
		cells = append(cells, element{"rlfunc_word", " ~= 0"})
	}
	var texts []element
	for i, digit := range spec.Digits(g.Fields) {
		f := g.Fields[i]
		switch {
		case f.Kind == spec.KindText:
			texts = append(texts, element{sent(f, "row_"), " ~= ''"})
		case digit == 0:
			cells = append(cells, element{sent(f, "row_"), " ~= 0"})
		}
	}
	return append(cells, texts...), above
}
