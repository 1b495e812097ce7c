package breaking_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/rlfunc/rlfunc/codegen/breaking"
	"github.com/rlfunc/rlfunc/codegen/internal/golden"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
)

// A folderPair is a case: the folders old and new of an archive, and in the file want every finding, one a line.
type folderPair struct {
	name     string
	archive  *txtar.Archive
	old, new *breaking.Snapshot
	want     string
}

func folderPairs(t testing.TB) []folderPair {
	t.Helper()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no pair in testdata: %v", err)
	}
	var out []folderPair
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c := folderPair{name: strings.TrimSuffix(filepath.Base(name), ".txtar"), archive: archive}
		for _, f := range archive.Files {
			if f.Name == "want" {
				c.want = string(f.Data)
			}
		}
		c.old, c.new = snapshot(t, archive, "old"), snapshot(t, archive, "new")
		out = append(out, c)
	}
	return out
}

func snapshot(t testing.TB, archive *txtar.Archive, folder string) *breaking.Snapshot {
	t.Helper()
	fsys, err := txtar.FS(archive)
	if err != nil {
		t.Fatal(err)
	}
	if fsys, err = fs.Sub(fsys, folder); err != nil {
		t.Fatal(err)
	}
	tree, found := source.Load(fsys, "functions", source.Options{})
	if len(found) > 0 {
		t.Fatalf("%s: %v", folder, found)
	}
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
		t.Run(c.name, func(t *testing.T) {
			got := lines(breaking.Compare(c.old, c.new, breaking.API))
			if *golden.Update {
				for i := range c.archive.Files {
					if c.archive.Files[i].Name == "want" {
						c.archive.Files[i].Data = []byte(got)
					}
				}
				if err := os.WriteFile("testdata/"+c.name+".txtar", txtar.Format(c.archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("findings (-want +got):\n%s", d)
			}
		})
	}
}

// Every rule has a pair that is named after it, and in which it alone finds something, from its own strictness upwards.
func TestRules_eachHasAPairOfItsOwn(t *testing.T) {
	byName := map[string]folderPair{}
	for _, c := range folderPairs(t) {
		byName[c.name] = c
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
			reached := rule.Category == breaking.Version
			for _, strictness := range []breaking.Category{breaking.State, breaking.Call, breaking.Reply, breaking.API} {
				reached = reached || rule.Category == strictness
				found := breaking.Compare(c.old, c.new, strictness)
				if reached != (len(found) > 0) {
					t.Errorf("strictness %s: %d findings", strictness, len(found))
				}
				for _, f := range found {
					if f.Rule != rule.ID || f.Category != rule.Category || f.Note != rule.Note {
						t.Errorf("strictness %s: a finding of another rule: %+v", strictness, f)
					}
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
