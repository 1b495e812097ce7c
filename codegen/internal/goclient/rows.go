package goclient

import (
	"fmt"
	"slices"

	"github.com/rlfunc/rlfunc/codegen/internal/clients"
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
func (w *writer) row(r clients.Row, of string) {
	w.printf("\n// %s is one row of %s.\n%stype %[1]s struct {\n", r.Type, of, ruleDoc(r.Rules))
	_, required := r.Group.Cells()
	for _, f := range r.Fields {
		w.printf("%s\n%s %s\n", fieldDoc(f, true), Name(f.Name), goType(r.Type, f))
	}
	subject := `""`
	if len(r.Group.Keys()) > 0 {
		subject = "row.Of"
		w.printf("// Of is the subject of the row's keys. Defaults to the call's subject.\nOf fcall.Subject\n")
	}
	w.printf("}\n\n// Pack%[1]s encodes rows. Keep the result: calls then encode nothing, and the server decodes the rows once.\n"+
		"func Pack%[1]s(rows ...%[1]s) fcall.Rows[%[1]s] {\np := fcall.NewPacker(%[2]d)\nfor _, row := range rows {\np.Row(%[3]s)\n", r.Type, required, subject)
	for _, f := range r.Fields {
		w.printf("p.%s\n", encode("row."+Name(f.Name), f))
	}
	for _, k := range r.Group.Keys() {
		w.printf("p.RowKey(%s, row.%s)\n", suffixOf(k, "row"), Name(k.SuffixOf))
	}
	w.printf("}\nreturn fcall.Pack(rows, p)\n}\n")
}

// types writes rows and enums; from says where rows of arguments, or of results, are declared.
func (w *writer) types(rows []clients.Row, enums []clients.Enum, from func(r clients.Row) string) {
	for _, r := range rows {
		if r.Param {
			w.row(r, from(r))
		} else {
			w.printf("\n// %s is one row of %s.\n", r.Type, from(r))
			w.result(r.Prefix, r.Type, r.Fields)
		}
	}
	for _, e := range enums {
		w.printf("\n// %[1]s is one of the values of %[2]s.\ntype %[1]s string\n\n// The values of %[2]s.\nconst (\n", e.Type, e.Of)
		for _, v := range e.Values {
			w.printf("%s%s %[1]s = %[3]q\n", e.Type, Name(v), v)
		}
		w.printf(")\n")
	}
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

// rowsCode writes the rows that lib files declare and functions of the library use; nothing when there are none.
func rowsCode(m clients.Module) string {
	if len(m.Rows) == 0 {
		return ""
	}
	var standard []string
	if slices.ContainsFunc(m.Rows, func(r clients.Row) bool { return timed(r.Fields) }) {
		standard = []string{"time"}
	}
	var w writer
	w.head(m.Library, m.Root+"/"+m.Spec.Name, standard, []string{fcallPath})
	w.types(m.Rows, m.Enums, func(r clients.Row) string {
		if r.Param {
			return "the groups that take their rows from " + r.Of
		}
		return "the answers that " + r.Of + " declares"
	})
	return w.String()
}

// timed reports whether fields have types of package time.
func timed(fields []spec.Field) bool {
	return slices.ContainsFunc(fields, func(f spec.Field) bool {
		return f.Kind == spec.KindDuration || f.Kind == spec.KindTime || timed(f.Fields)
	})
}
