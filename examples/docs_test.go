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
	writing := read(t, "../docs/writing-a-function.md") // which is played
	for _, block := range append(blocks(t, readme, "lua"), blocks(t, readme, "text")[3]) {
		if !strings.Contains(writing, block) {
			t.Errorf("docs/writing-a-function.md does not have this of the README:\n%s", block)
		}
	}
	code := read(t, "protect_test.go") + read(t, "guard/main.go") + read(t, "middleware/grpc/main.go") + read(t, "recipes/login/main.go") + read(t, "../fcall/adapter/rueidis/example_test.go")
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
	if words := len(strings.Fields(prose)); words > 650 {
		t.Errorf("the README has %d words beside its code, more than 650", words)
	}
}

func TestQuickstart_isWhatRuns(t *testing.T) {
	onpath.Full(t)
	all := engines.Ends(t)
	play(t, "../docs/quickstart.md", all[min(1, len(all)-1)])
}

func TestWritingAFunction_isWhatRuns(t *testing.T) {
	onpath.Full(t)
	all := engines.Ends(t)
	e := all[min(1, len(all)-1)]
	play(t, "../docs/writing-a-function.md", e)
}

// The page's example needs a server: one is enough, because the commands are pinned on each engine elsewhere.
func TestDeploying_isWhatRuns(t *testing.T) {
	onpath.Full(t)
	servers := engines.Real(t)
	if len(servers) == 0 {
		t.Fatal("no server for the page's commands: put redis-server on the path, or make images")
	}
	play(t, "../docs/deploying.md", servers[0])
}

var (
	// A block of a page, and the file that the end of the paragraph before it names.
	pageBlock = regexp.MustCompile("(?ms)(?:`([^`\n]+)`:\n\n)?^```([a-z]+)\n(.*?)^```\n")
	notRun    = regexp.MustCompile(`(?m)^(go install|docker run) .*\n`) // take a release or Docker
	exits     = regexp.MustCompile(`(?m)^(.+?) +# exits ([0-9]+).*$`)
)

// play does what a page says in a new folder: it writes files, runs sh, applies diffs, runs rlfunc as the steps of a CI workflow in yaml do, and
// compares text with what the commands before it print. A command exits with 0, or with what a comment behind it says: "# exits 2".
func play(t *testing.T, page string, e engines.Engine) {
	t.Helper()
	e.Client(t)
	host, port, _ := strings.Cut(e.Addr, ":")
	checkout, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	dir := home
	env := append(
		withCommand(t), "REDIS_URL=", "GIT_CONFIG_GLOBAL="+filepath.Join(home, "none"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
	)
	here := strings.NewReplacer("redis://127.0.0.1:6379", e.URL, "127.0.0.1:6379", e.Addr, "redis-cli ", "redis-cli -h "+host+" -p "+port+" ", "go mod tidy", "go work init . '"+checkout+"'")
	all := pageBlock.FindAllStringSubmatch(read(t, page), -1)
	for i, block := range all {
		file, language, body := block[1], block[2], notRun.ReplaceAllString(here.Replace(block[3]), ":\n")
		switch {
		case language == "sh":
			out := shell(t, dir, env, "{\n"+exits.ReplaceAllString(body, "$1 && exit 99 || [ $$? = $2 ]")+"}\npwd >"+home+"/pwd\n")
			dir = strings.TrimSpace(read(t, home+"/pwd"))
			for _, url := range regexp.MustCompile(`(?m)^export REDIS_URL=.*$`).FindAllString(body, -1) {
				env = append(env, strings.TrimPrefix(url, "export "))
			}
			if i+1 < len(all) && all[i+1][2] == "text" {
				if diff := cmp.Diff(sameAnywhere(all[i+1][3]), sameAnywhere(strings.ReplaceAll(out, e.Addr, "127.0.0.1:6379"))); diff != "" {
					t.Errorf("%s: %s prints (-want +got):\n%s", page, body, diff)
				}
			}
		case language == "diff":
			shell(t, dir, env, "git apply --unidiff-zero - <<'DIFF'\n"+body+"DIFF\n")
		case language == "yaml":
			for line := range strings.Lines(body) {
				if command, ok := strings.CutPrefix(strings.TrimSpace(line), "- run: rlfunc "); ok {
					shell(t, dir, env, "rlfunc "+command)
				}
			}
		case file != "":
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// sameAnywhere takes from a command's output what depends on the machine: servers, users, times, and with them widths of columns.
func sameAnywhere(out string) string {
	for pattern, word := range map[string]string{
		`(Redis|Valkey) [0-9.]+`: "SERVER", `[0-9-]{10} [0-9:]{8} UTC`: "TIME", `\w+@[\w.-]+`: "WHO", `\b[0-9a-f]{12}\b`: "DIGEST", `(latency|come back in) .*`: "WAIT", `  +`: "  ", ` +\n`: "\n",
	} {
		out = regexp.MustCompile(pattern).ReplaceAllString(out, word)
	}
	out = regexp.MustCompile(`(?s)\n\n(warning|note) [a-z_-]+: .*`).ReplaceAllString(out, "") // what status finds wrong with the server
	return strings.TrimSpace(out)
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
