package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/loader"
)

func (a *app) retireCommand() *cobra.Command {
	var o loader.ApplyOptions
	var yes bool
	cmd := &cobra.Command{
		Use:   "retire LIBRARY_vN",
		Short: "Remove a major version of a library from every node",
		Long: `Removes a major version that nobody uses any more from every node. It shows the plan and asks first;
without a terminal it needs --yes, and otherwise exits with 1 and changes nothing.

It refuses, with exit code 2, if a connected client says that it uses the library (fcall.Identity; from
Redis 7.2 on). It cannot see clients that do not say so, or that are not connected now.

A service of that version that starts loads the library again. To bring it back yourself, use
` + "`rlfunc rollback LIBRARY_vN --to VERSION`" + `: the source is recorded before it is removed. Libraries that
rlfunc did not make are never removed. Keys stay until they expire.`,
		Example: `  rlfunc retire ratelimit_v1 --redis redis://127.0.0.1:6379
  rlfunc retire ratelimit_v1 --force --yes --redis redis://127.0.0.1:6379`,
		Args: oneArgument("LIBRARY_vN", "ratelimit_v1"),
		RunE: a.onTarget(func(ctx context.Context, target *connection.Target, args []string) error {
			return a.retire(ctx, target, args[0], o, yes)
		}),
	}
	cmd.Flags().BoolVar(&o.Force, "force", false, "remove the library despite its clients, whose calls then fail")
	cmd.Flags().BoolVar(&yes, "yes", false, yesUsage)
	return a.withTarget(withBy(cmd, &o.By))
}

func (a *app) retire(ctx context.Context, target *connection.Target, name string, o loader.ApplyOptions, yes bool) error {
	if !serverLibrary.MatchString(name) {
		return usageErrorf("LIBRARY_vN must be a name on the server, such as %s_v1, got %s (see `rlfunc status`)", name, name)
	}
	plan, err := target.PlanRetire(ctx, name)
	if err != nil {
		return err
	}
	if err := plan.Err(); err != nil {
		return err
	}
	if !plan.Changes() {
		a.note("%s is on no node: nothing to do", name)
		return a.print(plan, func() error { return nil })
	}
	if err := a.printPlan(a.err, a.json && !yes, plan, &contractChange{}); err != nil {
		return err
	}
	if refusal := plan.InUse(); refusal != nil && !o.Force {
		return a.refused(refusal)
	}
	if n := len(plan.Clients); n > 0 {
		a.warnf("the calls of %s that say that they use it will fail", count(n, "connected client"))
	}
	if err := a.confirm(ctx, yes, fmt.Sprintf("Remove %s from every node?", name)); err != nil {
		return err
	}
	result, err := target.Apply(ctx, plan, o)
	if errors.Is(err, loader.ErrInUse) { // a client has connected since the plan
		return a.refused(err)
	}
	return a.printResult(result, err)
}

// refused prints why a command refuses, and returns the exit code of findings.
func (a *app) refused(err error) error {
	fmt.Fprintf(a.err, "rlfunc: %v\n", err)
	return exitFindings
}
