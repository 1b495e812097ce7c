package bundle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// writeRows writes the reader of the rows that a lib file declares, for all functions of the library that take such rows.
func writeRows(w *writer, lib *source.Library, name string) {
	for i := range lib.Spec.Functions {
		fn := &lib.Spec.Functions[i]
		for _, g := range fn.Params {
			if g.Rows == name {
				e := &entryWriter{writer: &writer{}, fn: fn}
				e.printf("return ")
				e.row(g, "")
				w.shared("A row that lib/"+name+".lua declares, from the cells of its text.", "rlfunc_row_"+name, e.String())
				return
			}
		}
	}
}

// row writes the function that makes a row of a group from the cells of its text.
func (e *entryWriter) row(g spec.Field, name string) {
	e.printf("function%s(words)\n  local %s = {\n", name, rowName(g))
	cells, _ := g.Cells()
	for i, f := range cells {
		word := fmt.Sprintf("words[%d]", i+1)
		e.printf("    %s = %s,\n", f.Lua, value(f, word, "rlfunc_pack.text("+word+")"))
	}
	e.printf("  }\n")
	e.rowRules(g, g.Rows != "")
	e.printf("  return %s\nend\n", rowName(g))
}

// rowName names a row as the rules of its group do: by the group's name, or by none in a lib file.
func rowName(g spec.Field) string {
	if g.Rows != "" {
		return "rlfunc_row"
	}
	return g.Lua
}

// rowsOf writes what reads the rows of a group, before the entry, because rows of a text outlive the call.
func (e *entryWriter) rowsOf(g spec.Field) {
	name, own, prepare := "rlfunc_"+g.Lua, "nil", "nil"
	switch {
	case g.Kind != spec.KindGroup:
		return
	case g.Rows == "":
		e.printf("local ")
		e.row(g, " "+name+"_row")
	case len(e.ownRules(g)) > 0:
		own = name + "_own"
		e.printf("local function %s(%s)\n", own, g.Lua)
		e.rowRules(g, false)
		e.printf("end\n")
	}
	of := name + "_row"
	if g.Rows != "" {
		of = "rlfunc_row_" + g.Rows
	}
	if g.Prepare {
		prepare = g.Rows + ".prepare"
	}
	cells, least := g.Cells()
	e.printf("local %s = rlfunc_pack.rows('%s', %d, %d, %d, %d, %d, %s, %s, %s)\n", name, g.Name, g.Min, g.Max, least, len(cells), rowBytes(cells), of, own, prepare)
}

func (e *entryWriter) ownRules(g spec.Field) []spec.Rule {
	return slices.DeleteFunc(e.fn.OwnRules(), func(r spec.Rule) bool { return r.Group != g.Name })
}

// rules writes the checks of what a call's arguments must be together. Rules of rows are checked where these are read.
func (e *entryWriter) rules() {
	for _, r := range e.fn.OwnRules() {
		if r.Group == "" {
			e.printf("  if not (%s) then\n    rlfunc.refuse('%s', %s)\n  end\n", r.Expression, r.Fields[0], quote("satisfy "+r.Text()))
		}
	}
}

// rowRules writes the checks of a row: those of the lib file that declares the rows, or the function's own.
func (e *entryWriter) rowRules(g spec.Field, ofLib bool) {
	rules := e.ownRules(g)
	if ofLib {
		rules = e.fn.RulesOf(g.Name)
	}
	for _, r := range rules {
		in := "  "
		if ofLib { // its rules have the names of fields alone
			in = "    "
			var names, cells []string
			for _, path := range r.Fields {
				f, _ := e.fn.Arg(path)
				names, cells = append(names, f.Lua), append(cells, "rlfunc_row."+f.Lua)
			}
			e.printf("  do\n    local %s = %s\n", strings.Join(names, ", "), strings.Join(cells, ", "))
		}
		e.printf("%sif not (%s) then\n%s  rlfunc.refuse('', %s)\n%send\n", in, r.Expression, in, quote("satisfy "+r.Text()), in)
		if ofLib {
			e.printf("  end\n")
		}
	}
}

// maxDecimal is the length of the longest text of a float, in bytes; the shortest text of one has 24 at most.
const maxDecimal = 32

// rowBytes is the length of the longest text of a row.
func rowBytes(cells []spec.Field) int64 {
	n := int64(len(cells) - 1)
	for _, c := range cells {
		switch {
		case c.Kind == spec.KindText:
			n += 3 * c.Max
		case c.Kind == spec.KindEnum:
			longest := 0
			for _, v := range c.Values {
				longest = max(longest, len(v))
			}
			n += int64(longest)
		case c.Kind == spec.KindBool:
			n++
		case c.Kind == spec.KindFloat:
			n += maxDecimal
		default:
			n += int64(max(len(fmt.Sprint(c.Min)), len(fmt.Sprint(c.Max))))
		}
	}
	return n
}
