package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/audit"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/output"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

func (a *app) auditCommand() *cobra.Command {
	last := 0
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "List the changes of operators to subjects, and their reasons",
		Long: `Lists the changes by ` + "`rlfunc block`, `unblock`, `reset` and `override`" + `, newest first: time by the server's clock, operator, subject, result
and reason. An "unfinished" change was interrupted and may have taken effect. The stream <namespace>:{audit}:log keeps about the last
5,000; --json also has the states before and after.`,
		Example: "  rlfunc audit --policy policy.yaml --redis redis://127.0.0.1:6379\n  rlfunc audit --last 100 --json --redis redis://127.0.0.1:6379",
		Args:    usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last < 1 || last > 5000 {
				return usage.Errorf("--last must be 1 to 5000, got %d", last)
			}
			return a.audit(cmd.Context(), last)
		},
	}
	cmd.Flags().IntVar(&last, "last", 20, "number of newest entries")
	return a.withPolicy(cmd)
}

func (a *app) audit(ctx context.Context, last int) error {
	s, err := a.serviceToRead()
	if err != nil {
		return err
	}
	conn, err := a.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	if conn.Embedded() {
		return errEmbedded
	}
	entries, err := audit.Open(conn.Client, s.Namespace).Last(ctx, last)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"entries": entries})
	}
	if len(entries) == 0 {
		a.note("nothing is recorded")
		return nil
	}
	var rows [][]string
	for _, e := range entries {
		rows = append(rows, []string{output.Time(e.At), terminal.Visible(e.By), terminal.Visible(e.Command), terminal.Visible(e.Subject), terminal.Visible(e.Result), terminal.Visible(e.Reason)})
	}
	return a.table([]string{"when", "by", "command", "subject", "result", "reason"}, rows)
}
