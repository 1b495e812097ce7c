package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/duration"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/service"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/top"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/guard/report"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

type topFlags struct {
	every              time.Duration
	rows               int
	plain, once, ascii bool
}

func (a *app) topCommand() *cobra.Command {
	var f topFlags
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch which subjects are refused most, and by which limits",
		Long: `Shows live which subjects are refused most, and by which limits, over all processes of a service that
reports (package guard/report). A count with a ~ may be too high, because it took over the place of
another subject in a full table.

On a terminal it fills the screen: q quits, s sorts by count or name, p pauses. Otherwise, and with
--plain, it prints a table per interval; with --json, an object per interval; with --once, only one.
Only q and --once end it with exit code 0.`,
		Example: `  rlfunc top --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc top --once --json --policy policy.yaml --redis redis://127.0.0.1:6379`,
		Args: usage.None,
		PreRunE: func(*cobra.Command, []string) error {
			if f.every < 100*time.Millisecond || f.rows < 1 {
				return usage.Errorf("--every must be at least 100ms and --rows at least 1, got %s and %d", f.every, f.rows)
			}
			return nil
		},
		RunE: a.onService(func(ctx context.Context, s *service.Service, conn *connection.Conn, _ []string) error {
			return a.top(ctx, s, conn, f)
		}),
	}
	f.every = 5 * time.Second
	duration.Flag(cmd, &f.every, "every", "interval, as the guards report")
	cmd.Flags().IntVar(&f.rows, "rows", 10, "rows of each printed table")
	cmd.Flags().BoolVar(&f.plain, "plain", false, "tables also on a terminal")
	cmd.Flags().BoolVar(&f.once, "once", false, "one table only")
	cmd.Flags().BoolVar(&f.ascii, "ascii", false, asciiUsage)
	return a.withPolicy(cmd)
}

func (a *app) top(ctx context.Context, s *service.Service, conn *connection.Conn, f topFlags) error {
	source := func(ctx context.Context) (report.Interval, error) {
		all, err := report.Read(ctx, conn.Client, s.Namespace)
		return report.Merge(all), err
	}
	style := a.drawing(f.ascii)
	if terminal.Movable(a.out) && terminal.Is(a.in) && !a.json && !f.plain && !f.once {
		return top.Run(ctx, source, s.Namespace, f.every, style)
	}
	for {
		in, err := source(ctx)
		if err != nil {
			return err
		}
		err = a.print(in, func() error { return a.lines(append(top.Lines(in, s.Namespace, f.rows, 80, style), "")) })
		if err != nil || f.once {
			return err
		}
		select {
		case <-time.After(f.every):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
