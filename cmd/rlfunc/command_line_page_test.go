package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
)

const commandLinePage = "../../docs/reference/command-line.md"

var update = flag.Bool("update", false, "write the commands of docs/reference/command-line.md")

// docs/reference/command-line.md has a rlfunc.yaml that is valid, every kind of URL that --redis names, every exit code and every command.
func TestCommandLinePage_isTrue(t *testing.T) {
	text, err := os.ReadFile(commandLinePage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	config := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(page)
	if _, err := project.ParseConfig("rlfunc.yaml", []byte(config[1])); err != nil {
		t.Error(err)
	}
	for _, line := range regexp.MustCompile(`(?m)^rlfunc .*--target (\w+)`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(config[1], line[1]+":\n") {
			t.Errorf("no target %s in the page's rlfunc.yaml", line[1])
		}
	}
	for _, scheme := range []string{"redis://", "rediss://", "unix:///", "redis+cluster://", "redis+sentinel://", "`embedded`"} {
		if !strings.Contains(page, scheme) {
			t.Errorf("the page lacks %s", scheme)
		}
	}
	const mark = "<!-- The rest is made from the commands: go test ./cmd/rlfunc -run CommandLinePage -update -->\n"
	own, have, ok := strings.Cut(page, mark)
	if !ok {
		t.Fatalf("%s has no line %q", commandLinePage, mark)
	}
	want := commandTables()
	if *update {
		must(t, os.WriteFile(commandLinePage, []byte(own+mark+want), 0o644))
		return
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("%s is stale: go test ./cmd/rlfunc -run CommandLinePage -update (-want +got):\n%s", commandLinePage, d)
	}
}

// commandTables are the exit codes, the flags of several commands, and each command with the flags that only it has.
func commandTables() string {
	cell := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;")
	flagRow := func(f *pflag.Flag) string {
		kind, text := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if kind != "" {
			name += " " + kind
		}
		switch f.DefValue {
		case "", "false", "[]", "0", "0s", "<nil>":
		default:
			text += " (default " + f.DefValue + ")"
		}
		return fmt.Sprintf("| `%s` | %s |\n", strings.ReplaceAll(name, "|", `\|`), cell.Replace(text))
	}
	root := new(app).root()
	var commands []*cobra.Command
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Runnable() && !cmd.Hidden && cmd.HasParent() && !cmd.HasSubCommands() {
			commands = append(commands, cmd)
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	commandsOf, first := map[string]int{}, []*pflag.Flag{}
	for _, cmd := range commands {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if row := flagRow(f); f.Name != "help" {
				if commandsOf[row]++; commandsOf[row] == 1 {
					first = append(first, f)
				}
			}
		})
	}
	const shared = 2 // a flag of so many commands is in the table of all
	var b strings.Builder
	b.WriteString("\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, row := range exitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", row.code, cell.Replace(row.meaning))
	}
	b.WriteString("\n## Flags of every command\n\n| flag | |\n|---|---|\n")
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { b.WriteString(flagRow(f)) })
	b.WriteString("\n## Flags of several commands\n\n| flag | |\n|---|---|\n")
	slices.SortFunc(first, func(a, b *pflag.Flag) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range first {
		if row := flagRow(f); commandsOf[row] >= shared {
			b.WriteString(row)
		}
	}
	for _, group := range append(root.Groups(), &cobra.Group{Title: "Other commands:"}) {
		fmt.Fprintf(&b, "\n## %s\n", strings.TrimSuffix(group.Title, ":"))
		for _, cmd := range commands {
			of := cmd
			for of.Parent() != root {
				of = of.Parent()
			}
			if of.GroupID != group.ID {
				continue
			}
			fmt.Fprintf(&b, "\n### %s\n\n%s. `%s`\n", cmd.CommandPath(), strings.TrimSuffix(cmd.Short, "."), strings.TrimSuffix(cmd.UseLine(), " [flags]"))
			var also []string
			table := ""
			cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
				switch row := flagRow(f); {
				case f.Name == "help":
				case commandsOf[row] >= shared:
					also = append(also, "`--"+f.Name+"`")
				default:
					table += row
				}
			})
			if len(also) > 0 {
				fmt.Fprintf(&b, "\nTakes %s.\n", strings.Join(also, ", "))
			}
			if table != "" {
				fmt.Fprintf(&b, "\n| flag | |\n|---|---|\n%s", table)
			}
		}
	}
	return b.String()
}

// A project of rlfunc init shows targets that are valid once their comment signs are gone.
func TestInit_showsAValidTarget(t *testing.T) {
	dir := t.TempDir()
	if code, _, stderr := runOutside(t, "init", dir+"/limits"); code != exitOK {
		t.Fatal(stderr)
	}
	text, err := os.ReadFile(dir + "/limits/rlfunc.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config, err := project.ParseConfig("rlfunc.yaml", []byte(regexp.MustCompile(`(?m)^# (targets|  )`).ReplaceAllString(string(text), "$1")))
	if err != nil || config.Targets["production"].Redis == "" {
		t.Errorf("%+v %v", config, err)
	}
}
