// Package bundle joins the Lua of a library into the one file that Redis loads.
//
// It contains the author's files line by line, so a line of a Redis error maps to a line of a file, with their contracts and without their
// comments. Around them the generator writes the code for Redis: checks and decoding of keys and arguments, the reply, registration.
package bundle

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/annotation"
	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/marks"
)

// helpers is the Lua by which entries read keys and arguments; packs, those of groups; and signed, of numbers that may be below 0. Only
// the first is in each bundle.
//
//go:embed entry.lua
var helpers string

//go:embed pack.lua
var packs string

//go:embed signed.lua
var signed string

type writer struct{ strings.Builder }

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(w, format, args...) }

// shared writes generated code that only some functions need.
func (w *writer) shared(doc, local, text string) {
	w.printf("\n-- %s\n%s\n%send)()\n", doc, marks.Block{Local: local, Lines: strings.Count(text, "\n")}.Line(), text)
}

// file writes an author's file, line by line and without what only people read, after a line that opens a block and names the file, for
// [Read]. A lib file has a local.
func (w *writer) file(local string, f *luasrc.File) {
	text := strings.TrimRight(annotation.Cut(f), "\n") + "\n"
	w.printf("\n%s\n", marks.Block{Local: local, Lines: strings.Count(text, "\n"), File: f.Path}.Line())
	w.WriteString(text)
}

// Write joins a library, which must have passed source.Load and vet without findings.
func Write(lib *source.Library) string {
	w := &writer{}
	w.printf("#!lua name=%s\n", lib.Spec.Server)
	w.printf("%s%s/%s%s\n", generated, lib.Root, lib.Spec.Name, doNotEdit)
	w.printf("%s\n", marks.Head{Library: lib.Spec.Name, Version: lib.Spec.Version}.Line())
	w.shared("Reads the keys and arguments of calls, and runs their functions.", "rlfunc", helpers)
	if slices.ContainsFunc(lib.Spec.Functions, func(fn spec.Function) bool { return slices.ContainsFunc(fn.Params, isGroup) }) {
		w.shared("Reads groups of arguments.", "rlfunc_pack", packs)
	}
	if uses(lib, func(f spec.Field) bool { return f.Kind.Signed() }) {
		w.shared("Numbers that may be below 0.", "rlfunc_signed", signed)
	}
	for _, used := range lib.Libs {
		w.file(used.Name, used.File)
		w.printf("end)()\n")
		writeRows(w, lib, used.Name)
	}
	for i, f := range lib.Files {
		w.file("", f)
		writeEntry(w, &lib.Spec.Functions[i])
		w.printf("end\n")
	}
	return w.String()
}

func isGroup(f spec.Field) bool { return f.Kind == spec.KindGroup }

// uses reports whether some argument, result or field of a row is such.
func uses(lib *source.Library, such func(f spec.Field) bool) bool {
	return slices.ContainsFunc(lib.Spec.Functions, func(fn spec.Function) bool {
		return slices.ContainsFunc(slices.Concat(fn.Params, fn.Results), func(f spec.Field) bool { return such(f) || slices.ContainsFunc(f.Fields, such) })
	})
}
