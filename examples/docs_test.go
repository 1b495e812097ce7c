// Package examples tests that what the documentation shows is what runs.
package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/lua_test/engines"
)

func TestMain(m *testing.M) { engines.Main(m) }

// blocks returns the fenced blocks of one language in a page, in order.
func blocks(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	parts := strings.Split("\n"+string(text), "\n```")
	for i := 1; i+1 < len(parts); i += 2 {
		if got, body, ok := strings.Cut(parts[i], "\n"); ok && got == language {
			out = append(out, body+"\n")
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no block of %s", page, language)
	}
	return out
}

func TestReadme_codeIsThatOfExamples(t *testing.T) {
	for language, files := range map[string][]string{
		"go":   {"quickstart/main.go", "guard/main.go"},
		"yaml": {"guard/limits.yaml"},
	} {
		got := blocks(t, "../README.md", language)
		if len(got) != len(files) {
			t.Fatalf("the README has %d blocks of %s, want %v", len(got), language, files)
		}
		for i, file := range files {
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got[i] != string(code) {
				t.Errorf("the README's block %d of %s is not examples/%s, which is run", i+1, language, file)
			}
		}
	}
}

func TestReadme_luaIsWhatInitMakes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "limits")
	shell(t, "..", nil, "go run ./cmd/rlfunc init --no-tidy "+dir)
	code, err := os.ReadFile(filepath.Join(dir, "functions/quota/take.lua"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks(t, "../README.md", "lua") {
		if !strings.HasPrefix(string(code), block) {
			t.Errorf("the README's Lua is not how take.lua of a new project begins:\n%s", block)
		}
	}
}

// inCI are commands that CI runs as steps of their own.
var inCI = []string{"make demo", "make test"}

func TestReadme_commandsRun(t *testing.T) {
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			e.Client(t)
			host, port, _ := strings.Cut(e.Addr, ":")
			env := []string{"REDIS_URL=" + e.URL}
			dir := filepath.Join(t.TempDir(), "mylimits")
			bin := filepath.Join(t.TempDir(), "rlfunc")
			for _, block := range blocks(t, "../README.md", "sh") {
				block = strings.ReplaceAll(block, "/tmp/mylimits", dir)
				block = strings.ReplaceAll(block, "bin/rlfunc", bin)
				block = strings.ReplaceAll(block, "redis://127.0.0.1:6379", e.URL)
				block = strings.ReplaceAll(block, "redis-cli ", "redis-cli -h "+host+" -p "+port+" ")
				if slices.Contains(inCI, strings.TrimSpace(block)) {
					continue
				}
				// A plan that has something to do exits 2.
				block = strings.ReplaceAll(block, "rlfunc plan\n", "rlfunc plan || [ $? = 2 ]\n")
				shell(t, "..", env, block)
			}
			quickstart(t, e)
		})
		return // one server is enough: the commands are pinned on each engine elsewhere
	}
	t.Fatal("no server for the README's commands: put redis-server on the path, or make images")
}

func quickstart(t *testing.T, e engines.Engine) {
	text, err := os.ReadFile("quickstart/main.go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "127.0.0.1:6379", e.Addr)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"welcome, 9 left\n", "welcome, 8 left\n"} {
		if out := shell(t, "..", nil, "go run "+file); out != want {
			t.Errorf("the quickstart printed %q", out)
		}
	}
}

func TestWritingAFunction_isWhatRuns(t *testing.T) {
	page := "../docs/writing-a-function.md"
	bin := t.TempDir()
	shell(t, "..", nil, "go build -o "+bin+"/rlfunc ./cmd/rlfunc")
	dir := t.TempDir()
	env := []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "REDIS_URL="}
	shell(t, dir, env, "rlfunc init mylimits")
	dir = filepath.Join(dir, "mylimits")
	for file, content := range map[string]string{
		"functions/quota/acquire.lua": blocks(t, page, "lua")[0],
		"acquire_test.go":             blocks(t, page, "go")[0],
		"functions/lib/tier.lua":      blocks(t, page, "lua")[1],
		"functions/quota/spend.lua":   blocks(t, page, "lua")[2],
		"spend_test.go":               blocks(t, page, "go")[1],
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	commands := blocks(t, page, "sh")
	for _, block := range commands[1:] {
		block = strings.ReplaceAll(block, "rlfunc plan\n", "rlfunc plan --redis embedded || [ $? = 2 ]\n")
		shell(t, dir, env, strings.ReplaceAll(block, "rlfunc deploy\n", "rlfunc deploy --redis embedded\n"))
	}
}

// shell runs a script and returns what it printed; its failure is the test's.
func shell(t *testing.T, dir string, env []string, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var talk strings.Builder
	cmd.Stderr = &talk
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s\n%s%s%v", script, out, talk.String(), err)
	}
	return string(out)
}
