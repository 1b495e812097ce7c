package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/codegen/diag"
)

func (a *app) vetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "vet",
		Short: "Find what would be wrong, unsafe or different between engines in the annotated Lua",
		Long: `Reads every function and shared Lua file and prints what is wrong, all at once, one finding a line:
file:line:col: message (rule). Exit code 2 when there is a finding. docs/vet.md explains every rule.

A line is exempted from one rule by a comment on it, with a reason:
  -- rlfunc:ignore RULE reason`,
		Example: "  rlfunc vet\n  rlfunc vet --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p, err := project.Find(a.dir)
			if err != nil {
				return err
			}
			tree, err := p.Load()
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
			a.talk("nothing found in %d functions of %d libraries", functions, len(tree.Libraries))
			return nil
		},
	}
}

// findings prints what is wrong with the source, as data; any other error is handed on.
func (a *app) findings(err error) error {
	var list diag.List
	if !errors.As(err, &list) {
		return err
	}
	if a.json {
		if err := a.printJSON(map[string]any{"findings": list}); err != nil {
			return err
		}
		return exitCode(exitDifferences)
	}
	for _, d := range list {
		fmt.Fprintln(a.out, d)
	}
	a.talk("%d found", len(list))
	return exitCode(exitDifferences)
}
