package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var listedFlag = regexp.MustCompile(`(?m)^ +(?:-., )?--([a-z-]+)`)

// TestFlags_haveOneMeaning lists the flags of all commands: a name, and a shorthand, has the same type and help everywhere.
func TestFlags_haveOneMeaning(t *testing.T) {
	type meaning struct{ text, command string }
	flags, shorthands := map[string]meaning{}, map[string]meaning{}
	same := func(seen map[string]meaning, name, text, command string) {
		if other, ok := seen[name]; ok && other.text != text {
			t.Errorf("%s means two things:\n%s: %s\n%s: %s", name, other.command, other.text, command, text)
		}
		seen[name] = meaning{text, command}
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		for _, m := range listedFlag.FindAllStringSubmatch(cmd.LocalFlags().FlagUsages(), -1) {
			if m[1] == "help" || m[1] == "version" {
				continue
			}
			f := cmd.LocalFlags().Lookup(m[1])
			same(flags, "--"+f.Name, fmt.Sprintf("%s, %s", f.Value.Type(), f.Usage), cmd.CommandPath())
			if f.Shorthand != "" {
				same(shorthands, "-"+f.Shorthand, "--"+f.Name, cmd.CommandPath())
			}
			if first := f.Usage[:1]; strings.TrimSpace(f.Usage) == "" || strings.HasSuffix(f.Usage, ".") || first != strings.ToLower(first) && !strings.HasPrefix(f.Usage, "URL") && !strings.HasPrefix(f.Usage, "Go") {
				t.Errorf("%s --%s: %q is not a noun phrase", cmd.CommandPath(), f.Name, f.Usage)
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk((&app{}).root())
	if len(flags) < 30 {
		t.Errorf("%d flags: the test does not see all commands", len(flags))
	}
}
