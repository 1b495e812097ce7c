// Package golden has cases of tests in txtar files, one file for each group. The files of a case stand below its name; the file NAME itself
// says what the case shows, and NAME/want what is expected of it. It is for tests.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/rlfunc/rlfunc/codegen/internal/diag"
)

// Update rewrites what is wanted: go test -update.
var Update = flag.Bool("update", false, "rewrite the golden files")

// A Case is one of several in a file.
type Case struct {
	Name  string
	Files []txtar.File // without the case's name before theirs, and without want
	Want  string

	group   string // the file
	archive *txtar.Archive
	want    int // its place there
}

// Cases returns those of testdata/*.txtar in a folder, in the order of their names.
func Cases(t testing.TB, dir string) (all []*Case) {
	t.Helper()
	groups, err := filepath.Glob(filepath.Join(dir, "testdata/*.txtar"))
	if err != nil || len(groups) == 0 {
		t.Fatalf("no case in %s/testdata: %v", dir, err)
	}
	seen := map[string]bool{}
	for _, group := range groups {
		archive, err := txtar.ParseFile(group)
		if err != nil {
			t.Fatal(err)
		}
		var c *Case
		for i, f := range archive.Files {
			name, path, inside := strings.Cut(f.Name, "/")
			switch {
			case !inside && seen[name]:
				t.Fatalf("%s: there are two cases %s", group, name)
			case !inside:
				c = &Case{Name: name, group: group, archive: archive, want: -1}
				seen[name], all = true, append(all, c)
			case c == nil || c.Name != name:
				t.Fatalf("%s: %s stands outside of its case", group, f.Name)
			case path == "want":
				c.Want, c.want = string(f.Data), i
			default:
				c.Files = append(c.Files, txtar.File{Name: path, Data: f.Data})
			}
		}
	}
	for _, c := range all {
		if c.want < 0 {
			t.Fatalf("%s: %s has no file want", c.group, c.Name)
		}
	}
	return all
}

// Compare fails the test if a case wants something else, or makes it what the case wants.
func (c *Case) Compare(t *testing.T, got string) {
	t.Helper()
	if *Update {
		c.archive.Files[c.want].Data = []byte(got)
		if err := os.WriteFile(c.group, txtar.Format(c.archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(c.Want, got); d != "" {
		t.Errorf("findings (-want +got):\n%s", d)
	}
}

const root = "functions/"

// Run compares the findings of check in the tree functions/ of each case, one a line, with those that it wants, and returns them all.
func Run(t *testing.T, check func(fsys fstest.MapFS) diag.List) diag.List {
	t.Helper()
	var all diag.List
	for _, c := range Cases(t, ".") {
		t.Run(c.Name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for _, f := range c.Files {
				path, ok := strings.CutPrefix(f.Name, root)
				if !ok {
					t.Fatalf("%s: file %s stands outside of %s", c.group, f.Name, root)
				}
				fsys[path] = &fstest.MapFile{Data: f.Data}
			}
			found := check(fsys)
			found.Sort()
			got := ""
			for _, d := range found {
				got += d.String() + "\n"
				if problem := Outside(fsys, d); problem != "" {
					t.Errorf("%v: %s", d, problem)
				}
			}
			c.Compare(t, got)
			all = append(all, found...)
		})
	}
	return all
}

// Tree is the files of all txtar files in a folder as one tree.
func Tree(t testing.TB, dir string) fstest.MapFS {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no txtar file in %s: %v", dir, err)
	}
	fsys := fstest.MapFS{}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			fsys[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	return fsys
}

// Outside describes an invalid position of a finding, or returns an empty string. A missing file has line 1.
func Outside(fsys fstest.MapFS, d diag.Diagnostic) string {
	f, ok := fsys[strings.TrimPrefix(d.File, root)]
	text := ""
	if ok {
		text = strings.ReplaceAll(string(f.Data), "\r\n", "\n")
	}
	lines := strings.Split(text, "\n")
	switch {
	case d.Line < 1 || d.Line > len(lines):
		return "the line is outside of the file"
	case d.Col < 1 || d.Col > len(lines[d.Line-1])+1:
		return "the column is outside of the line"
	case strings.ContainsAny(d.Message, "\n\r"):
		return "the message has more than one line"
	}
	return ""
}
