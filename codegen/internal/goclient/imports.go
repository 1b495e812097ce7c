package goclient

import "github.com/rlfunc/rlfunc/codegen/spec"

// imports are the packages that a file needs besides those of its template.
type imports struct{ Time, JSON bool }

// importsOf returns the imports of a file with these fields.
func importsOf(fields []spec.Field) (out imports) {
	for _, f := range fields {
		inner := importsOf(f.Fields)
		out.Time = out.Time || inner.Time || f.Kind == spec.KindDuration || f.Kind == spec.KindTime
		out.JSON = out.JSON || inner.JSON || f.Kind == spec.KindJSON
	}
	return out
}
