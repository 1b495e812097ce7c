package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/duration"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/service"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/replay"
	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

type replayFlags struct {
	format, fields, subject, html string
	o                             replay.Options
}

func (a *app) replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay ACCESS_LOG --policy FILE",
		Short: "Show what a policy would have done to the traffic in an access log",
		Long: `Shows what a policy would have done to yesterday's traffic. Each line of the log is decided as a guard
would have decided it, with the same Lua, on an embedded server whose clock follows the log. Nothing
is sent to a server.

It reads the common and combined formats of Apache and nginx, and JSON lines of nginx, Caddy, Traefik
and zerolog; --json-fields names other fields. ACCESS_LOG may be compressed with gzip, and - is
standard input. Lines that cannot be read are reported and skipped.

Each line counts for its address and, with --subject user, for its user: the first identity of the
policy's client that is not an address. What a log does not show is left out, and the report says so:
limits by other identities, and challenges. Budgets are charged the endpoint's estimate, and limits
that count only some responses go by the line's status.

The exit code is 0 if nothing would have been refused, 2 if something would, or if the log does not
tell, and 1 if the log or the policy cannot be read.`,
		Example: `  rlfunc replay access.log --policy policy.yaml
  rlfunc replay access.log.1.gz --policy policy.yaml --html report.html
  zcat access.log.*.gz | rlfunc replay - --policy policy.yaml --endpoint chat --json
  rlfunc replay caddy.log --policy policy.yaml --subject user --json-fields user=request.headers.X-Api-Key.0`,
		Args: usage.One("ACCESS_LOG", "access.log, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.replay(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.format, "format", "auto", "format of the lines: auto, common, combined or json")
	cmd.Flags().StringVar(&f.fields, "json-fields", "", "names of fields (time, ip, method, path, request, user, status, id), such as time=ts,ip=remote_ip")
	cmd.Flags().StringVar(&f.subject, "subject", "ip", "subjects of a line: ip, or user, which is also its address")
	cmd.Flags().StringVar(&f.o.Endpoint, "endpoint", "", "endpoint of every line (default by the policy's patterns)")
	duration.Flag(cmd, &f.o.Late, "late", "how much earlier a line may be than the line before (default 1m)")
	cmd.Flags().StringVar(&f.html, "html", "", "`FILE` for a page with charts")
	complete(cmd, "format", values("auto", "common", "combined", "json"))
	complete(cmd, "subject", values("ip", "user"))
	complete(cmd, "endpoint", a.ofService((*service.Service).EndpointNames))
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
	log, size, err := a.openLog(name, &f)
	if err != nil {
		return err
	}
	defer log.close()
	bar := a.newProgress(size)
	f.o.Progress = bar.show
	report, err := replay.Run(ctx, log.Reader, rules, f.o)
	bar.end()
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

type openLog struct {
	*accesslog.Reader
	close func() error
}

// openLog opens a log. It returns the size of its text in bytes, or 0 if that is unknown.
func (a *app) openLog(name string, f *replayFlags) (*openLog, int64, error) {
	format, err := accesslog.ParseFormat(f.format)
	if err != nil {
		return nil, 0, err
	}
	fields, err := accesslog.ParseFields(f.fields)
	if err != nil {
		return nil, 0, fmt.Errorf("--json-fields: %w", err)
	}
	if f.o.Subject, err = replay.ParseSubject(f.subject); err != nil {
		return nil, 0, err
	}
	in, size, end := a.in, int64(0), func() error { return nil }
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, 0, err
		}
		in, end = file, file.Close
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() && !isCompressed(file) {
			size = info.Size()
		}
	}
	reader, err := accesslog.NewReader(in, accesslog.Options{Format: format, Fields: fields})
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("%s: %w", name, err), end())
	}
	return &openLog{reader, end}, size, nil
}

func isCompressed(file io.ReaderAt) bool {
	var magic [2]byte
	_, err := file.ReadAt(magic[:], 0)
	return err == nil && magic == [2]byte{0x1f, 0x8b}
}

func writePage(name string, report *replay.Report) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	return errors.Join(report.WriteHTML(w), w.Flush(), file.Close())
}
