package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/loader"
)

func (a *app) verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [LIBRARY ...]",
		Short: "Compare the libraries with what every node holds, byte for byte",
		Long: `Reads every library back from every primary and replica and compares it byte for byte. Exit code 0 if all are the same, 2 if
one is missing, older, newer, drifted, retired or foreign, 1 if a node cannot be read.`,
		Example:           "  rlfunc verify --redis redis://127.0.0.1:6379\n  rlfunc verify --redis redis+cluster://10.0.0.1,10.0.0.2",
		ValidArgsFunction: a.libraryNames,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.verify(cmd.Context(), args) },
	}
	return a.withTarget(a.withChannel(cmd))
}

func (a *app) verify(ctx context.Context, names []string) error {
	tree, err := a.tree()
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
	defer target.Close()
	v, err := target.Verify(ctx, libs...)
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(v)
	} else {
		var rows [][]string
		for _, node := range v.Nodes {
			for _, s := range node.Steps {
				first := ""
				if s.Difference != nil {
					first = s.Difference.String()
				}
				rows = append(rows, []string{node.Addr, string(node.Role), s.Library, string(s.State), s.To, s.From, first})
			}
		}
		err = a.states(3, []string{"node", "role", "library", "state", "want", "found", "first difference"}, rows)
	}
	if err != nil {
		return err
	}
	if err := nodeProblems(v.Nodes, func(n loader.NodeSteps) *loader.Error { return n.Problem }); err != nil {
		return err
	}
	if !v.Same() {
		return exitcode.Findings
	}
	return nil
}
