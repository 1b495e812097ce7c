// Package golden runs cases that are txtar files: a tree of Lua below functions/, and in the file want every finding of
// that tree, one a line. It is for tests.
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

// Update rewrites the wanted findings: go test -update.
var Update = flag.Bool("update", false, "rewrite the golden files")

const (
	root = "functions/"
	want = "want"
)

// Run compares every case of testdata/*.txtar with the findings of check in its tree, and returns all findings.
func Run(t *testing.T, check func(fsys fstest.MapFS) diag.List) diag.List {
	t.Helper()
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no case in testdata: %v", err)
	}
	var all diag.List
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			all = append(all, run(t, name, check)...)
		})
	}
	return all
}

func run(t *testing.T, name string, check func(fsys fstest.MapFS) diag.List) diag.List {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatalf("read the case: %v", err)
	}
	fsys := fstest.MapFS{}
	wanted, at := "", -1
	for i, f := range archive.Files {
		if f.Name == want {
			wanted, at = string(f.Data), i
			continue
		}
		path, ok := strings.CutPrefix(f.Name, root)
		if !ok {
			t.Fatalf("%s: file %s stands outside of %s", name, f.Name, root)
		}
		fsys[path] = &fstest.MapFile{Data: f.Data}
	}
	found := check(fsys)
	found.Sort()
	got := ""
	for _, d := range found {
		got += d.String() + "\n"
		inside(t, fsys, d)
	}
	if *Update {
		if at < 0 {
			archive.Files = append(archive.Files, txtar.File{Name: want})
			at = len(archive.Files) - 1
		}
		archive.Files[at].Data = []byte(got)
		if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
			t.Fatalf("rewrite the case: %v", err)
		}
		return found
	}
	if d := cmp.Diff(wanted, got); d != "" {
		t.Errorf("findings (-want +got):\n%s", d)
	}
	return found
}

// inside checks that a finding points into its file.
func inside(t *testing.T, fsys fstest.MapFS, d diag.Diagnostic) {
	t.Helper()
	if problem := Outside(fsys, d); problem != "" {
		t.Errorf("%v: %s", d, problem)
	}
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
