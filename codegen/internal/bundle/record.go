package bundle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

const (
	// spareRows is the number of rows to preallocate: growing a table costs more than a large one.
	spareRows = 2
	// maxRows is the number of rows per group that a client accepts.
	maxRows = 1 << 16
)

// A record is what a reply says of the results outside groups, or of one row: a number, or several, and then texts. Each of its parts is a
// Lua expression.
type record struct {
	small  string // the local with the sum of the small results
	above  int64  // the place value above them
	wide   string // the count that shares their number only while it is smaller than spec.Wide
	others []string
	listed []string // the others and the wide one, as they follow the small ones if one number does not hold them
	texts  []string
	groups []spec.Field // the number of whose rows the others begin with
}

// record writes the checks of results, and the local with the sum of the small ones.
func (w *replyWriter) record(small string, fields []spec.Field, prefix, group string) record {
	r := record{small: small}
	for _, f := range fields {
		if f.Kind.Repeated() {
			r.groups = append(r.groups, f)
			r.others = append(r.others, "#"+result(f))
		}
	}
	r.listed = slices.Clone(r.others)
	r.above = w.word(small, fields, prefix, group)
	for i, digit := range spec.Digits(fields) {
		value := sent(fields[i], prefix)
		switch {
		case fields[i].Kind.Repeated():
		case fields[i].Kind.Text():
			r.texts = append(r.texts, value)
		case digit == spec.Wide:
			r.wide = value
			r.listed = append(r.listed, value)
		case digit == 0:
			r.others = append(r.others, value)
			r.listed = append(r.listed, value)
		}
	}
	return r
}

// numbered reports whether the record has more than texts.
func (r *record) numbered() bool { return r.above > 1 || len(r.listed) > 0 }

// sum is the number of the small results and the wide one, times n.
func (r *record) sum(n int64) string {
	if r.wide == "" {
		return times(r.small, n)
	}
	return times(r.small, n) + " + " + times(r.wide, r.above*n)
}

// beyond is the place value above that sum.
func (r *record) beyond() int64 {
	if r.wide == "" {
		return r.above
	}
	return r.above * spec.Wide
}

// holds is the Lua condition that a number has room for the small results and one other; empty if it always has.
func (r *record) holds() string {
	var out []string
	if r.wide != "" {
		out = append(out, fmt.Sprintf("%s < %d", r.wide, spec.Wide))
	}
	for _, other := range r.others[min(1, len(r.others)):] {
		out = append(out, other+" == 0")
	}
	return strings.Join(out, " and ")
}

// thousands writes the return of the number, or what to do with it, that holds the small results and thousands.
func (w *replyWriter) thousands(r *record, do string) {
	if len(r.others) == 0 {
		w.printf(do, "-2 - "+parenthesized(r.sum(4)))
		return
	}
	w.printf("if %s %% 1000 == 0 then", r.others[0])
	w.printf("  local number = %s + %s", r.sum(4), times(r.others[0]+" / 1000", 4*r.beyond()))
	w.printf("  if number < %s then", maxInt)
	w.printf("    "+do, "-2 - number")
	w.printf("  end")
	w.printf("end")
}

// one writes the local rlfunc_one: the number that holds all of a record but its texts, or nil. Waits of whole milliseconds are common.
func (w *replyWriter) one(r *record) {
	if len(r.others) == 0 && r.wide == "" {
		w.printf("local rlfunc_one = %s", r.small)
		return
	}
	local := "local "
	holds := r.holds()
	if holds != "" {
		w.printf("local rlfunc_one")
		w.printf("if %s then", holds)
		w.indent += "  "
		local = ""
	}
	if len(r.others) == 0 {
		w.printf("rlfunc_one = %s", r.sum(1))
	} else {
		w.printf("%srlfunc_one = %s + %s", local, r.sum(1), times(r.others[0], r.beyond()))
		w.printf("if rlfunc_one >= %s then", maxInt) // a greater sum may be rounded to it
		w.indent += "  "
		w.printf("rlfunc_one = nil")
		w.thousands(r, "rlfunc_one = %s")
		w.indent = w.indent[2:]
		w.printf("end")
	}
	if holds == "" {
		return
	}
	w.indent = w.indent[2:]
	if len(r.others) > 1 {
		first, second, most := r.others[0], r.others[1], int64(spec.PairNumber)*1000
		rest := ""
		for _, other := range r.others[2:] {
			rest += other + " == 0 and "
		}
		w.printf("elseif %s%s < %d and %s < %d and %s < %d and %s %% 1000 == 0 and %s %% 1000 == 0 then",
			rest, r.sum(1), spec.PairSmall, first, most, second, most, first, second)
		w.printf("  rlfunc_one = -3 - %s - %s / 1000 * %d - %s / 1000 * %d",
			parenthesized(r.sum(4)), first, 4*spec.PairSmall, second, 4*spec.PairSmall*spec.PairNumber)
	}
	w.printf("end")
}

func parenthesized(sum string) string {
	if strings.Contains(sum, " + ") {
		return "(" + sum + ")"
	}
	return sum
}

// head is the number of a record whose other numbers follow.
func (r *record) head() string { return "-1 - " + times(r.small, 4) }

