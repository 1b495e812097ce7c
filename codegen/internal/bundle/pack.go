package bundle

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// packs is the Lua that decodes packed groups, in a separate block that scripts without one omit.
//
//go:embed pack.lua
var packs string

const (
	// packsKept is the number of decoded packs per generation; there are two generations.
	packsKept = 64
	// maxPack is the length of the longest cached pack, in bytes.
	maxPack = 4096
)

func writePacks(w *writer, lib *source.Library) {
	packed := slices.ContainsFunc(lib.Spec.Functions, func(fn spec.Function) bool {
		return slices.ContainsFunc(fn.Params, func(p spec.Field) bool { return p.Kind == spec.KindPacked })
	})
	if packed {
		w.shared("Decodes packed groups.", "rlfunc_pack", packs)
	}
}

// writeRows writes the decoder of the rows that a lib file declares, for all functions of the library that take such rows.
func writeRows(w *writer, lib *source.Library, name string) {
	for i := range lib.Spec.Functions {
		fn := &lib.Spec.Functions[i]
		for _, g := range fn.Params {
			if g.Kind == spec.KindPacked && g.Rows == name {
				e := &entryWriter{writer: &writer{}, fn: fn, indent: "  "}
				e.printf("return ")
				e.rowDecoder(g, "")
				w.shared("A row that lib/"+name+".lua declares, from the cells of its text; or nil and a refusal.", "rlfunc_row_"+name, e.b.String())
				return
			}
		}
	}
}

// rowDecoder writes a function that makes a row of a group from its cells.
func (e *entryWriter) rowDecoder(g spec.Field, name string) {
	own := ""
	if g.Rows != "" {
		own = ", rlfunc_own"
	}
	e.printf("function%s(rlfunc_cells, rlfunc_place, rlfunc_above, rlfunc_group%s)\n", name, own)
	e.packed = true
	cells, _ := g.Cells()
	fields := make([]string, len(cells))
	for i, c := range cells {
		e.value(c, "local in_"+c.Lua, fmt.Sprintf("rlfunc_cells[%d]", i+1), refuseRow(must(c, c.Name)))
		fields[i] = fmt.Sprintf("%s = in_%s", c.Lua, c.Lua)
	}
	e.rowRules(g, g.Rows != "", "in_")
	e.packed = false
	row := "{" + strings.Join(fields, ", ") + "}"
	if g.Rows != "" {
		e.printf("  local rlfunc_row = %s\n", row)
		e.printf("  local rlfunc_wrong = rlfunc_own and rlfunc_own(rlfunc_row, rlfunc_place, rlfunc_group)\n")
		e.printf("  if rlfunc_wrong then\n    return nil, rlfunc_wrong\n  end\n")
		row = "rlfunc_row"
	}
	if g.Prepare {
		e.printf("  local _, rlfunc_refusal = %s.prepare(rlfunc_row, rlfunc_above)\n", g.Rows)
		e.printf("  if rlfunc_refusal then\n    return nil, rlfunc_pack.unprepared(rlfunc_group, rlfunc_place, rlfunc_refusal)\n  end\n")
	}
	e.printf("  return %s\nend\n", row)
}

// refuseRow is the refusal of the row at hand.
func refuseRow(text string) string {
	return "rlfunc_pack.refusal(rlfunc_group, rlfunc_place, " + quote("."+text) + ")"
}

// decoder writes the decoding and the cache of a pack, before the entry, because cached rows outlive the call.
func (e *entryWriter) decoder(g spec.Field) {
	cells, least := g.Cells()
	maker, own := "rlfunc_row_"+g.Rows, ""
	if g.Rows == "" {
		maker = "rlfunc_" + g.Lua + "_row"
		e.printf("\n-- A row of %s from the cells of its text; or nil and a refusal.\nlocal ", g.Name)
		e.rowDecoder(g, " "+maker)
	} else if slices.ContainsFunc(e.fn.Rules, func(r spec.Rule) bool { return r.Group == g.Name && r.Own() && r.File == "" }) {
		own = "rlfunc_" + g.Lua + "_own"
		e.printf("\n-- What this function alone asks of a row of %s: the refusal, or nil.\n", g.Name)
		e.printf("local function %s(rlfunc_row, rlfunc_place, rlfunc_group)\n", own)
		e.rowRules(g, false, "rlfunc_row.")
		e.printf("end\n")
		own = ", own = " + own
	}
	e.printf("\n")
	young, old, kept := generations(g)
	e.printf("-- The rows of %s by the text that they come as, for every call: nothing may write to them. When the young generation\n", g.Name)
	e.printf("-- holds %d texts it becomes the old one, and what that held is forgotten; what is used again comes back from there.\n", packsKept)
	e.printf("local %s, %s, %s = {}, {}, 0\n", young, old, kept)
	e.printf("local function %s(text)\n", rowsOf(g))
	e.printf("  local rows = %s[text]\n", old)
	e.printf("  if not rows then\n    local refusal\n    rows, refusal = rlfunc_pack.rows(text, {\n")
	e.printf("      group = '%s', count = %s, least = %d, most = %d,\n", g.Name, quote("RLARG "+must(g, g.Name)), g.Min, g.Max)
	e.printf("      required = %d, cells = %d, bytes = %d, row = %s%s,\n    })\n", least, len(cells), rowBytes(cells), maker, own)
	e.printf("    if not rows or #text > %d then\n      return rows, refusal\n    end\n  end\n", maxPack)
	e.printf("  if %s == %d then\n    %s = %s\n    %s = {}\n    %s = 0\n  end\n", kept, packsKept, old, young, young, kept)
	e.printf("  %s[text] = rows\n  %s = %s + 1\n  return rows\nend\n", young, kept, kept)
	if keys := g.Keys(); len(keys) > 0 {
		e.printf("\n-- The lists of the rows' keys by their length: every call fills one again.\n")
		for _, k := range keys {
			e.printf("local rlfunc_%s_of = {}\n", g.KeyName(k))
		}
	}
}

