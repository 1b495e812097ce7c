package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/loader"
)

func (a *app) verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [LIBRARY ...]",
		Short: "Compare the libraries with what every node holds, byte for byte",
		Long: `Reads every library back from every primary and replica, and compares it byte for byte. The exit code
is 0 if all are the same, 2 if one is missing, older, newer, drifted, retired or not rlfunc's, and 1
if a node cannot be read.`,
		Example:           "  rlfunc verify --redis redis://127.0.0.1:6379\n  rlfunc verify --redis redis+cluster://10.0.0.1,10.0.0.2",
		ValidArgsFunction: a.libraryNames,
		RunE:              a.onTarget(a.verify),
	}
	return a.withTarget(a.withChannel(cmd))
}

func (a *app) verify(ctx context.Context, target *connection.Target, names []string) error {
	libs, err := a.named(names)
	if err != nil {
		return err
	}
	v, err := target.Verify(ctx, libs...)
	if err != nil {
		return err
	}
	err = a.print(v, func() error {
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
		return a.states(3, []string{"node", "role", "library", "state", "want", "found", "first difference"}, rows)
	})
	if err != nil {
		return err
	}
	return reporting(!v.Same(), nodeProblems(v.Nodes, func(n loader.NodeSteps) *loader.Error { return n.Problem }))
}
