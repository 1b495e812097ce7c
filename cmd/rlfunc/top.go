package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/demo"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/top"
	"github.com/rlfunc/rlfunc/guard/report"
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
		Short: "Watch who is refused most, and which limits refuse",
		Long: `Adds up what the processes of a guarded service report (package guard/report; without it there is nothing to see): requests and
refusals of the last interval, the subjects that are refused most, and the limits and other reasons that refuse them. A count with a ~
may be too high: so many others were counted that its place was taken over.

On a terminal it is a view of the whole screen: q quits, s sorts by count or name, p pauses. Elsewhere, and with --plain, a table is
printed each interval. --json prints an object each interval. --once prints one and ends.`,
		Example: `  rlfunc top --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc top --once --json --policy policy.yaml --redis redis://127.0.0.1:6379`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.every < 100*time.Millisecond || f.rows < 1 {
				return fmt.Errorf("--every must be at least 100ms and --rows at least 1, got %s and %d", f.every, f.rows)
			}
			return a.top(cmd.Context(), f)
		},
	}
	f.every = 5 * time.Second
	addDuration(cmd, &f.every, "every", "how often to look: as often as the guards report")
	cmd.Flags().IntVar(&f.rows, "rows", 10, "rows of each table where it is no full screen")
	cmd.Flags().BoolVar(&f.plain, "plain", false, "print tables, also on a terminal")
	cmd.Flags().BoolVar(&f.once, "once", false, "print one table and end")
	cmd.Flags().BoolVar(&f.ascii, "ascii", false, "draw with plain characters")
	return a.withPolicy(cmd)
}

func (a *app) top(ctx context.Context, f topFlags) error {
	rules, err := a.toRead()
	if err != nil {
		return err
	}
	conn, err := a.connect()
	if err != nil {
		return err
	}
	defer conn.close()
	source := func(ctx context.Context) (report.Interval, error) {
		all, err := report.Read(ctx, conn.client, rules.Namespace)
		return report.Merge(all), err
	}
	color := demo.ColorFor(a.out)
	style := top.Style{Color: color && !f.ascii, ASCII: f.ascii || !a.drawable(color)}
	if color && isTerminal(a.in) && !a.json && !f.plain && !f.once {
		return top.Run(ctx, source, rules.Namespace, f.every, style)
	}
	for {
		in, err := source(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err := a.printTop(in, rules.Namespace, f.rows, style); err != nil || f.once {
			return err
		}
		select {
		case <-time.After(f.every):
		case <-ctx.Done():
			return nil
		}
	}
}

func (a *app) printTop(in report.Interval, namespace string, rows int, style top.Style) error {
	if a.json {
		return a.printJSON(in)
	}
	for _, line := range top.Lines(in, namespace, rows, 80, style) {
		if _, err := fmt.Fprintln(a.out, line); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(a.out)
	return err
}
