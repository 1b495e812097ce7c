package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/replay"
	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

type replayFlags struct {
	policy, format, fields, subject, html string
	o                                     replay.Options
}

func (a *app) replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay ACCESS_LOG --policy FILE",
		Short: "Tell what a policy would have done to the traffic of an access log",
		Long: `Decides each line of a log as package guard does, by the same Lua, on an embedded server whose clock is that of the log.
Nothing is sent anywhere. ACCESS_LOG may be packed with gzip; - is standard input.

Read are Apache's and nginx's common and combined formats, and JSON lines as nginx, Caddy, Traefik and zerolog write them;
--json-fields names other fields. Lines that can not be read are told and left out. A line that is a little earlier than one before
it is decided at that one's time.

Each line counts for its address, or with --subject user for its user, as the first identity of the policy's client that is not an
address. Limits by other identities or by a combination are left out; the report names them. Challenges are left out, as a log does
not tell which request brought one; budgets are charged an endpoint's estimate. A global limit is asked where the subject's own allow.

Exit code 0 when nothing would have been refused, 2 when something would have been, 1 when it could not be told.`,
		Example: `  rlfunc replay access.log --policy policy.yaml
  rlfunc replay access.log.1.gz --policy policy.yaml --html report.html
  zcat access.log.*.gz | rlfunc replay - --policy policy.yaml --endpoint chat --json
  rlfunc replay caddy.log --policy policy.yaml --subject user --json-fields user=request.headers.X-Api-Key.0`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.replay(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.policy, "policy", "", "the policy's file (default policy.yaml or limits.yaml in the folder)")
	cmd.Flags().StringVar(&f.format, "format", "auto", "of the lines: auto, common, combined or json")
	cmd.Flags().StringVar(&f.fields, "json-fields", "", "names of fields: time=ts,ip=remote_ip,method=..,path=..,request=..,user=..,status=..,id=..")
	cmd.Flags().StringVar(&f.subject, "subject", "ip", "whom a line counts for: ip, or user")
	cmd.Flags().StringVar(&f.o.Endpoint, "endpoint", "", "the endpoint of every line (default what the policy's patterns match)")
	addDuration(cmd, &f.o.Late, "late", "how much earlier than one before it a line may be (default 1m)")
	cmd.Flags().StringVar(&f.html, "html", "", "write a page with charts to this file")
	return cmd
}

func (a *app) replay(ctx context.Context, name string, f replayFlags) error {
	if f.policy == "" {
		if f.policy = a.policyInFolder(); f.policy == "" {
			return errors.New("by which policy? give --policy FILE")
		}
		a.talk("by the policy in %s", f.policy)
	}
	rules, err := policy.Load(f.policy)
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
	report.Log, report.Policy = name, f.policy
	if f.html != "" {
		if err := writePage(f.html, report); err != nil {
			return err
		}
		a.talk("wrote %s", f.html)
	}
	if a.json {
		err = a.printJSON(report)
	} else {
		err = report.WriteText(a.out)
	}
	if err == nil && report.Refused > 0 {
		return exitCode(exitDifferences)
	}
	return err
}

type openLog struct {
	*accesslog.Reader
	close func() error
}

// openLog opens a log, and tells how many bytes it has; 0 where that can not be said of the text in it.
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
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() && !isPacked(file) {
			size = info.Size()
		}
	}
	reader, err := accesslog.NewReader(in, accesslog.Options{Format: format, Fields: fields})
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("%s: %w", name, err), end())
	}
	return &openLog{reader, end}, size, nil
}

func isPacked(file io.ReaderAt) bool {
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
