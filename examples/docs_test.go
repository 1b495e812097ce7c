// Package examples tests the code and commands in the documentation.
package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

func TestMain(m *testing.M) {
	status := engines.Wrap(m).Run()
	if commandFolder != "" {
		os.RemoveAll(commandFolder)
	}
	os.Exit(status)
}

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

func TestPages_codeIsThatOfExamples(t *testing.T) {
	if got := blocks(t, readme, "yaml"); got[0] != read(t, "guard/limits.yaml") {
		t.Error("the README's first YAML is not examples/guard/limits.yaml")
	}
	for page, program := range map[string]string{readme: "guard/main.go", "../docs/quickstart.md": "quickstart/main.go"} {
		if got := blocks(t, page, "go"); len(got) != 1 || got[0] != read(t, program) {
			t.Errorf("the Go of %s is not examples/%s", page, program)
		}
	}
	code := read(t, "protect_test.go") + read(t, "guard/main.go") + read(t, "middleware/grpc/main.go") + read(t, "recipes/login/main.go") + read(t, "../adapters/rueidis/example_test.go")
	for _, block := range blocks(t, protect, "go") {
		if !strings.Contains("\n"+code, "\n"+block) {
			t.Errorf("no example has this Go of docs/protect-a-service.md:\n%s", block)
		}
	}
	if diff := cmp.Diff(blocks(t, readme, "yaml")[0], blocks(t, protect, "yaml")[0]); diff != "" {
		t.Errorf("the first YAML of docs/protect-a-service.md is not the README's (-want +got):\n%s", diff)
	}
	for _, block := range blocks(t, protect, "sh") {
		if block != keyCommands(t) && !slices.Contains(blocks(t, readme, "sh"), block) {
			t.Errorf("the README does not have these commands of docs/protect-a-service.md:\n%s", block)
		}
	}
}

func TestReadme_isShort(t *testing.T) {
	prose := fenced.ReplaceAllString(read(t, readme), "")
	if words := len(strings.Fields(prose)); words > 750 {
		t.Errorf("the README has %d words beside its code, more than 750", words)
	}
}

// Commands that take a release or Docker.
var notRun = regexp.MustCompile(`(?m)^(go install .*|docker run .*)\n`)

func TestPages_commandsRun(t *testing.T) {
	onpath.Full(t)
	all := engines.Ends(t)
	if len(all) == 0 {
		t.Fatal("no engine for the pages' commands")
	}
	e := all[min(1, len(all)-1)] // a server if there is one; the commands are pinned on each engine elsewhere
	t.Run(e.Name, func(t *testing.T) {
		e.Client(t)
		env := withCommand(t)
		for _, page := range []string{"../docs/quickstart.md", "../docs/deploying.md"} {
			for _, block := range blocks(t, page, "sh") {
				block = notRun.ReplaceAllString(block, "")
				block = strings.ReplaceAll(block, "redis://127.0.0.1:6379", e.URL)
				// A plan that has something to do exits 2, and so does a doctor with findings.
				block = strings.ReplaceAll(block, "rlfunc plan\n", "rlfunc plan || [ $? = 2 ]\n")
				block = strings.ReplaceAll(block, "rlfunc doctor\n", "rlfunc doctor || [ $? = 2 ]\n")
				shell(t, "..", env, block)
			}
		}
		quickstart(t, e)
	})
}

func quickstart(t *testing.T, e engines.Engine) {
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(read(t, "quickstart/main.go"), "127.0.0.1:6379", e.Addr)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"welcome, 9 left\n", "welcome, 8 left\n"} {
		if out := shell(t, "..", nil, "go run "+file); out != want {
			t.Errorf("the quickstart printed %q", out)
		}
	}
}

func TestWritingAFunction_isWhatRuns(t *testing.T) {
	onpath.Full(t)
	page, packed := "../docs/writing-a-function.md", "../docs/writing-a-function.md#rows-that-are-sent-once"
	dir, env := t.TempDir(), append(withCommand(t), "REDIS_URL=")
	shell(t, dir, env, "rlfunc init mylimits")
	dir = filepath.Join(dir, "mylimits")
	for file, content := range map[string]string{
		"functions/quota/acquire.lua": blocks(t, page, "lua")[0],
		"acquire_test.go":             blocks(t, page, "go")[0],
		"cmd/room/main.go":            blocks(t, page, "go")[1],
		"functions/lib/tier.lua":      blocks(t, packed, "lua")[0],
		"functions/quota/spend.lua":   blocks(t, packed, "lua")[1],
		"spend_test.go":               blocks(t, packed, "go")[0],
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, block := range append(blocks(t, page, "sh")[1:], blocks(t, packed, "sh")...) {
		block = strings.ReplaceAll(block, "redis://127.0.0.1:6379", "embedded")
		shell(t, dir, env, strings.ReplaceAll(block, "plan --redis embedded\n", "plan --redis embedded || [ $? = 2 ]\n"))
	}
}

// commandFolder holds rlfunc once a test has asked for it.
var commandFolder string

// withCommand returns an environment with rlfunc on its path, which the first test builds: linking it takes seconds. Its init finds the
// source, also if -trimpath hides it.
func withCommand(t *testing.T) []string {
	t.Helper()
	if commandFolder == "" {
		dir, err := os.MkdirTemp("", "rlfunc")
		if err != nil {
			t.Fatal(err)
		}
		commandFolder = dir
		shell(t, "..", nil, `go build -ldflags "-s -w -X main.moduleSource=$PWD" -o `+dir+"/rlfunc ./cmd/rlfunc")
	}
	return []string{"PATH=" + commandFolder + string(os.PathListSeparator) + os.Getenv("PATH")}
}

// shell runs a script and returns its output. It fails the test if the script fails.
func shell(t *testing.T, dir string, env []string, script string) string {
	t.Helper()
	onpath.Used() // what it reads is not part of this program
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
