package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/output"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/loader"
)

func (a *app) historyCommand() *cobra.Command {
	last := 0
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List the last deploys, rollbacks and retires of the server",
		Long: `Lists the deploys, rollbacks and retires of the server, newest first: time, operator, and what
happened on each node. An operation marked "unfinished" is still running, or its process died; run it
again to finish it.

The server keeps the last 500 operations, until FLUSHALL removes them.`,
		Example: "  rlfunc history --redis redis://127.0.0.1:6379\n  rlfunc history --last 100 --json --redis redis://127.0.0.1:6379",
		Args:    usage.None,
		PreRunE: func(*cobra.Command, []string) error {
			if last < 1 {
				return usage.Errorf("--last must be 1 or more, got %d", last)
			}
			return nil
		},
		RunE: a.onTarget(func(ctx context.Context, target *connection.Target, _ []string) error {
			return a.history(ctx, target, last)
		}),
	}
	cmd.Flags().IntVar(&last, "last", 20, "number of newest entries")
	return a.withRedis(cmd)
}

func (a *app) history(ctx context.Context, target *connection.Target, last int) error {
	events, err := target.History(ctx, last)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"events": events})
	}
	if len(events) == 0 {
		a.note("nothing is recorded")
		return nil
	}
	var rows [][]string
	for _, e := range events {
		head := []string{output.Time(e.At), string(e.Op), string(e.Outcome), e.By}
		for _, c := range e.Changes {
			nodes := strings.Join(c.Nodes, ", ")
			if c.Count > len(c.Nodes) {
				nodes += fmt.Sprintf(" and %d more", c.Count-len(c.Nodes))
			}
			rows = append(rows, append(head, c.Library, nodes, changeText(c)))
			head = []string{"", "", "", ""}
		}
		if e.More > 0 {
			rows = append(rows, append(head, "", "", fmt.Sprintf("and %d more changes", e.More)))
		}
		if len(e.Forced) > 0 {
			rows = append(rows, append(head, "", "", "forced despite clients: "+strings.Join(e.Forced, ", ")))
		}
	}
	return a.states(2, []string{"when", "what", "outcome", "by", "library", "nodes", "change"}, rows)
}

func changeText(c loader.EventChange) string {
	text := ""
	switch {
	case c.From != "" && c.To != "":
		text = c.From + " -> " + c.To
	default:
		text = c.From + c.To
	}
	if c.Outcome != "" {
		text = string(c.Outcome) + " " + text
	}
	if c.Problem != "" {
		text += ": " + c.Problem
	}
	return text
}
