package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/replay"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

type replayFlags struct {
	subject, html string
	o             replay.Options
}

func (a *app) replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay ACCESS_LOG --policy FILE",
		Short: "Show what a policy would have done to the traffic in an access log",
		Long: `Shows what a policy would have done to yesterday's traffic. Each line of the log is decided as a guard
would have decided it, with the same Lua, on an embedded server whose clock follows the log. Nothing
is sent to a server.

It reads the common and combined formats of Apache and nginx, and JSON lines with time (RFC 3339, or
seconds since 1970), ip, method, path, status, user and id; jq renames the fields of other logs.
ACCESS_LOG may be compressed with gzip, and - is standard input. Lines that cannot be read are
reported and skipped.

Each line counts for its address and, with --subject user, for its user: the first identity of the
policy's client that is not an address. What a log does not show is left out, and the report says so:
limits by other identities, and challenges. Budgets are charged the endpoint's estimate, and limits
that count only some responses go by the line's status.

The exit code is 0 if nothing would have been refused, 2 if something would, or if the log does not
tell, and 1 if the log or the policy cannot be read.`,
		Example: `  rlfunc replay access.log --policy policy.yaml
  rlfunc replay access.log.1.gz --policy policy.yaml --html report.html
  zcat access.log.*.gz | rlfunc replay - --policy policy.yaml --endpoint chat --json
  jq -c '{time: .ts, ip: .request.client_ip, method: .request.method, path: .request.uri, status}' caddy.log |
    rlfunc replay - --policy policy.yaml`,
		Args: oneArgument("ACCESS_LOG", "access.log, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.replay(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.subject, "subject", "ip", "subjects of a line: ip, or user, which is also its address")
	cmd.Flags().StringVar(&f.o.Endpoint, "endpoint", "", "endpoint of every line (default by the policy's patterns)")
	cmd.Flags().StringVar(&f.html, "html", "", "`FILE` for a page with charts")
	return a.withPolicyFile(cmd)
}

func (a *app) replay(ctx context.Context, name string, f replayFlags) error {
	file, err := a.policyFile(a.policy, "--policy FILE")
	if err != nil {
		return err
	}
	rules, err := policy.Load(file)
	if err != nil {
		return err
	}
	if f.o.Subject, err = replay.ParseSubject(f.subject); err != nil {
		return err
	}
	log := io.NopCloser(a.in)
	if name != "-" {
		if log, err = os.Open(name); err != nil {
			return err
		}
	}
	defer log.Close()
	f.o.Progress = a.progress()
	report, err := replay.Run(ctx, log, rules, f.o)
	if terminal.Movable(a.err) {
		fmt.Fprint(a.err, "\r\x1b[K")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	report.Log, report.Policy = name, a.policy
	if f.html != "" {
		if err := writePage(f.html, report); err != nil {
			return err
		}
		a.note("wrote %s", f.html)
	}
	return reporting(report.Refused > 0 || !report.Complete, a.print(report, func() error { return report.WriteText(a.out) }))
}

// progress shows how far a replay is: by a changing line on a terminal, otherwise by a line every 5 s.
func (a *app) progress() func(replay.Progress) {
	began := time.Now()
	next := began.Add(time.Second)
	return func(at replay.Progress) {
		now := time.Now()
		if now.Before(next) {
			return
		}
		text := fmt.Sprintf("%d lines, %.0f per second, at %s", at.Lines, float64(at.Lines)/now.Sub(began).Seconds(), at.At.Format("2006-01-02 15:04:05"))
		if terminal.Movable(a.err) {
			fmt.Fprintf(a.err, "\r%s\x1b[K", text)
			next = now.Add(100 * time.Millisecond)
			return
		}
		a.note("%s", text)
		next = now.Add(5 * time.Second)
	}
}

func writePage(name string, report *replay.Report) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	return errors.Join(report.WriteHTML(w), w.Flush(), file.Close())
}
