package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/loader"
)

func (a *app) historyCommand() *cobra.Command {
	last := 0
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List the last deploys, rollbacks and retires on the server",
		Long: `Lists who changed the server's libraries when, and what came of it on each node, the newest first. An operation without
an end is "unfinished": it still runs, or its process died; running it again finishes the job.

The server keeps the last 500. FLUSHALL removes them.`,
		Example: "  rlfunc history --redis redis://127.0.0.1:6379\n  rlfunc history -n 100 --json --redis redis://127.0.0.1:6379",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last < 1 {
				return fmt.Errorf("-n must be 1 or more, got %d", last)
			}
			return a.history(cmd.Context(), last)
		},
	}
	cmd.Flags().IntVarP(&last, "last", "n", 20, "so many")
	return a.withRedis(cmd)
}

func (a *app) history(ctx context.Context, last int) error {
	target, err := a.openTarget()
	if err != nil {
		return err
	}
	defer target.close()
	events, err := target.History(ctx, last)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"format": 1, "events": events})
	}
	if len(events) == 0 {
		a.talk("nothing is recorded")
		return nil
	}
	var rows [][]string
	for _, e := range events {
		who := []string{stamp(e.At), string(e.Op), string(e.Outcome), e.By}
		for _, c := range e.Changes {
			nodes := strings.Join(c.Nodes, ", ")
			if c.Count > len(c.Nodes) {
				nodes += fmt.Sprintf(" and %d more", c.Count-len(c.Nodes))
			}
			rows = append(rows, append(who, c.Library, nodes, changeText(c)))
			who = []string{"", "", "", ""}
		}
		if e.More > 0 {
			rows = append(rows, append(who, "", "", fmt.Sprintf("and %d more changes", e.More)))
		}
		if len(e.Forced) > 0 {
			rows = append(rows, append(who, "", "", "forced, although clients were seen: "+strings.Join(e.Forced, ", ")))
		}
	}
	printTable(a.out, []string{"when", "what", "outcome", "by", "library", "nodes", "change"}, rows)
	return nil
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
