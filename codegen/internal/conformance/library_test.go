package conformance

import (
	"os"
	"testing"

	"github.com/rlfunc/rlfunc/codegen/internal/source"
)

// load reads the library that has everything.
func load(t *testing.T) *source.Tree {
	t.Helper()
	tree, found := source.Load(os.DirFS("functions"), "functions", source.Options{})
	if len(found) > 0 {
		t.Fatal(found.Error())
	}
	return tree
}
