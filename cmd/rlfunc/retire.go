package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/output"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
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

It refuses, with exit code 2, if a service that uses the library has announced itself in the last 15
minutes, in any database. It cannot see services that do not announce themselves.

A tombstone takes the library's place, so that old clients do not load it again. To bring it back, use
` + "`rlfunc deploy`" + ` or ` + "`rlfunc rollback LIBRARY_vN --to VERSION`" + `: the source is recorded before it is
removed. A server that loses its functions loses the tombstone, too; then retire again. Libraries that
rlfunc did not make are never removed. Keys stay until they expire.`,
		Example: `  rlfunc retire ratelimit_v1 --redis redis://127.0.0.1:6379
  rlfunc retire ratelimit_v1 --force --yes --redis redis://127.0.0.1:6379`,
		Args:              usage.One("LIBRARY_vN", "ratelimit_v1"),
		ValidArgsFunction: first(a.ofTarget(a.serverLibraries)),
		RunE: a.onTarget(func(ctx context.Context, target *connection.Target, args []string) error {
			return a.retire(ctx, target, args[0], o, yes)
		}),
	}
	cmd.Flags().BoolVar(&o.Force, "force", false, "remove the library despite its clients, whose calls then fail")
	cmd.Flags().BoolVar(&yes, "yes", false, yesUsage)
	return a.withTarget(a.withChannel(a.withLock(cmd, &o.Lock)))
}

func (a *app) retire(ctx context.Context, target *connection.Target, name string, o loader.ApplyOptions, yes bool) error {
	if !serverLibrary.MatchString(name) {
		return usage.Errorf("LIBRARY_vN must be a name on the server, such as %s_v1, got %s (see `rlfunc status`)", name, name)
	}
	name = a.inChannel(name)
	plan, err := target.PlanRetire(ctx, name)
	if err != nil {
		return err
	}
	if err := plan.Err(); err != nil {
		return err
	}
	if !plan.Changes() {
		a.note("%s is on no node, or retired: nothing to do", name)
		return a.print(plan, func() error { return nil })
	}
	if !yes && a.json {
		if err := a.printJSON(plan); err != nil {
			return err
		}
	} else {
		var rows [][]string
		for _, node := range plan.Nodes {
			step := node.Steps[0]
			rows = append(rows, []string{node.Addr, string(node.Role), name, string(step.Action), step.From})
		}
		if err := output.Table(a.err, []string{"node", "role", "library", "action", "version"}, rows, paintStates(a.color.StyleOf(a.err), 3)); err != nil {
			return err
		}
		for _, node := range plan.Nodes {
			a.warn(node.Addr, node.Warnings)
		}
	}
	a.warn("", plan.Warnings)
	if refusal := plan.InUse(); refusal != nil && !o.Force {
		return a.refused(refusal)
	}
	if n := len(plan.Clients); n > 0 {
		a.warnf("the calls of %s that announced themselves in the last 15 minutes will fail", count(n, "client"))
	}
	if err := a.confirm(ctx, yes, fmt.Sprintf("Remove %s from every node?", name)); err != nil {
		return err
	}
	result, err := target.Apply(ctx, plan, o)
	if errors.Is(err, loader.ErrInUse) { // a client announced itself after the plan
		return a.refused(err)
	}
	return a.printResult(result, err)
}

// refused prints why a command refuses, and returns the exit code of findings.
func (a *app) refused(err error) error {
	fmt.Fprintf(a.err, "rlfunc: %v\n", err)
	return exitcode.Findings
}
