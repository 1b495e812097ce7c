package bundle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

const (
	// spareRows is the number of rows per group to preallocate: growing a table costs more than a large one.
	spareRows = 2
	// maxRows is the number of rows per group that a client accepts.
	maxRows = 1 << 16
)

// columns writes the reply of a function with groups.
func (w *replyWriter) columns(above int64, groups, behind []spec.Field) {
	if !slices.ContainsFunc(groups[1:], func(g spec.Field) bool { return g.Min > 0 }) {
		if groups[0].Min <= 1 {
			w.one(above, groups, behind)
		}
		if foldable(groups[0]) {
			w.several(groups, behind)
		}
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
	if slices.ContainsFunc(append(slices.Clone(behind), last(groups).Fields...), func(f spec.Field) bool { return f.Kind.Text() }) {
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

// one writes the possible replies if the first group has one row and the others have none, as in most calls. The longest comes first, so
// that trailing zeros are not sent.
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

// foldable reports whether a reply with one such row may be one number: the row has small results and another number.
func foldable(g spec.Field) bool {
	var small, others bool
	for i, digit := range spec.Digits(g.Fields) {
		small = small || digit > 0
		others = others || digit == 0 && !g.Fields[i].Kind.Text()
	}
	return small && others
}

// fold writes the reply of one row whose first number is whole thousands, if all other results but the first are zero: a negative number,
// which costs the server a tenth of an array.
func (w *replyWriter) fold(row []element, worth int64) {
	w.printf("  if rlfunc_head == 1 and %s %% 1000 == 0 then", row[1].name)
	w.printf("    local rlfunc_one = %s + %s", row[0].name, times(row[1].name+" / 1000", worth))
	w.printf("    if rlfunc_one < %s then", maxInt)
	w.printf("      return -1 - rlfunc_one")
	w.printf("    end")
	w.printf("  end")
}

// several writes the reply of rows that could each be folded: -1, then a number per row.
func (w *replyWriter) several(groups, behind []spec.Field) {
	zero := ""
	for _, f := range behind {
		zero += " and " + sent(f, "out_") + strings.Replace(strings.TrimPrefix(present(f), sent(f, "out_")), "~=", "==", 1)
	}
	g := groups[0]
	bounded := fmt.Sprintf("#%s > %d", result(g), max(g.Min-1, 1))
	if g.Max > 0 {
		bounded += fmt.Sprintf(" and #%s <= %d", result(g), mostRows(g))
	}
	w.printf("if rlfunc_head == 1 and %s%s%s then", bounded, none(groups[1:]), zero)
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

// An element is a part of a reply: its Lua expression, and the end of the condition that it is sent when none after it is.
type element struct{ name, present string }

func names(elements []element) string {
	out := make([]string, len(elements))
	for i, e := range elements {
		out[i] = e.name
	}
	return strings.Join(out, ", ")
}

// none returns the Lua condition that groups have no rows.
func none(groups []spec.Field) string {
	var out strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&out, " and #%s == 0", result(g))
	}
	return out.String()
}

func last(groups []spec.Field) spec.Field { return groups[len(groups)-1] }

// put writes the next element of a reply.
func (w *replyWriter) put(value string) {
	w.printf("rlfunc_at = rlfunc_at + 1")
	w.printf("reply[rlfunc_at] = %s", value)
}

// rows writes the columns of one group: the number of its small fields, the other numbers, the texts.
func (w *replyWriter) rows(g spec.Field) {
	rows := "rlfunc_" + g.Lua
	w.printf("local %s = #%s", rows, result(g))
	outside, must := fmt.Sprintf("%s > %d", rows, mostRows(g)), fmt.Sprintf("at most %d", mostRows(g))
	if g.Min > 0 {
		outside, must = fmt.Sprintf("%s < %d or %s", rows, g.Min, outside), fmt.Sprintf("%d to %d", g.Min, mostRows(g))
	}
	w.printf("if %s then", outside)
	w.printf("  rlfunc_wrong, %s = 'result %s must have %s rows', 0", rows, g.Name, must)
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

// mostRows returns the most rows that a result may have.
func mostRows(g spec.Field) int64 {
	if g.Max > 0 {
		return min(maxRows, g.Max)
	}
	return maxRows
}

// cells writes the locals of a row's fields and their checks. It returns the elements to send, the number of the small fields first, then
// the other numbers and the texts, and the place value above that number's digits.
func (w *replyWriter) cells(g spec.Field) (cells []element, above int64) {
	group := g.Name + "."
	if g.Kind == spec.KindList {
		group = ""
		w.printf("local row_%s = row", g.Lua)
	} else {
		for _, f := range g.Fields {
			if !strings.HasPrefix(f.Lua, spec.HasPrefix) {
				w.printf("local row_%s = row.%s", f.Lua, f.Lua)
			}
			w.optional(f, "row_")
		}
	}
	above = w.word("rlfunc_word", g.Fields, "row_", group)
	if slices.ContainsFunc(spec.Digits(g.Fields), func(digit int64) bool { return digit > 0 }) {
		cells = append(cells, element{"rlfunc_word", " ~= 0"})
	}
	var texts []element
	for i, digit := range spec.Digits(g.Fields) {
		f := g.Fields[i]
		switch {
		case f.Kind.Text():
			texts = append(texts, element{sent(f, "row_"), " ~= ''"})
		case digit == 0:
			cells = append(cells, element{sent(f, "row_"), " ~= 0"})
		}
	}
	return append(cells, texts...), above
}
