package vet_test

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/internal/codegen/diag"
	"github.com/rlfunc/rlfunc/internal/codegen/internal/golden"
	vet "github.com/rlfunc/rlfunc/internal/codegen/shapes"
	"github.com/rlfunc/rlfunc/internal/codegen/source"
)

func load(fsys fstest.MapFS) diag.List {
	tree, found := source.Load(fsys, "functions", source.Options{})
	if len(found) > 0 {
		return found
	}
	return vet.Check(tree)
}

func TestCheck_golden(t *testing.T) { golden.Run(t, load) }

func TestCheck_ownFunctionsAreClean(t *testing.T) {
	tree, found := source.Load(os.DirFS("../../../functions"), "functions", source.Options{})
	found = append(found, vet.Check(tree)...)
	if d := cmp.Diff(diag.List(nil), found); d != "" {
		t.Errorf("findings in functions/ (-want +got):\n%s", d)
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
