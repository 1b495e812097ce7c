// Package runtime turns a library's source into the form that clients and the loader use. It is the one package of codegen
// that knows Redis's client.
package runtime

import (
	"github.com/rlfunc/rlfunc/codegen/internal/bundle"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/fcall"
)

// Library returns the library in the form of a generated package.
func Library(lib *source.Library) *fcall.Library {
	return &fcall.Library{Name: lib.Spec.Name, Version: lib.Spec.Version, ServerName: lib.Spec.Server, Code: bundle.Write(lib)}
}

// Function describes a function of a library, for calls without a generated client.
func Function(lib *fcall.Library, fn *spec.Function) *fcall.Function {
	codes := make([]string, len(fn.Errors))
	for i, e := range fn.Errors {
		codes[i] = e.Code
	}
	return &fcall.Function{
		Library: lib, Name: fn.Name, ServerName: fn.Server, ReadOnly: fn.Has("no-writes"), Codes: codes,
		Omissible: fn.Omissible(),
	}
}
