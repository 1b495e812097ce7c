package breaking_test

import (
	"io/fs"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/rlfunc/rlfunc/codegen/breaking"
	"github.com/rlfunc/rlfunc/codegen/internal/golden"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
)

// A folderPair is a case: the folders old and new, and every finding, one a line.
type folderPair struct {
	*golden.Case
	old, new *breaking.Snapshot
	trees    map[string]*source.Tree
}

func folderPairs(t testing.TB) (out []folderPair) {
	t.Helper()
	for _, c := range golden.Cases(t, ".") {
		p := folderPair{Case: c, trees: map[string]*source.Tree{}}
		p.old, p.new = p.snapshot(t, "old"), p.snapshot(t, "new")
		out = append(out, p)
	}
	return out
}

func (c folderPair) snapshot(t testing.TB, folder string) *breaking.Snapshot {
	t.Helper()
	fsys, err := txtar.FS(&txtar.Archive{Files: c.Files})
	if err != nil {
		t.Fatal(err)
	}
	if fsys, err = fs.Sub(fsys, folder); err != nil {
		t.Fatal(err)
	}
	tree, found := source.Load(fsys, "functions", source.Options{})
	if len(found) > 0 {
		t.Fatalf("%s: %s: %v", c.Name, folder, found)
	}
	c.trees[folder] = tree
	s := breaking.Of(tree)
	if text, err := fs.ReadFile(fsys, breaking.ReleasedFile); err == nil {
		s.Released = breaking.ReadReleased("functions/"+breaking.ReleasedFile, string(text))
	}
	return s
}

func lines(found []breaking.Finding) string {
	var b strings.Builder
	for _, f := range found {
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}

func TestCompare_findsWhatEachPairWants(t *testing.T) {
	for _, c := range folderPairs(t) {
		t.Run(c.Name, func(t *testing.T) {
			c.Compare(t, lines(breaking.Compare(c.old, c.new)))
		})
	}
}

// Every rule has a pair that is named after it, and in which it alone finds something.
func TestRules_eachHasAPairOfItsOwn(t *testing.T) {
	byName := map[string]folderPair{}
	for _, c := range folderPairs(t) {
		byName[c.Name] = c
	}
	for _, rule := range breaking.Rules {
		t.Run(rule.ID, func(t *testing.T) {
			if !strings.HasPrefix(rule.Checks, "Checks ") || !strings.HasSuffix(rule.Checks, ".") || rule.Why == "" {
				t.Errorf("the rule is not described: %q, %q", rule.Checks, rule.Why)
			}
			c, ok := byName[rule.ID]
			if !ok {
				t.Fatal("no pair of folders in testdata")
			}
			found := breaking.Compare(c.old, c.new)
			if len(found) == 0 {
				t.Error("it finds nothing")
			}
			for _, f := range found {
				if f.Rule != rule.ID || f.Category != rule.Category || f.Note != rule.Note {
					t.Errorf("a finding of another rule: %+v", f)
				}
			}
		})
	}
}

func TestRules_idsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range breaking.Rules {
		if seen[rule.ID] {
			t.Errorf("%s is repeated", rule.ID)
		}
		seen[rule.ID] = true
	}
}
