package vet_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/internal/golden"
	"github.com/rlfunc/rlfunc/codegen/internal/vet"
)

const docsFile = "../../../docs/reference/vet.md"

func TestDocs_areCurrent(t *testing.T) {
	want := vet.Docs()
	if *golden.Update {
		if err := os.WriteFile(docsFile, want, 0o644); err != nil {
			t.Fatalf("write %s: %v", docsFile, err)
		}
		return
	}
	got, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatalf("read %s: %v", docsFile, err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s is stale: go test ./codegen/internal/vet -update (-want +got):\n%s", docsFile, d)
	}
}
