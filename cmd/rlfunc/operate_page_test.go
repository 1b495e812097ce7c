package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/report"
	"github.com/rlfunc/rlfunc/internal/engines"
)

var (
	// word is an argument of a shell's line: plain, or in single quotes.
	word = regexp.MustCompile(`'[^']*'|\S+`)
	// shown is a block of commands, and the output that the page shows below it.
	shown = regexp.MustCompile("(?s)```sh\n(.*?)```\n(?:\n```text\n(.*?)```)?")
	// changing is what differs in each run: times, how long they are ahead, rates, names of reservations, the operator, and widths.
	changing = regexp.MustCompile(`(?m)(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d|\d{4}-\d\d-\d\d|\d+(\.\d)? (requests|refused)/s|(for|new in) \d+ (s|min|h)( \d+ (s|min))?| +\d+\.\d( #+)?$|\b[A-Z2-7]{20}\b|\S+@\S+|  +`)
)

// Every command of docs/operate.md runs, in its order, on the state that the page describes, and prints what the page shows.
func TestOperatePage_commandsRun(t *testing.T) {
	page, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := shown.FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 8 || len(blocks) != strings.Count(string(page), "```sh\n") {
		t.Fatalf("%d blocks of commands in the page", len(blocks))
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
	refused := []string{"inspect 203.0.113.7", "inspect key=ab12 --json", "replay access.log --policy policy.yaml"}
	onEach(t, engines.Real(t), func(t *testing.T, e engines.Engine, rdb *redis.Client) {
		reporter, err := report.New(rdb, report.Options{Namespace: "shop", Every: time.Hour, OnError: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		g := shop(t, rdb, reporter.Observe)
		visit(t, rdb, g)
		decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=203.0.113.7"}}, 40)
		reporter.Close()
		t.Setenv("REDIS_URL", e.URL)
		t.Chdir("testdata/operate")
		for _, block := range blocks {
			var said strings.Builder
			for line := range strings.Lines(block[1]) {
				words := word.FindAllString(strings.TrimSpace(line), -1)
				for i := range words {
					words[i] = strings.Trim(words[i], "'")
				}
				if words[0] == "jq" {
					continue // it reads a log that is not here
				}
				if words[0] != "rlfunc" {
					t.Fatalf("%q is not a command of rlfunc", line)
				}
				runOfPage(t, words[1:], refused, &said)
			}
			printed := strings.Split(changing.ReplaceAllString(said.String(), ""), "\n")
			for line := range strings.Lines(block[2]) {
				at := slices.Index(printed, changing.ReplaceAllString(strings.TrimSuffix(line, "\n"), ""))
				if at < 0 {
					t.Errorf("rlfunc did not print the page's line %q, or not in this order:\n%s", line, said.String())
					break
				}
				printed = printed[at+1:]
			}
		}
	})
}

func runOfPage(t *testing.T, words, refused []string, said *strings.Builder) {
	t.Helper()
	want := exitOK
	if slices.Contains(refused, strings.Join(words, " ")) {
		want = exitFindings
	}
	switch words[0] {
	case "block", "unblock", "reset":
		words = append(words, "--yes")
	case "override":
		if words[1] != "list" {
			words = append(words, "--yes")
		}
	case "acl": // outside of this project
		words = append(words, "-C", os.TempDir())
	}
	if code := run(words, strings.NewReader(""), said, said); code != want {
		t.Errorf("rlfunc %v: exit %d, want %d:\n%s", words, code, want, said.String())
	}
}
