package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/service"
	"github.com/rlfunc/rlfunc/guard/inspect"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/telemetry"
	"github.com/rlfunc/rlfunc/internal/spelling"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

func (a *app) inspectCommand() *cobra.Command {
	var plan string
	cmd := &cobra.Command{
		Use:   "inspect SUBJECT",
		Short: "Show why a subject is refused, and when it is admitted again",
		Long: `Shows why a subject is refused and when it is admitted again: its block and who set it, what is left
of each limit and budget, attempts and strikes, reservations, challenges, and recent admissions.

SUBJECT is an identity of the policy with its value: ip=203.0.113.7, key=ab12, user=42, or a
combination such as tenant=a+path=b. A bare address means the client's address, and all the limits
that count everybody (by: all). Times are the server's, in UTC. Only the first characters of a challenge are shown, because it is a credential.

A client's plan comes with its requests: give --client-plan to see what a client of that plan may do.

Counts are not changed, but missing libraries are loaded. The exit code is 0 if a request would be
admitted now, and 2 if something refuses it, at one endpoint or all of them. Budgets are asked for what
the policy's endpoints estimate; what single requests bring, such as a challenge or an estimate of
their own, does not count.`,
		Example: `  rlfunc inspect ip=203.0.113.7 --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc inspect key=ab12 --policy policy.yaml --redis redis://127.0.0.1:6379 --json
  rlfunc inspect user=42 --client-plan pro --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc inspect all --policy policy.yaml --redis redis://127.0.0.1:6379`,
		Args: oneSubject,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.service()
			if err != nil {
				return err
			}
			if !s.Given {
				return errNoService
			}
			if s.Policy, err = a.planned(s.Policy, plan); err != nil {
				return err
			}
			return a.onServer(func(ctx context.Context, conn *connection.Conn, args []string) error {
				return a.inspect(ctx, s, conn, args[0])
			})(cmd, args)
		},
	}
	cmd.Flags().StringVar(&plan, "client-plan", "", "`NAME` of the policy's plan that the subject has (default none)")
	return a.withPolicy(cmd)
}

// planned returns the policy of clients that have a plan; "" for none.
func (a *app) planned(p *policy.Policy, plan string) (*policy.Policy, error) {
	var names []string
	if p.Plans != nil {
		names = slices.Sorted(maps.Keys(p.Plans.Named))
	}
	switch {
	case plan == "" && len(names) > 0:
		a.note("limits of clients without a plan; see those of another with --client-plan (plans: %s)", strings.Join(names, ", "))
	case plan != "" && !slices.Contains(names, plan):
		return nil, usageErrorf("the policy has no plan %q%s (plans: %s)", plan, spelling.DidYouMean(plan, names), cmp.Or(strings.Join(names, ", "), "none"))
	}
	return p.ForPlan(plan), nil
}

func (a *app) inspect(ctx context.Context, s *service.Service, conn *connection.Conn, text string) error {
	subject := ""
	if text != policy.ByAll {
		var err error
		if subject, err = a.resolve(s, text, (*service.Service).Subject); err != nil {
			return err
		}
	}
	switch key, err := subjectKey(); {
	case err != nil:
		return err
	case key != nil && subject != "":
		a.note("logs have it as %s", telemetry.Shorten(key, subject))
	}
	if s.Given && s.File == "" {
		a.note("the limits are unknown: give --policy FILE")
	}
	for _, lib := range inspect.Libraries {
		if err := conn.Ensure(ctx, lib); err != nil {
			return err
		}
	}
	reader, err := inspect.NewReader(conn.Client, s.Policy)
	if err != nil {
		return err
	}
	var report *inspect.Report
	if text == policy.ByAll {
		report, err = reader.Globals(ctx)
	} else {
		report, err = reader.Subject(ctx, subject)
	}
	if err != nil {
		return err
	}
	return reporting(report.Refused, a.print(report, func() error { return report.WriteText(a.out, terminal.StyleOf(a.out)) }))
}