func rowsOf(g spec.Field) string { return "rlfunc_" + g.Lua + "_rows" }

func generations(g spec.Field) (young, old, kept string) {
	return "rlfunc_" + g.Lua + "_young", "rlfunc_" + g.Lua + "_old", "rlfunc_" + g.Lua + "_kept"
}

// rowBytes is the length of the longest text of a row.
func rowBytes(cells []spec.Field) int64 {
	n := int64(len(cells) - 1)
	for _, c := range cells {
		switch c.Kind {
		case spec.KindText, spec.KindBytes, spec.KindJSON:
			n += 3 * c.Max
		case spec.KindEnum:
			longest := 0
			for _, v := range c.Values {
				longest = max(longest, len(v))
			}
			n += int64(longest)
		case spec.KindBool:
			n++
		case spec.KindFloat:
			n += maxDecimal
		default:
			n += int64(max(len(fmt.Sprint(c.Min)), len(fmt.Sprint(c.Max))))
		}
	}
	return n
}

// unpack writes the lookup of a pack's rows, and of their keys.
func (e *entryWriter) unpack(g spec.Field, from string) (call []string) {
	young, _, _ := generations(g)
	in := e.indent
	switch {
	case e.end == "":
		e.printf("%slocal %s = %s[%s]\n", in, g.Lua, young, from)
	case e.declared:
		e.printf("%sif %s%s ~= '' then\n%s  %s = %s[%s]\n", in, e.end, from, in, g.Lua, young, from)
	default:
		e.printf("%slocal %s = rlfunc_none\n%sif %s%s ~= '' then\n%s  %s = %s[%s]\n", in, g.Lua, in, e.end, from, in, g.Lua, young, from)
	}
	outer := in
	if e.end != "" {
		in += "  "
	}
	e.printf("%sif not %s then\n%s  local rlfunc_refusal\n%s  %s, rlfunc_refusal = %s(%s)\n", in, g.Lua, in, in, g.Lua, rowsOf(g), from)
	e.printf("%s  if not %s then\n%s    return rlfunc_refusal\n%s  end\n%send\n", in, g.Lua, in, in, in)
	if e.end != "" {
		e.printf("%send\n", outer)
	}
	call = []string{g.Lua}
	keys := g.Keys()
	if len(keys) == 0 {
		return call
	}
	in = outer
	step := times(fmt.Sprintf("rlfunc_%s", g.Lua), int64(len(keys)))
	e.printf("%slocal rlfunc_%s = #%s\n", in, g.Lua, g.Lua)
	e.printf("%sif rlfunc_keys < rlfunc_key + %s then\n", in, step)
	e.printf("%s  return {err = 'RLARG %s must be called with as many keys and arguments as its groups have rows'}\n%send\n", in, e.fn.Name, in)
	local := "local "
	if e.declared {
		local = ""
	}
	for _, k := range keys {
		name := g.KeyName(k)
		call = append(call, name)
		e.printf("%s%s%s = rlfunc_%s_of[rlfunc_%s]\n", in, local, name, name, g.Lua)
		e.printf("%sif not %s then\n%s  %s = {}\n%s  rlfunc_%s_of[rlfunc_%s] = %s\n%send\n", in, name, in, name, in, name, g.Lua, name, in)
	}
	e.printf("%sfor rlfunc_row = 1, rlfunc_%s do\n", in, g.Lua)
	for i, k := range keys {
		place := "rlfunc_key + rlfunc_row"
		if len(keys) > 1 {
			place = fmt.Sprintf("rlfunc_key + rlfunc_row * %d - %d", len(keys), len(keys)-1-i)
		}
		e.printf("%s  local rlfunc_of = keys[%s]\n", in, place)
		if i == 0 {
			e.printf("%s  if rlfunc_of:find('{}', 1, true) then\n", in)
			e.printf("%s    return rlfunc_pack.refusal('%s', rlfunc_row - 1, '.of must not be empty')\n%s  end\n", in, g.Name, in)
		}
		e.printf("%s  %s[rlfunc_row] = rlfunc_of\n", in, g.KeyName(k))
	}
	e.printf("%send\n%srlfunc_key = rlfunc_key + %s\n", in, in, step)
	return call
}
