// Package clienttest has what the tests of clients in other languages run against: generated files, and a proxy before a server.
package clienttest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/codegen/internal/source"
)

// Generate writes what generate returns for the libraries of some folders below dir.
func Generate(t testing.TB, generate func(*source.Tree) (map[string][]byte, error), dir string, roots ...string) {
	t.Helper()
	all := &source.Tree{}
	for _, root := range roots {
		tree, found := source.Load(os.DirFS(root), "functions", source.Options{})
		if len(found) > 0 {
			t.Fatal(found.Error())
		}
		all.Libraries = append(all.Libraries, tree.Libraries...)
	}
	files, err := generate(all)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		Write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
}

// Write writes a file and the folders above it.
func Write(t testing.TB, file string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Run runs a program in dir, and returns what it prints. The test fails if the program does, and logs the output.
func Run(t testing.TB, dir string, env []string, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // a program that hangs
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(os.Environ(), env...), time.Second
	out, err := cmd.CombinedOutput()
	t.Logf("%s\n%s", cmd, out)
	if err != nil {
		t.Errorf("%s: %v", cmd, err)
	}
	return string(out)
}
