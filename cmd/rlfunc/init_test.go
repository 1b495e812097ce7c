package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/examples/templates"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// A project begins with one template and takes the others, and their tests pass in it, on every engine.
func TestInit_everyTemplate(t *testing.T) {
	dir := t.TempDir()
	for _, template := range templates.All() {
		rlfuncIn(t, dir, "init", "--no-tidy", "--module", "example.com/all", "--template", template.Name)
	}
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	onpath.Used()                                       // what it reads is not part of this program
	inFolder(t, dir, "go", "work", "init", ".", source) // the Go tool has compiled rlfunc's packages already
	inFolder(t, dir, "go", "test", "-c", "-o", "all.test", ".")
	urls := []string{""} // the embedded engine only
	for _, e := range engines.Real(t) {
		urls = append(urls, e.Own(t).URL)
	}
	for _, url := range urls {
		cmd := exec.Command("./all.test")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "REDIS_URL="+url)
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("REDIS_URL=%s: %v\n%s", url, err, output)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Where the tests of a new project could not pass, init says what to do and writes nothing.
func TestInit_refusesPlacesWhereItWouldNotWork(t *testing.T) {
	onpath.Used()
	onpath.Program(t, "go")
	std, err := exec.Command("go", "list", "std", "cmd").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{"std": true, "vendor": true, ".hidden": true, "go": true, "toolchain": true, "a b": true}
	for name := range strings.FieldsSeq(string(std)) {
		name, _, _ = strings.Cut(name, "/")
		names[name] = true
	}
	for name := range names {
		checkRefused(t, filepath.Join(t.TempDir(), name), []string{"init"}, strconv.Quote(name)+" is not a Go module path", "--module example.com/")
	}
	checkRefused(t, t.TempDir(), []string{"init", "--module", "example.com/vendor/x"}, `"example.com/vendor/x" is not a Go module path`)

	shop := t.TempDir()
	write(t, filepath.Join(shop, "go.mod"), "module example.com/shop\n")
	checkRefused(t, filepath.Join(shop, "limits"), []string{"init"},
		"is inside module example.com/shop", "run rlfunc init in "+shop, "--module example.com/shop/limits")
	rlfuncIn(t, shop, "init", "--no-tidy", "--module", "example.com/shop/limits", "limits") // as it said
}

func checkRefused(t *testing.T, dir string, args []string, says ...string) {
	t.Helper()
	var said strings.Builder
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	code := run(append(args, "-C", dir, "--no-tidy"), strings.NewReader(""), &said, &said)
	for _, want := range says {
		if code != exitcode.Error || !strings.Contains(said.String(), want) {
			t.Errorf("rlfunc %v in %s: exit %d, %q does not say %q", args, dir, code, said.String(), want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("rlfunc %v in %s left %v, %v", args, dir, left, err)
	}
}

// A project that does not generate, here because its configuration has another folder, stays as it was.
func TestInit_failureLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "rlfunc.yaml"), "functions: lua\ngen: gen\n")
	write(t, filepath.Join(dir, "go.mod"), "module example.com/shop\n")
	var errOut bytes.Buffer
	if code := run([]string{"init", "-C", dir, "--no-tidy"}, strings.NewReader(""), &errOut, &errOut); code != exitcode.Error {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(errOut.String(), "rlfunc.yaml names it as functions") {
		t.Errorf("standard error: %s", &errOut)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "rlfunc.yaml" && e.Name() != "go.mod" {
			t.Errorf("left %s", e.Name())
		}
	}
	if mod, _ := os.ReadFile(filepath.Join(dir, "go.mod")); string(mod) != "module example.com/shop\n" {
		t.Errorf("go.mod: %s", mod)
	}
}
