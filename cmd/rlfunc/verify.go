package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/loader"
)

func (a *app) verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [LIBRARY ...]",
		Short: "Compare what every node holds with the libraries, byte for byte",
		Long: `Reads every library back from every primary and replica and compares it byte for byte. Exit code 0 when all are the same, 2
when one is missing, older, newer, drifted or not ours, 1 when a node can not be read.`,
		Example: "  rlfunc verify --redis redis://127.0.0.1:6379\n  rlfunc verify --redis redis+cluster://10.0.0.1,10.0.0.2",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.verify(cmd.Context(), args)
		},
	}
	return a.withTarget(a.withChannel(cmd))
}

func (a *app) verify(ctx context.Context, names []string) error {
	tree, err := a.read()
	if err != nil {
		return err
	}
	libs, err := a.libraries(tree, names)
	if err != nil {
		return err
	}
	target, err := a.openTarget()
	if err != nil {
		return err
	}
	defer target.close()
	v, err := target.Verify(ctx, libs...)
	if err != nil {
		return err
	}
	if a.json {
		if err := a.printJSON(v); err != nil {
			return err
		}
	} else {
		var rows [][]string
		for _, node := range v.Nodes {
			for _, f := range node.Findings {
				first := ""
				if f.State == loader.Drifted && f.Difference != nil {
					first = f.Difference.String()
				}
				rows = append(rows, []string{node.Addr, string(node.Role), f.Library, string(f.State), f.Want, f.Found, first})
			}
		}
		printTable(a.out, []string{"node", "role", "library", "state", "want", "found", "first difference"}, rows)
	}
	var problems []error
	for _, node := range v.Nodes {
		if node.Problem != nil {
			problems = append(problems, node.Problem)
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	if !v.Same() {
		return exitCode(exitDifferences)
	}
	return nil
}
