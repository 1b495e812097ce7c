package conformance

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/internal/clienttest"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

var update = flag.Bool("update", false, "rewrite testdata")

// TestClient_onEveryEngine generates the client of the library, and runs the tests that use it: those in testdata/client of this package and of
// breaking. An overlay shows the go tool the generated files and the tests where they belong, so that none of them is in the tree.
func TestClient_onEveryEngine(t *testing.T) {
	onpath.Looked()
	onpath.Used()
	files, err := codegen.Generate(load(t))
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir, replace := t.TempDir(), map[string]string{}
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		clienttest.Write(t, file, content)
		replace[filepath.Join(here, "gen", filepath.FromSlash(name))] = file
	}
	for _, dir := range []string{".", "../../breaking"} {
		tests, err := filepath.Glob(filepath.Join(dir, "testdata/client/*_test.go"))
		if err != nil || len(tests) == 0 {
			t.Fatal("no tests in ", dir, err)
		}
		for _, test := range tests {
			replace[filepath.Join(here, dir, filepath.Base(test))] = filepath.Join(here, test)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	clienttest.Write(t, filepath.Join(dir, "overlay.json"), overlay)
	args := []string{"test", "-v", "-count=1", "-vet=off", "-overlay=" + filepath.Join(dir, "overlay.json"), "-skip=^TestClient_onEveryEngine$"}
	if testing.Short() {
		args = append(args, "-short")
	}
	out, err := exec.CommandContext(t.Context(), "go", append(args, ".", "../../breaking")...).CombinedOutput()
	var said strings.Builder
	for line := range strings.Lines(string(out)) {
		switch text := strings.TrimSpace(line); {
		case strings.HasPrefix(text, engines.ReportPrefix):
			fmt.Print(line)
		case !strings.HasPrefix(text, "=== ") && !strings.HasPrefix(text, "--- PASS"):
			said.WriteString(line)
		}
	}
	if err != nil {
		t.Errorf("%v:\n%s", err, &said)
	}
}

// TestSpec_jsonForm pins what other generators read: a change of names takes a new spec.Format.
func TestSpec_jsonForm(t *testing.T) {
	got, err := json.MarshalIndent(load(t).Libraries[0].Spec, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/everything.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/everything.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGenerate_isDeterministic(t *testing.T) {
	first, err := codegen.Generate(load(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := codegen.Generate(load(t))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("two runs differ (-first +again):\n%s", diff)
		}
	}
}
