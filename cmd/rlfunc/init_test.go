package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// The tests of a new project pass on every engine.
func TestInit_onEveryEngine(t *testing.T) {
	dir := t.TempDir()
	rlfuncIn(t, dir, "init", "--module", "example.com/all")
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
	testing := func(url, command string) (string, error) {
		cmd := exec.Command("./all.test")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "RLFUNC_TEST_REDIS_URL="+url, "REDIS_URL="+command)
		output, err := cmd.CombinedOutput()
		return string(output), err
	}
	for _, url := range urls {
		if output, err := testing(url, "redis://127.0.0.1:1"); err != nil { // the command's server is none of theirs
			t.Errorf("RLFUNC_TEST_REDIS_URL=%s: %v\n%s", url, err, output)
		}
	}
	const same = "redis://127.0.0.1:1"
	if output, err := testing(same, same); err == nil || !strings.Contains(output, "are the same server, and tests delete what it holds") {
		t.Errorf("the same server: %v\n%s", err, output)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	must(t, os.WriteFile(name, []byte(text), 0o600))
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
	rlfuncIn(t, shop, "init", "--module", "example.com/shop/limits", "limits") // as it said
}

func checkRefused(t *testing.T, dir string, args []string, says ...string) {
	t.Helper()
	var said strings.Builder
	must(t, os.MkdirAll(dir, 0o755))
	code := run(append(args, "-C", dir), strings.NewReader(""), &said, &said)
	for _, want := range says {
		if code != exitError || !strings.Contains(said.String(), want) {
			t.Errorf("rlfunc %v in %s: exit %d, %q does not say %q", args, dir, code, said.String(), want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("rlfunc %v in %s left %v, %v", args, dir, left, err)
	}
}