// plain writes the replies of a function without groups, the longest first, so that zeros and empty texts at the end are not sent.
func (w *replyWriter) plain(r record) {
	w.one(&r)
	numbers := strings.Join(append([]string{r.head()}, r.listed...), ", ")
	for n := len(r.texts) - 1; n >= 0; n-- {
		texts := strings.Join(r.texts[:n+1], ", ")
		w.printf("if %s ~= '' then", r.texts[n])
		if len(r.listed) > 0 {
			w.printf("  if not rlfunc_one then")
			w.printf("    return {%s, %s}", numbers, texts)
			w.printf("  end")
		}
		w.printf("  return {rlfunc_one, %s}", texts)
		w.printf("end")
	}
	if len(r.listed) == 0 {
		w.printf("return rlfunc_one")
		return
	}
	w.printf("if rlfunc_one then")
	w.printf("  return rlfunc_one")
	w.printf("end")
	for n := len(r.listed) - 1; n > 0; n-- {
		w.printf("if %s ~= 0 then", r.listed[n])
		w.printf("  return {%s, %s}", r.head(), strings.Join(r.listed[:n+1], ", "))
		w.printf("end")
	}
	w.printf("return {%s, %s}", r.head(), r.listed[0])
}

// list writes the reply of a function with groups: the record of the results outside them, then each row's.
func (w *replyWriter) list(top record) {
	w.loneRow(&top)
	w.printf("local reply, rlfunc_at = {%s + %s%s}, 1", top.sum(1), times(top.others[0], top.beyond()),
		strings.Repeat(", nil", spareRows*len(top.groups[0].Fields)))
	if holds := top.holds(); holds != "" {
		w.printf("if not (%s) then", holds)
		w.spell(&top, "reply[%d]", 1)
		w.printf("  rlfunc_at = %d", 1+len(top.listed))
		w.printf("end")
	}
	w.texts(&top)
	texts := len(top.texts) > 0
	for _, g := range top.groups {
		w.rows(g)
		texts = texts || slices.ContainsFunc(g.Fields, func(f spec.Field) bool { return f.Kind.Text() })
	}
	absent := "reply[rlfunc_at] == 0"
	if texts {
		absent = "(reply[rlfunc_at] == 0 or reply[rlfunc_at] == '')"
	}
	w.printf("while rlfunc_at > 1 and %s do", absent)
	w.printf("  reply[rlfunc_at] = nil")
	w.printf("  rlfunc_at = rlfunc_at - 1")
	w.printf("end")
	w.printf("if not rlfunc_wrong then")
	w.printf("  if rlfunc_at == 1 then")
	w.printf("    return reply[1]")
	w.printf("  end")
	w.printf("  return reply")
	w.printf("end")
}

// spell writes a record's numbers as elements, of which at names the one with a number.
func (w *replyWriter) spell(r *record, at string, first int) {
	w.printf("  "+at+" = %s", first, r.head())
	for i, value := range r.listed {
		w.printf("  "+at+" = %s", first+1+i, value)
	}
}

// texts writes the elements of a record's texts.
func (w *replyWriter) texts(r *record) {
	for i, text := range r.texts {
		w.printf("reply[rlfunc_at + %d] = %s", i+1, text)
	}
	if len(r.texts) > 0 {
		w.printf("rlfunc_at = rlfunc_at + %d", len(r.texts))
	}
}

// loneRow writes the reply that most calls with groups have: one row of the first group, and nothing besides but that the first result is
// 1. It is the row's number alone, below 0, which costs the server a tenth of an array.
func (w *replyWriter) loneRow(top *record) {
	g := top.groups[0]
	if g.Min > 1 || top.above == 1 || len(top.texts) > 0 || slices.ContainsFunc(top.groups[1:], func(g spec.Field) bool { return g.Min > 0 }) ||
		slices.ContainsFunc(g.Fields, func(f spec.Field) bool { return f.Kind.Text() }) {
		return
	}
	alone := fmt.Sprintf("%s == 1 and %s == 1", top.small, top.others[0])
	for _, number := range top.listed[1:] {
		alone += fmt.Sprintf(" and %s == 0", number)
	}
	w.printf("if %s then", alone)
	w.indent += "  "
	w.printf("local row = %s[1]", result(g))
	row := w.row(g)
	fits := "not rlfunc_wrong"
	if holds := row.holds(); holds != "" {
		fits += " and " + holds
	}
	w.printf("if %s then", fits)
	w.indent += "  "
	w.thousands(&row, "return %s")
	w.indent = w.indent[4:]
	w.printf("  end")
	w.printf("end")
}

// rows writes the records of one group.
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
	row := w.row(g)
	if row.numbered() {
		w.one(&row)
		if len(row.listed) == 0 {
			w.printf("rlfunc_at = rlfunc_at + 1")
			w.printf("reply[rlfunc_at] = rlfunc_one")
		} else {
			w.printf("if rlfunc_one then")
			w.printf("  rlfunc_at = rlfunc_at + 1")
			w.printf("  reply[rlfunc_at] = rlfunc_one")
			w.printf("else")
			w.spell(&row, "reply[rlfunc_at + %d]", 1)
			w.printf("  rlfunc_at = rlfunc_at + %d", 1+len(row.listed))
			w.printf("end")
		}
	}
	w.texts(&row)
	w.indent = w.indent[2:]
	w.printf("end")
}

// mostRows returns the most rows that a result may have.
func mostRows(g spec.Field) int64 {
	if g.Max > 0 {
		return min(maxRows, g.Max)
	}
	return maxRows
}

// row writes the locals of a row's fields and their checks.
func (w *replyWriter) row(g spec.Field) record {
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
	return w.record("rlfunc_word", g.Fields, "row_", group)
}
