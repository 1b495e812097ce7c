package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/inspect"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func (a *app) resetCommand() *cobra.Command {
	var act act
	var only []string
	cmd := &cobra.Command{
		Use:   "reset SUBJECT [--limit NAME] --reason TEXT",
		Short: "Forget what a subject has taken of its limits and budgets",
		Long: `Forgets what a subject has taken of every limit of the policy that counts it and spent of its budgets, or of the limits that --limit
names: minute for one of every endpoint, chat/minute for one of endpoint chat, cost for the budgets. A limit by: [tenant, path] counts
tenant=a+path=b. IDs of requests that were seen are forgotten as well. A block, attempts and strikes stay: see ` + "`rlfunc unblock`" + `. Guards remember a refusal for a few seconds
(guard.Options.DenyFor), so it takes effect everywhere after that.

` + recorded,
		Example: `  rlfunc reset key=ab12 --reason 'load test' --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc reset key=ab12 --limit chat/minute --reason 'double billing' --policy policy.yaml --redis redis://127.0.0.1:6379`,
		Args: oneSubject,
		RunE: func(cmd *cobra.Command, args []string) error {
			act.command, act.question = "reset", "Forget what %s has taken of every limit and budget?"
			if len(only) > 0 {
				names := strings.Join(only, ",")
				act.command, act.question = "reset --limit "+names, "Forget what %s has taken of "+names+"?"
			}
			var rows []ratelimit.Limit
			var budgets bool
			act.prepare = func(p *policy.Policy, subject string) (err error) {
				rows, budgets, err = forgettable(p, subject, only)
				return err
			}
			act.do = func(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error) {
				return forget(ctx, rdb, p.Namespace, fcall.Subject(subject), rows, budgets)
			}
			return a.perform(cmd.Context(), args[0], &act)
		},
	}
	cmd.Flags().StringSliceVar(&only, "limit", nil, "only this one: minute, chat/minute, or cost (may be repeated)")
	return a.withAct(cmd, &act)
}

// forgettable are the limits that count a subject, those of the names or all; and whether the budgets are among them.
func forgettable(p *policy.Policy, subject string, names []string) (rows []ratelimit.Limit, budgets bool, err error) {
	if len(p.Endpoints) == 0 && len(p.Limits) == 0 && p.Cost == nil {
		return nil, false, errors.New("the policy has no limits: give --policy FILE with those of the service")
	}
	var known []string
	wanted := func(name string, by policy.By) bool {
		if !by.Global() {
			known = append(known, name)
		}
		named := slices.Contains(names, name)
		if named && !inspect.Counts(p, by, subject) {
			err = errors.Join(err, fmt.Errorf("limit %s does not count %s: it is by %s", name, subject, strings.Join(by, " and ")))
		}
		return (named || len(names) == 0) && inspect.Counts(p, by, subject)
	}
	add := func(limits []policy.Limit, endpoint string) {
		for _, l := range limits {
			if name := policy.WireName(endpoint, l.Name); wanted(name, l.By) {
				rows = append(rows, ratelimit.Limit{Name: name, Kind: ratelimit.LimitKind(l.Kind), Limit: l.Limit, Window: l.Window})
			}
		}
	}
	add(p.Limits, "")
	for _, e := range p.Endpoints {
		add(e.Limits, e.Name)
	}
	if p.Cost != nil {
		budgets = wanted("cost", p.Cost.By)
	}
	for _, name := range names {
		if err == nil && !slices.Contains(known, name) {
			err = fmt.Errorf("the policy has no limit %q (limits: %s)", name, strings.Join(known, ", "))
		}
	}
	if err == nil && len(rows) == 0 && !budgets {
		err = fmt.Errorf("no limit and no budget of the policy counts %s", subject)
	}
	return rows, budgets, err
}

func forget(ctx context.Context, rdb fcall.Caller, namespace string, subject fcall.Subject, rows []ratelimit.Limit, budgets bool) (string, error) {
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
		pack, err := ratelimit.PackLimit(some...)
		if err != nil {
			return "", err
		}
		r, err := limits.CheckReset(ctx, ratelimit.CheckResetParams{Bucket: subject, Limits: pack})
		if err != nil {
			return "", err
		}
		existed = existed || r.Existed
	}
	if budgets {
		r, err := costs.Reset(ctx, cost.ResetParams{Bucket: subject})
		if err != nil {
			return "", err
		}
		existed = existed || r.Existed
	}
	if !existed {
		return "there was nothing to forget", nil
	}
	return "reset", nil
}
