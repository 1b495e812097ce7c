package goclient_test

import (
	"testing"
	"testing/fstest"

	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/internal/goclient"
	"github.com/rlfunc/rlfunc/codegen/internal/golden"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
)

func TestClashes_golden(t *testing.T) {
	golden.Run(t, func(fsys fstest.MapFS) diag.List {
		tree, found := source.Load(fsys, "functions", source.Options{})
		for _, lib := range tree.Libraries {
			clashes, err := goclient.Clashes(lib)
			if err != nil {
				t.Error(err)
			}
			found = append(found, clashes...)
		}
		return found
	})
}
