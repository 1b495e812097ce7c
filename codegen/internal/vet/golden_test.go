package vet_test

import (
	"io/fs"
	"os"
	"testing"
	"testing/fstest"

	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/internal/golden"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/internal/vet"
)

func load(fsys fstest.MapFS) diag.List {
	tree, found := source.Load(fsys, "functions", source.Options{})
	if len(found) > 0 {
		return found
	}
	return vet.Check(tree)
}

func TestCheck_golden(t *testing.T) { golden.Run(t, load) }

// The functions of this repository and ports of public scripts are what users write: none of them needs a comment that silences vet.
func TestCheck_treesAreClean(t *testing.T) {
	for dir, fsys := range map[string]fs.FS{
		"functions":                 os.DirFS("../../../functions"),
		"contract's testdata/ports": golden.Tree(t, "../../contract/testdata/ports"),
	} {
		tree, found := source.Load(fsys, dir, source.Options{})
		if found = append(found, vet.Check(tree)...); len(found) > 0 {
			t.Errorf("findings in %s:\n%v", dir, found)
		}
	}
}

// BenchmarkCheck_repository is what generate, vet and deploy wait for.
func BenchmarkCheck_repository(b *testing.B) {
	tree, found := source.Load(os.DirFS("../../../functions"), "functions", source.Options{})
	if len(found) > 0 {
		b.Fatal(found)
	}
	b.ReportAllocs()
	for b.Loop() {
		vet.Check(tree)
	}
}
