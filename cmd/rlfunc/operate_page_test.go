package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// word is an argument of a shell's line: plain, or in single quotes.
var word = regexp.MustCompile(`'[^']*'|\S+`)

// Every command of docs/operate.md runs, in its order, on the state that the page describes.
func TestOperatePage_commandsRun(t *testing.T) {
	page, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	var commands [][]string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			words := word.FindAllString(strings.TrimSpace(line), -1)
			for i := range words {
				words[i] = strings.Trim(words[i], "'")
			}
			if words[0] != "rlfunc" {
				t.Fatalf("%q is not a command of rlfunc", line)
			}
			commands = append(commands, words[1:])
		}
	}
	if len(commands) < 9 {
		t.Fatalf("%d commands in the page", len(commands))
	}
	example, err := os.ReadFile("../../guard/report/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			if !strings.Contains(string(example), line) {
				t.Errorf("no example has the page's line %q", line)
			}
		}
	}
	refused := map[string]bool{"inspect 203.0.113.7": true, "inspect key=ab12 --json": true}
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			rdb := e.Client(t)
			visit(t, rdb, shop(t, rdb))
			t.Setenv("REDIS_URL", e.URL)
			for _, words := range commands {
				want := exitcode.OK
				if refused[strings.Join(words, " ")] {
					want = exitcode.Findings
				}
				args := append([]string{"-C", "testdata/operate"}, words...)
				switch words[0] {
				case "block", "unblock", "reset":
					args = append(args, "--yes")
				case "override":
					if words[1] != "list" {
						args = append(args, "--yes")
					}
				case "acl":
					args = append([]string{"-C", os.TempDir()}, words...)
				}
				var said strings.Builder
				if code := run(args, strings.NewReader(""), &said, &said); code != want {
					t.Errorf("rlfunc %v: exit %d, want %d:\n%s", words, code, want, said.String())
				}
			}
		})
	}
}
