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
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// Each template begins a project in an empty folder, and its test compiles there. The tests run in examples/templates.
func TestInit_everyTemplate(t *testing.T) {
	onpath.Full(t)
	dir := t.TempDir()
	for _, template := range templates.All() {
		var errOut bytes.Buffer
		args := []string{"init", "-C", dir, "--no-tidy", "--module", "all/" + template.Name, "--template", template.Name, template.Name}
		if code := run(args, strings.NewReader(""), &errOut, &errOut); code != exitcode.OK {
			t.Fatalf("%s: exit code %d: %s", template.Name, code, &errOut)
		}
		mod := filepath.Join(dir, template.Name, "go.mod")
		text, err := os.ReadFile(mod)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "go.mod"), strings.Replace(string(text), "all/"+template.Name, "all", 1)) // one module, compiled at once
		if err := os.Remove(mod); err != nil {
			t.Fatal(err)
		}
	}
	sums, err := os.ReadFile("../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.sum"), string(sums))
	onpath.Used() // what it reads is not part of this program
	cmd := exec.Command("go", "list", "-mod=mod", "-test", "-export", "./...")
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
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
