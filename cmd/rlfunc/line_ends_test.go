package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/internal/onpath"
)

// checkout returns a clone, as git for Windows makes it by default, of a new project with clients in all languages.
func checkout(t *testing.T, attributes bool) (dir string) {
	t.Helper()
	git := onpath.Program(t, "git")
	onpath.Used()
	from, dir := t.TempDir(), filepath.Join(t.TempDir(), "clone")
	rlfuncIn(t, from, "init", "--module", "limits")
	write(t, filepath.Join(from, "rlfunc.yaml"), "python: gen/python\ntypescript: gen/typescript\n")
	rlfuncIn(t, from, "generate")
	if !attributes {
		must(t, os.Remove(filepath.Join(from, ".gitattributes")))
	}
	inFolder(t, from, git, "init", "-q")
	inFolder(t, from, git, "-c", "core.autocrlf=false", "add", ".")
	inFolder(t, from, git, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "begin")
	inFolder(t, from, git, "clone", "-q", "-c", "core.autocrlf=true", "file://"+from, dir)
	return dir
}

// A checkout with CRLF is up to date, and its clients load the bytes of one without. With the .gitattributes of init there is no CRLF.
func TestLineEnds_neverChangeWhatIsLoaded(t *testing.T) {
	dir := checkout(t, false)
	var said bytes.Buffer
	if code := run([]string{"-C", dir, "generate", "--check"}, strings.NewReader(""), &said, &said); code != exitOK {
		t.Errorf("generate --check: exit %d: %.1000s", code, &said)
	}
	text, err := os.ReadFile(filepath.Join(dir, "gen/quota/quota.lua"))
	if err != nil || !strings.Contains(string(text), "\r\n") {
		t.Fatalf("the clone has no CRLF: %v", err)
	}
	bundle := strings.ReplaceAll(string(text), "\r\n", "\n")
	t.Run("go", func(t *testing.T) {
		onpath.Full(t)
		const program = "package main\n\nimport (\n\t\"fmt\"\n\n\t\"limits/gen/quota\"\n)\n\nfunc main() { fmt.Print(quota.Library.Code) }\n"
		write(t, filepath.Join(dir, "main.go"), program)
		sums, err := os.ReadFile("../../go.sum")
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "go.sum"), string(sums))
		if diff := cmp.Diff(bundle, inFolder(t, dir, "go", "run", "-mod=mod", "main.go")); diff != "" {
			t.Errorf("bundle (-want +got):\n%s", diff)
		}
	})
	t.Run("python", func(t *testing.T) {
		if err := exec.Command(debianPython, "-c", "import redis").Run(); err != nil {
			onpath.Lacking(t, "%s lacks redis: %v", debianPython, err)
		}
		t.Setenv("PYTHONPATH", filepath.Join(dir, "gen/python"))
		const program = "import json, rlfunc_clients.quota as q; print(json.dumps(q.LIBRARY.code().decode()))"
		var got string
		must(t, json.Unmarshal([]byte(inFolder(t, dir, debianPython, "-c", program)), &got))
		if diff := cmp.Diff(bundle, got); diff != "" {
			t.Errorf("bundle (-want +got):\n%s", diff)
		}
	})
}

func TestLineEnds_initKeepsLF(t *testing.T) {
	dir := checkout(t, true)
	for _, name := range []string{"functions/quota/take.lua", "gen/quota/quota.lua", "gen/quota/take_gen.go", "gen/python/rlfunc_clients/quota.py", "gen/typescript/src/quota.ts"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || bytes.Contains(text, []byte("\r")) {
			t.Errorf("%s has CRLF, or cannot be read: %v", name, err)
		}
	}
}
