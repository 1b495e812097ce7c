package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/audit"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/output"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/service"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/internal/inspect"
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
		PreRunE: func(*cobra.Command, []string) error {
			if last < 1 || last > 5000 {
				return usage.Errorf("--last must be 1 to 5000, got %d", last)
			}
			return nil
		},
		RunE: a.onService(func(ctx context.Context, s *service.Service, conn *connection.Conn) error {
			return a.audit(ctx, s, conn, last)
		}),
	}
	cmd.Flags().IntVar(&last, "last", 20, "number of newest entries")
	return a.withPolicy(cmd)
}

func (a *app) audit(ctx context.Context, s *service.Service, conn *connection.Conn, last int) error {
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
		rows = append(rows, []string{output.Time(e.At), inspect.Visible(e.By), inspect.Visible(e.Command), inspect.Visible(e.Subject), inspect.Visible(e.Result), inspect.Visible(e.Reason)})
	}
	return a.table([]string{"when", "by", "command", "subject", "result", "reason"}, rows)
}
