package vet

import (
	"github.com/rlfunc/rlfunc/codegen/annotation"
	"github.com/rlfunc/rlfunc/codegen/source"
)

func libsOf(lib *source.Library) map[string]*annotation.Lib {
	out := map[string]*annotation.Lib{}
	for _, l := range lib.Libs {
		out[l.Name] = l
	}
	return out
}
