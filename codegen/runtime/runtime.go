// Package runtime turns a library's source into what clients and the loader work with. It is the one package of codegen
// that knows Redis's client.
package runtime

import (
	"github.com/rlfunc/rlfunc/codegen/bundle"
	"github.com/rlfunc/rlfunc/codegen/source"
	"github.com/rlfunc/rlfunc/fcall"
)

// Library is the library as a generated package holds it.
func Library(lib *source.Library) *fcall.Library {
	b := bundle.Write(lib)
	out := &fcall.Library{Name: lib.Spec.Name, Version: lib.Spec.Version, ServerName: lib.Spec.Server, Code: b.Code}
	for _, s := range b.Sections {
		out.Files = append(out.Files, fcall.Section{Line: s.Line, File: s.File, FileLine: s.FileLine})
	}
	return out
}
