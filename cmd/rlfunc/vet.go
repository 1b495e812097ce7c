package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/internal/codegen/diag"
)

func (a *app) vetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "vet",
		Short: "Find errors, unsafe code and differences between engines in the annotated Lua",
		Long: `Checks every function and shared Lua file and prints all findings, one per line: file:line:col: message (rule). Exit code 2
if there is a finding. docs/vet.md explains every rule.

To exempt a line from a rule, add a comment with a reason to the line:
  -- rlfunc:ignore RULE reason`,
		Example: "  rlfunc vet\n  rlfunc vet --json",
		Args:    usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := project.Find(a.dir)
			if err != nil {
				return err
			}
			tree, err := p.Load(cmd.Context())
			if err != nil {
				return a.findings(err)
			}
			if a.json {
				return a.printJSON(map[string]any{"findings": diag.List{}})
			}
			functions := 0
			for _, lib := range tree.Libraries {
				functions += len(lib.Files)
			}
			a.note("no findings in %s of %s", count(functions, "function"), count(len(tree.Libraries), "library"))
			return nil
		},
	}
}

// findings prints the findings in an error as data. It returns any other error.
func (a *app) findings(err error) error {
	var list diag.List
	if !errors.As(err, &list) {
		return err
	}
	if a.json {
		if err := a.printJSON(map[string]any{"findings": list}); err != nil {
			return err
		}
		return exitcode.Findings
	}
	for _, d := range list {
		fmt.Fprintln(a.out, d)
	}
	a.note("%s", count(len(list), "finding"))
	return exitcode.Findings
}
