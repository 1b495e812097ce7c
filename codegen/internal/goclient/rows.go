package goclient

import (
	"fmt"
	"slices"

	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// RowType returns the type of a group's row, which begins the names of its other types; owner is the function's Go name. Rows of a lib file
// have the same type in every function of the library.
func RowType(owner string, g spec.Field) string {
	if g.Rows != "" {
		return Name(g.Rows)
	}
	return owner + Name(g.Name)
}

// row writes the type of an argument group's row, and the function that encodes rows.
func (w *writer) row(kind, of string, g spec.Field, rules []spec.Rule) {
	w.printf("\n// %s is one row of %s.\n%stype %[1]s struct {\n", kind, of, ruleDoc(rules))
	cells, required := g.Cells()
	for _, f := range cells {
		w.printf("%s\n%s %s\n", fieldDoc(f, true), Name(f.Name), goType(kind, f))
	}
	subject := `""`
	if len(g.Keys()) > 0 {
		subject = "row.Of"
		w.printf("// Of is the subject of the row's keys. Defaults to the call's subject.\nOf fcall.Subject\n")
	}
	w.printf("}\n\n// Pack%[1]s encodes rows. Keep the result: calls then encode nothing, and the server decodes the rows once.\n"+
		"func Pack%[1]s(rows ...%[1]s) fcall.Rows[%[1]s] {\np := fcall.NewPacker(%[2]d)\nfor _, row := range rows {\np.Row(%[3]s)\n", kind, required, subject)
	for _, f := range cells {
		w.printf("p.%s\n", encode("row."+Name(f.Name), f))
	}
	for _, k := range g.Keys() {
		w.printf("p.RowKey(%s, row.%s)\n", suffixOf(k, "row"), Name(k.SuffixOf))
	}
	w.printf("}\nreturn fcall.Pack(rows, p)\n}\n")
}

// answer writes the type of a result group's row, and the function that reads one.
func (w *writer) answer(kind, of string, g spec.Field) {
	w.printf("\n// %sResult is one row of %s.\n", kind, of)
	w.result(kind, kind+"Result", g.Fields)
}

// result writes a type of results below its comment, and the function that reads it from a reply, in order.
func (w *writer) result(owner, kind string, fields []spec.Field) {
	w.printf("type %s struct {\n", kind)
	for _, f := range fields {
		w.printf("%s\n%s %s\n", fieldDoc(f, false), Name(f.Name), ResultType(owner, f))
	}
	w.printf("}\n\nfunc read%[1]s(reply *fcall.Reply) %[1]s {\nreturn %[1]s{\n", kind)
	for _, f := range fields {
		w.printf("%s: %s,\n", Name(f.Name), decode(owner, f))
	}
	w.printf("}\n}\n")
}

// decode returns the expression that reads one result.
func decode(owner string, f spec.Field) string {
	switch f.Kind {
	case spec.KindGroup:
		return fmt.Sprintf("fcall.ReadRows(reply, %q, read%sResult)", f.Name, RowType(owner, f))
	case spec.KindBool:
		return fmt.Sprintf("reply.Bool(%q)", f.Name)
	case spec.KindText:
		return fmt.Sprintf("reply.Text(%q)", f.Name)
	case spec.KindEnum:
		return fmt.Sprintf("%s(reply.Text(%q))", owner+Name(f.Name), f.Name)
	case spec.KindFloat:
		return fmt.Sprintf("reply.Float(%q)", f.Name)
	case spec.KindMicros:
		return fmt.Sprintf("fcall.Micros(reply.Int(%q))", f.Name)
	case spec.KindDuration:
		return fmt.Sprintf("reply.Duration(%q)", f.Name)
	case spec.KindTime:
		return fmt.Sprintf("reply.Time(%q)", f.Name)
	}
	return fmt.Sprintf("reply.Int(%q)", f.Name)
}

// enums writes the types of enums that are not in seen, those of groups included, except those of rows that a lib file declares. An
// argument and a result of the same name share a type.
func (w *writer) enums(owner string, fields []spec.Field, seen map[string]bool) {
	for _, f := range fields {
		kind := owner + Name(f.Name)
		if f.Kind == spec.KindEnum && !seen[kind] {
			seen[kind] = true
			w.printf("\n// %[1]s is one of the values of %[2]s.\ntype %[1]s string\n\n// The values of %[2]s.\nconst (\n", kind, f.Name)
			for _, v := range f.Values {
				w.printf("%s%s %[1]s = %[3]q\n", kind, Name(v), v)
			}
			w.printf(")\n")
		}
		if f.Rows == "" {
			w.enums(kind, f.Fields, seen)
		}
	}
}

// rowsCode writes the rows that lib files declare and functions of the library use; nothing when there are none.
func rowsCode(lib *source.Library) string {
	var w writer
	var all []spec.Field
	done, seen, needsFcall := map[string]bool{}, map[string]bool{}, false
	for i := range lib.Spec.Functions {
		fn := &lib.Spec.Functions[i]
		for n, g := range slices.Concat(fn.Params, fn.Results) {
			param := n < len(fn.Params)
			once := fmt.Sprint(g.Rows, param)
			if g.Rows == "" || done[once] {
				continue
			}
			done[once] = true
			all = append(all, g.Fields...)
			kind := RowType("", g)
			if param {
				w.row(kind, "the groups that take their rows from lib/"+g.Rows+".lua", g, fn.RulesOf(g.Name))
			} else {
				w.answer(kind, "the answers that lib/"+g.Rows+".lua declares", g)
			}
			needsFcall = true
			w.enums(kind, g.Fields, seen)
		}
	}
	if !needsFcall {
		return ""
	}
	var standard []string
	if timed(all) {
		standard = []string{"time"}
	}
	var file writer
	file.head(lib, lib.Root+"/"+lib.Spec.Name, standard, []string{fcallPath})
	return file.String() + w.String()
}

// timed reports whether fields have types of package time.
func timed(fields []spec.Field) bool {
	return slices.ContainsFunc(fields, func(f spec.Field) bool {
		return f.Kind == spec.KindDuration || f.Kind == spec.KindTime || timed(f.Fields)
	})
}
