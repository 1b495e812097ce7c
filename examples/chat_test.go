package examples

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// The commands of the README run in order against the program, and print the blocks below them.
func TestChat_readmeCommandsPrintTheirBlocks(t *testing.T) {
	onpath.Full(t)
	page := "chat/README.md"
	commands, want := blocks(t, page, "sh"), blocks(t, page, "text")
	if len(commands) != len(want) {
		t.Fatalf("%d blocks of commands and %d blocks of output", len(commands), len(want))
	}
	url := startChat(t)
	var script strings.Builder
	for _, block := range commands {
		fmt.Fprintf(&script, "%s\necho ---\n", strings.ReplaceAll(block, "http://127.0.0.1:8080", url))
	}
	got := strings.Split(shell(t, ".", nil, script.String()), "---\n")
	if diff := cmp.Diff(want, got[:len(got)-1]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// startChat starts the program and a Redis.
func startChat(t *testing.T) string {
	t.Helper()
	server := engines.OnPath(t).Start(t)
	program := filepath.Join(t.TempDir(), "chat")
	shell(t, "..", nil, "go build -ldflags=-s -o "+program+" ./examples/chat")
	text, err := os.ReadFile("chat/limits.yaml")
	if err != nil {
		t.Fatal(err)
	}
	limits := filepath.Join(t.TempDir(), "limits.yaml") // a busy machine is no fault
	if err := os.WriteFile(limits, []byte(strings.Replace(string(text), "namespace: chat\n", "namespace: chat\ntimeout: 5s\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-addr", "127.0.0.1:0", "-redis", "redis://"+server.Addr, "-policy", limits)
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	listening := regexp.MustCompile(`msg=listening url=(\S+)`)
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			go func() {
				for lines.Scan() { // so that it can write on
				}
			}()
			return found[1]
		}
	}
	t.Fatal("the service ended before it listened")
	return ""
}
