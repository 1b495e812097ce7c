package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/demo"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/inspect"
)

func (a *app) inspectCommand() *cobra.Command {
	var global, ascii bool
	cmd := &cobra.Command{
		Use:   "inspect SUBJECT",
		Short: "Tell why a guarded subject is refused, and when it is admitted again",
		Long: `Tells what Redis holds of one subject of package guard: its block and who started it, what is left of each limit and budget and
when each admits again, attempts and strikes, reservations, challenges, and when it was admitted.

SUBJECT is an identity of the policy and its value: ip=203.0.113.7, key=..., user=...; a combination is tenant=a+path=b, and a bare address is
that of a client. The limits are those that count it. Nothing is changed. Times are the server's, in UTC. A challenge is told by its first characters: whoever has all of it can use it. A library that the server lacks is
loaded, and none is ever replaced.

Exit code 0 when a request would be admitted now, 2 when something refuses it. What a single request must bring, as a challenge,
is not known here.`,
		Example: `  rlfunc inspect ip=203.0.113.7 --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc inspect key=ab12 --policy policy.yaml --redis redis://127.0.0.1:6379 --json
  rlfunc inspect --global --policy policy.yaml --redis redis://127.0.0.1:6379`,
		Args: func(_ *cobra.Command, args []string) error {
			if global == (len(args) > 0) || len(args) > 1 {
				return errors.New("inspect whom? give one SUBJECT (ip=203.0.113.7), or --global")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if global {
				args = []string{""}
			}
			return a.inspect(cmd.Context(), args[0], ascii)
		},
	}
	cmd.Flags().BoolVar(&global, "global", false, "the global limits, in place of a subject")
	cmd.Flags().BoolVar(&ascii, "ascii", false, "draw with plain characters")
	return a.withPolicy(cmd)
}

func (a *app) inspect(ctx context.Context, text string, ascii bool) error {
	rules, err := a.toRead()
	if err != nil {
		return err
	}
	subject := text
	if text != "" {
		if subject, err = a.subject(text, rules); err != nil {
			return err
		}
	}
	if rules.source == fromNamespace {
		a.talk("limits are not known: give --policy FILE for them")
	}
	conn, err := a.connect()
	if err != nil {
		return err
	}
	defer conn.close()
	for _, lib := range inspect.Libraries {
		if err := conn.ensure(ctx, lib); err != nil {
			return err
		}
	}
	reader, err := inspect.NewReader(conn.client, rules.Policy)
	if err != nil {
		return err
	}
	var report *inspect.Report
	if text == "" {
		report, err = reader.Globals(ctx)
	} else {
		report, err = reader.Subject(ctx, subject)
	}
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(report)
	} else {
		color := demo.ColorFor(a.out)
		err = report.WriteText(a.out, inspect.Style{Color: color && !ascii, ASCII: ascii || !a.drawable(color)})
	}
	if err == nil && report.Refused {
		return exitCode(exitDifferences)
	}
	return err
}
