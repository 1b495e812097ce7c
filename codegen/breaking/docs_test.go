package breaking_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/breaking"
	"github.com/rlfunc/rlfunc/codegen/internal/golden"
)

const (
	docsFile = "../../docs/reference/breaking-changes.md"
	docsMark = "<!-- The rest is made from the rules of codegen/breaking: go test ./codegen/breaking -update -->\n"
)

func TestDocs_endInTheRules(t *testing.T) {
	text, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	page, have, ok := strings.Cut(string(text), docsMark)
	if !ok {
		t.Fatalf("%s has no line %q", docsFile, docsMark)
	}
	want := breaking.Docs()
	if *golden.Update {
		if err := os.WriteFile(docsFile, []byte(page+docsMark+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("%s is stale: go test ./codegen/breaking -update (-want +got):\n%s", docsFile, d)
	}
}
