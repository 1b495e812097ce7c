// Package bundle joins the Lua of a library into the one file that Redis loads.
//
// It contains the author's files unchanged, so a line of a Redis error maps to a line of a file. Around
// them the generator writes the code for Redis: checks and decoding of keys and arguments, encoding of the reply,
// registration.
package bundle

import (
	"fmt"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/internal/vet"
	"github.com/rlfunc/rlfunc/internal/marks"
)

// A Section is the origin of a run of lines: bundle line Line is line FileLine of File, and so on until the next
// section. File "" is generated code.
type Section struct {
	Line     int
	File     string
	FileLine int
}

// A Bundle is the code that Redis loads, with a map back to the author's lines.
type Bundle struct {
	Code     string
	Sections []Section
}

type writer struct {
	b        strings.Builder
	line     int
	sections []Section
}

func (w *writer) printf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.line += strings.Count(text, "\n")
	w.b.WriteString(text)
}

// shared writes generated code that only some functions need.
func (w *writer) shared(doc, local, text string) {
	w.printf("\n-- %s\n%s\n%send)()\n", doc, marks.Block{Local: local, Lines: strings.Count(text, "\n")}.Line(), text)
}

// file writes an author's file verbatim, after a line that opens a block and names the file, for [Read]. A lib file has a local.
func (w *writer) file(local string, f *luasrc.File) {
	text := strings.TrimRight(f.Text, "\n") + "\n"
	w.printf("\n%s\n", marks.Block{Local: local, Lines: strings.Count(text, "\n"), File: f.Path}.Line())
	w.section(f.Path, 1)
	w.line += strings.Count(text, "\n")
	w.b.WriteString(text)
	w.section("", 0)
}

// section records the origin of the lines that follow.
func (w *writer) section(file string, line int) {
	w.sections = append(w.sections, Section{Line: w.line, File: file, FileLine: line})
}

// Write joins a library, which must have passed source.Load and vet without findings.
func Write(lib *source.Library) Bundle {
	w := &writer{line: 1}
	w.printf("#!lua name=%s\n", lib.Spec.Server)
	w.printf("%s%s/%s%s\n", generated, lib.Root, lib.Spec.Name, doNotEdit)
	w.printf("%s\n", marks.Head{Library: lib.Spec.Name, Version: lib.Spec.Version, Requires: lib.Spec.Requires}.Line())
	w.printf("\n%s", wire)
	writePacks(w, lib)
	writeSigned(w, lib)
	for _, used := range lib.Libs {
		w.file(used.Name, used.File)
		w.printf("end)()\n")
		writeRows(w, lib, used.Name)
	}
	commands := vet.Commands(lib)
	for i, f := range lib.Files {
		w.file("", f)
		writeEntry(w, &lib.Spec.Functions[i], commands[i])
		w.printf("end\n")
	}
	return Bundle{Code: w.b.String(), Sections: w.sections}
}
