package command_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded/internal/command"
	"github.com/rlfunc/rlfunc/embedded/internal/resp"
)

var writePage = flag.Bool("page", false, "write the table of commands of docs/reference/embedded.md")

const page = "../../../docs/reference/embedded.md"

// TestPage_hasTheCommands compares the commands with those of COMMAND DOCS of Redis 7.0.15, by group.
func TestPage_hasTheCommands(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	const begin, end = "<!-- commands: generated -->\n", "<!-- end of commands -->"
	before, rest, found := strings.Cut(got, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the commands", page)
	}
	got = before + begin + commandTable(t) + end + after
	if *writePage {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(got, string(text)); diff != "" {
		t.Errorf("%s is out of date: go test ./embedded/internal/command -run Page -page (-want +got)\n%s", page, diff)
	}
}

func commandTable(t *testing.T) string {
	text, err := os.ReadFile("testdata/redis-7.0.commands")
	if err != nil {
		t.Fatal(err)
	}
	here := map[string][]string{}
	var groups []string
	n, all := 0, 0
	for line := range strings.Lines(string(text)) {
		group, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
		container, sub, _ := strings.Cut(name, "|")
		row := command.Lookup(container)
		if row != nil && sub != "" {
			row = row.Sub[sub]
		}
		all++
		if row != nil && row.Run != nil {
			n++
			here[group] = append(here[group], strings.ReplaceAll(strings.ToUpper(name), "|", " "))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of the %d commands and subcommands of Redis 7.0:\n\n| group | supported |\n|---|---|\n", n, all)
	for _, group := range groups {
		if len(here[group]) > 0 {
			fmt.Fprintf(&b, "| %s | %s |\n", group, strings.Join(here[group], ", "))
		}
	}
	return b.String()
}

// do returns a function that runs commands on a server of its own.
func do() func(args ...string) resp.Value {
	now := time.Unix(1_700_000_000, 0)
	state := command.NewState(func() time.Time { return now }, nil)
	session := state.Connect("test")
	return func(args ...string) resp.Value { return state.Do(session, args) }
}

func TestAbsent_isNamedToClientsAndFunctions(t *testing.T) {
	text, err := os.ReadFile("testdata/redis-7.0.commands")
	if err != nil {
		t.Fatal(err)
	}
	run := do()
	run("function", "load", "#!lua name=pass\nredis.register_function('pass', function(keys, args) return redis.call(unpack(args)) end)")
	for line := range strings.Lines(string(text)) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		words := strings.Split(name, "|")
		row := command.Lookup(words[0])
		if row != nil && len(words) > 1 {
			row = row.Sub[words[1]]
		}
		if row != nil || words[0] == "cluster" { // which Redis without a cluster refuses as a whole
			continue
		}
		want := "(the embedded engine has no '" + words[0]
		for _, v := range []resp.Value{run(words...), run(append([]string{"fcall", "pass", "0"}, words...)...)} {
			if v.Kind != resp.Error || !strings.Contains(v.Str, want) {
				t.Errorf("%s: %q does not contain %q", words, v.Str, want)
			}
		}
	}
}
