package bundle

import (
	_ "embed"
	"slices"

	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// signed is the Lua that reads and writes numbers that may be below 0, in a separate block as packs is.
//
//go:embed signed.lua
var signed string

// maxDecimal is the length of the longest text of a float, in bytes; the shortest text of a number has 24 at most.
const maxDecimal = 32

func writeSigned(w *writer, lib *source.Library) {
	isSigned := func(f spec.Field) bool { return f.Kind.Signed() }
	used := slices.ContainsFunc(lib.Spec.Functions, func(fn spec.Function) bool {
		return slices.ContainsFunc(slices.Concat(fn.Params, fn.Results), func(f spec.Field) bool {
			return isSigned(f) || slices.ContainsFunc(f.Fields, isSigned)
		})
	})
	if used {
		w.shared("Numbers that may be below 0.", "rlfunc_signed", signed)
	}
}
