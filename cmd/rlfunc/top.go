package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/service"
	"github.com/rlfunc/rlfunc/guard/report"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

func (a *app) topCommand() *cobra.Command {
	once := false
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch which subjects are refused most, and by which limits",
		Long: `Shows live which subjects are refused most, and by which limits, over all processes of a service that
reports (package guard/report). A count with a ~ may be too high, because it took over the place of
another subject in a full table.

On a terminal it draws the table anew every 5 seconds, as the guards report, until Ctrl-C. Otherwise it
prints one table after the other; with --json, an object per interval; with --once, only one.`,
		Example: `  rlfunc top --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc top --once --json --policy policy.yaml --redis redis://127.0.0.1:6379`,
		Args: noArguments,
		RunE: a.onService(func(ctx context.Context, s *service.Service, conn *connection.Conn, _ []string) error {
			return a.top(ctx, s.Namespace, conn, once)
		}),
	}
	cmd.Flags().BoolVar(&once, "once", false, "one table only")
	return a.withPolicy(cmd)
}

func (a *app) top(ctx context.Context, namespace string, conn *connection.Conn, once bool) error {
	redraw := terminal.Movable(a.out) && !a.json && !once
	style := terminal.StyleOf(a.out)
	show := func() error {
		all, err := report.Read(ctx, conn.Client, namespace)
		lines := topLines(report.Merge(all), namespace, 10, style)
		switch {
		case redraw && err == nil:
			lines = topLines(report.Merge(all), namespace, 7, style) // fits 24 lines
		case redraw && ctx.Err() == nil:
			lines = []string{style.Red(connection.Nameless(err).Error())} // the server may come back
		case err != nil:
			return connection.Nameless(err)
		}
		if redraw {
			_, err := fmt.Fprint(a.out, "\x1b[H", strings.Join(lines, "\x1b[K\n"), "\x1b[K\n\x1b[J")
			return err
		}
		return a.print(report.Merge(all), func() error { return a.lines(append(lines, "")) })
	}
	if redraw {
		fmt.Fprint(a.out, "\x1b[2J")
	}
	for {
		if err := show(); err != nil || once {
			return err
		}
		select {
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

const (
	topWidth    = 80
	topBarWidth = 20
)

// topLines returns a report as tables with at most so many rows each.
func topLines(in report.Interval, namespace string, rows int, s terminal.Style) []string {
	var unreadable []string
	for _, key := range in.Unreadable {
		unreadable = append(unreadable, fmt.Sprintf("key %q holds no report of format 1; delete it, or upgrade rlfunc", key))
	}
	if in.Merged == 0 {
		return append([]string{"no guard of namespace " + namespace + " reports: add guard/report to the services and wait for one interval"}, unreadable...)
	}
	seconds := max(in.Seconds, 0.001)
	share := 100 * float64(in.Refused) / float64(max(in.Requests, 1))
	began := in.At.Add(-time.Duration(seconds * float64(time.Second)))
	lines := []string{
		s.Bold(fmt.Sprintf("%s  %s, %s to %s", namespace, count(in.Merged, "process"), began.UTC().Format("15:04:05"), in.At.UTC().Format("15:04:05 UTC"))),
		fmt.Sprintf("%.1f requests/s   %s   %d failed", float64(in.Requests)/seconds, s.Red(fmt.Sprintf("%.1f refused/s (%.1f %%)", float64(in.Refused)/seconds, share)), in.Failed),
	}
	lines = append(lines, topSection("refused most", in.Subjects, rows, in.Refused, seconds, s)...)
	lines = append(lines, topSection("refusing limits", in.Limits, rows, in.Refused, seconds, s)...)
	return append(lines, unreadable...)
}

func topSection(title string, counts []report.Count, rows int, all int64, seconds float64, s terminal.Style) []string {
	const name = topWidth - topBarWidth - 22
	lines := []string{"", s.Bold(fmt.Sprintf("%-*s %9s %8s", name, strings.ToUpper(title), "REFUSALS", "PER SEC"))}
	if len(counts) == 0 {
		return append(lines, "none")
	}
	full := "█"
	if s.ASCII {
		full = "#"
	}
	for _, c := range counts[:min(rows, len(counts))] {
		bar := strings.Repeat(full, int(topBarWidth*min(float64(c.N)/float64(max(all, 1)), 1)))
		text := []rune(terminal.Visible(c.Name))
		if len(text) > name {
			text = append(text[:name-3], []rune("...")...)
		}
		about := " "
		if c.Over > 0 {
			about = "~" // an upper bound
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%-*s %s%8d %8.1f %s", name, string(text), about, c.N, float64(c.N)/seconds, s.Red(bar)), " "))
	}
	if n := len(counts) - rows; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return lines
}
