package architecture

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/internal/onpath"
)

// Packages that a module may import have an example, which pkg.go.dev shows. Programs, and what only this repository uses, need none.
func TestPublicPackages_haveAnExample(t *testing.T) {
	onpath.Used() // what it reads is not part of this program
	out, err := exec.CommandContext(t.Context(), "go", "-C", "../..", "list", "-f", `{{if and .GoFiles (ne .Name "main")}}{{.Dir}} {{.ImportPath}}{{end}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		dir, path, ok := strings.Cut(strings.TrimSpace(line), " ")
		room, _, _ := strings.Cut(strings.TrimPrefix(path, "github.com/rlfunc/rlfunc/"), "/")
		switch {
		case !ok, strings.Contains(path, "/internal/"), room == "docs", room == "deploy", room == "examples":
			continue
		}
		seen++
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || bytes.Contains(text, []byte("\nfunc Example"))
		}
		if !found {
			t.Errorf("%s has no example", path)
		}
	}
	if seen < 20 {
		t.Errorf("%d public packages: the list misses some", seen)
	}
}
