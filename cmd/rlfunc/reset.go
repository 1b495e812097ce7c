package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/service"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func (a *app) resetCommand() *cobra.Command {
	var c change
	var only []string
	cmd := &cobra.Command{
		Use:   "reset SUBJECT [--limit NAME] --reason TEXT",
		Short: "Delete a subject's counts of limits and budgets",
		Long: `Deletes what a subject has used of its limits and budgets, so that it starts afresh. With --limit only
some of them: chat/minute for limit minute of endpoint chat, minute for a limit of the whole policy,
budgets for all budgets. The subject of a limit by: [tenant, path] is written tenant=a+path=b. IDs of
earlier requests are deleted, too, so a repeated request counts again.

A block, attempts and strikes stay; see ` + "`rlfunc unblock`" + `. Processes remember a refusal for up to
guard.Options.CacheTTL, a few seconds, so it can take that long until every process admits the subject.

` + changeHelp,
		Example: `  rlfunc reset key=ab12 --reason 'load test' --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc reset key=ab12 --limit chat/minute --reason 'double billing' --policy policy.yaml --redis redis://127.0.0.1:6379`,
		Args: oneSubject,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.command, c.question = "reset", "Delete the counts of %s for every limit and budget?"
			if len(only) > 0 {
				names := strings.Join(only, ",")
				c.command, c.question = "reset --limit "+names, "Delete the counts of %s for "+names+"?"
			}
			var rows []ratelimit.Limit
			var budgets []cost.Budget
			c.check = func(s *service.Service, subject string) (err error) {
				rows, budgets, err = s.LimitsOf(subject, only)
				return err
			}
			c.apply = func(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error) {
				return resetCounts(ctx, rdb, p.Namespace, fcall.Subject(subject), rows, budgets)
			}
			return a.change(cmd.Context(), args[0], &c)
		},
	}
	cmd.Flags().StringSliceVar(&only, "limit", nil, "only this limit: chat/minute for limit minute of endpoint chat, minute for a limit of every endpoint, or budgets for all budgets; may be repeated (default all)")
	return a.withChange(cmd, &c)
}

// resetCounts deletes the counts of limits and budgets.
func resetCounts(ctx context.Context, rdb fcall.Caller, namespace string, subject fcall.Subject, rows []ratelimit.Limit, budgets []cost.Budget) (string, error) {
	o := fcall.Options{Namespace: namespace}
	limits, err := ratelimit.New(rdb, o)
	if err != nil {
		return "", err
	}
	costs, err := cost.New(rdb, o)
	if err != nil {
		return "", err
	}
	existed := false
	for some := range slices.Chunk(rows, 16) {
		r, err := limits.Reset(ctx, ratelimit.ResetParams{Subject: subject, Limits: ratelimit.PackLimit(some...)})
		if err != nil {
			return "", err
		}
		existed = existed || r.Existed
	}
	for some := range slices.Chunk(budgets, 16) {
		r, err := costs.Reset(ctx, cost.ResetParams{Subject: subject, Budgets: cost.PackBudget(some...)})
		if err != nil {
			return "", err
		}
		existed = existed || r.Existed
	}
	if !existed {
		return "the subject had no counts", nil
	}
	return "reset", nil
}
