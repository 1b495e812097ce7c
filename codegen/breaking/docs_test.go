package breaking_test

import (
	"fmt"
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

// tables are the rules as the page shows them.
func tables() string {
	titles := map[breaking.Category]string{
		breaking.Call:    "An old client calls the new library (`call`)",
		breaking.API:     "Code uses the new Go, Python or TypeScript client (`api`)",
		breaking.State:   "The new library meets what the old one stored (`state`)",
		breaking.Version: "Versions (at every strictness)",
	}
	var b strings.Builder
	last := breaking.Category("")
	for _, r := range breaking.Rules {
		if r.Category != last {
			fmt.Fprintf(&b, "\n### %s\n\n| rule | it checks | otherwise |\n|---|---|---|\n", titles[r.Category])
			last = r.Category
		}
		major := ""
		if r.Always {
			major = " ●"
		}
		fmt.Fprintf(&b, "| `%s`%s | %s | %s |\n", r.ID, major, strings.TrimPrefix(r.Checks, "Checks "), r.Why)
	}
	return b.String()
}

func TestDocs_endInTheRules(t *testing.T) {
	text, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	page, have, ok := strings.Cut(string(text), docsMark)
	if !ok {
		t.Fatalf("%s has no line %q", docsFile, docsMark)
	}
	want := tables()
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
