package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/audit"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/inspect"
)

func (a *app) auditCommand() *cobra.Command {
	last := 0
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "List what operators did to subjects by hand, and why",
		Long: `Lists what operators did by ` + "`rlfunc block`, `unblock`, `reset` and `override`" + `, the newest first: when by the server's clock, who, to whom, why,
and what came of it. "unfinished" was cut off, and may have acted. About the last 5,000 are kept, in the stream
<namespace>:{audit}:log; --json has what was there before and after.`,
		Example: "  rlfunc audit --policy policy.yaml --redis redis://127.0.0.1:6379\n  rlfunc audit -n 100 --json --redis redis://127.0.0.1:6379",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last < 1 || last > 5000 {
				return fmt.Errorf("-n must be 1 to 5000, got %d", last)
			}
			return a.audit(cmd.Context(), last)
		},
	}
	cmd.Flags().IntVarP(&last, "last", "n", 20, "so many")
	return a.withPolicy(cmd)
}

func (a *app) audit(ctx context.Context, last int) error {
	rules, err := a.toRead()
	if err != nil {
		return err
	}
	conn, err := a.connect()
	if err != nil {
		return err
	}
	defer conn.close()
	if conn.embedded != nil {
		return errEmbedded
	}
	entries, err := audit.Open(conn.client, rules.Namespace).Last(ctx, last)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"format": 1, "entries": entries})
	}
	if len(entries) == 0 {
		a.talk("nothing is recorded")
		return nil
	}
	var rows [][]string
	for _, e := range entries {
		rows = append(rows, []string{stamp(e.At), inspect.Visible(e.By), inspect.Visible(e.Command), inspect.Visible(e.Subject), inspect.Visible(e.Result), inspect.Visible(e.Reason)})
	}
	printTable(a.out, []string{"when", "by", "command", "subject", "result", "reason"}, rows)
	return nil
}
