package command_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded/internal/command"
	"github.com/rlfunc/rlfunc/embedded/internal/luahost"
)

var writePage = flag.Bool("page", false, "write the tables of docs/embedded.md")

const page = "../../../docs/embedded.md"

// TestPage_hasTheTables compares the commands with those of COMMAND DOCS of Redis 7.0.15, by group, and lists the differences.
func TestPage_hasTheTables(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	for name, table := range map[string]string{"commands": commandTable(t), "differences": differenceTable()} {
		begin, end := "<!-- "+name+": generated -->\n", "<!-- end of "+name+" -->"
		before, rest, found := strings.Cut(got, begin)
		_, after, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("%s has no place for %s", page, name)
		}
		got = before + begin + table + end + after
	}
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
	here, lacking := map[string][]string{}, map[string][]string{}
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
		shown := strings.ReplaceAll(strings.ToUpper(name), "|", " ")
		all++
		if row == nil || row.Run == nil {
			lacking[group] = append(lacking[group], shown)
			continue
		}
		n++
		for _, d := range command.Differences {
			if strings.EqualFold(d.Command, shown) {
				shown += "\\*"
				break
			}
		}
		here[group] = append(here[group], shown)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of the %d commands and subcommands of Redis 7.0:\n\n| group | supported (\\*: differs, see below) | missing |\n|---|---|---|\n", n, all)
	for _, group := range groups {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", group, strings.Join(here[group], ", "), strings.Join(lacking[group], ", "))
	}
	return b.String()
}

func differenceTable() string {
	var b strings.Builder
	b.WriteString("| what | Redis 7.0.15 | here | why |\n|---|---|---|---|\n")
	code := func(s string) string {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\n", " "), "|", "\\|")
		return "`` " + s + " ``"
	}
	for _, d := range command.Differences {
		what := d.Ask
		if d.Setup != "" {
			what = d.Setup + "; " + what
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", code(what), code(d.Redis), code(d.Here), d.Reason)
	}
	for _, d := range luahost.Differences {
		fmt.Fprintf(&b, "| %s: %s | %s | %s | %s |\n", d.Name, code(d.Snippet), code(d.Redis), code(d.Here), d.Reason)
	}
	return b.String()
}
