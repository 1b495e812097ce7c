// Package runtime turns a library's source into the form that clients and the loader use. It is the one package of codegen
// that knows Redis's client.
package runtime

import (
	"github.com/rlfunc/rlfunc/codegen/internal/bundle"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/fcall"
)

// Library returns the library in the form of a generated package.
func Library(lib *source.Library) *fcall.Library {
	b := bundle.Write(lib)
	out := &fcall.Library{Name: lib.Spec.Name, Version: lib.Spec.Version, ServerName: lib.Spec.Server, Code: b.Code}
	for _, s := range b.Sections {
		out.Files = append(out.Files, fcall.Section{Line: s.Line, File: s.File, FileLine: s.FileLine})
	}
	return out
}
