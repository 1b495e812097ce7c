package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/loader"
)

func (a *app) retireCommand() *cobra.Command {
	var o loader.RetireOptions
	var yes bool
	cmd := &cobra.Command{
		Use:   "retire LIBRARY_vN",
		Short: "Remove a major version of a library from the server",
		Long: `Removes a library from every node when nobody uses it any more: the old major, some time after the new one is out. It
refuses, with exit code 2, while services that announce themselves (loader.Announce) were seen within 15 minutes, in any
database; services that do not are not seen. It shows what it will do and asks; without a terminal it needs --yes,
and without it prints the plan, changes nothing, and exits 2.

A tombstone takes the library's place, so that old clients cannot load it again. ` + "`rlfunc deploy`" + ` and
` + "`rlfunc rollback LIBRARY_vN --to VERSION`" + ` replace the tombstone: the source is recorded first, and older releases are
forgotten. A server that loses its functions loses the tombstone too; then retire again. A library that rlfunc did not make
is never removed. Keys stay until they expire.`,
		Example: `  rlfunc retire ratelimit_v1 --redis redis://127.0.0.1:6379
  rlfunc retire ratelimit_v1 --force --yes --redis redis://127.0.0.1:6379`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.retire(cmd.Context(), args[0], o, yes)
		},
	}
	cmd.Flags().BoolVar(&o.Force, "force", false, "remove it although clients were seen: their calls fail from then on")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return a.withTarget(a.withChannel(a.withLock(cmd, &o.Lock)))
}

func (a *app) retire(ctx context.Context, name string, o loader.RetireOptions, yes bool) error {
	if !onServer.MatchString(name) {
		return fmt.Errorf("a major version is retired, by its name on the server: %s_v1? (see `rlfunc status`)", name)
	}
	name = a.named(name)
	target, err := a.openTarget()
	if err != nil {
		return err
	}
	defer target.close()
	plan, err := target.PlanRetire(ctx, name)
	if err != nil {
		return err
	}
	if err := plan.Err(); err != nil {
		return err
	}
	if !plan.Changes() {
		a.talk("%s is on no node, or retired: nothing to do", name)
		if a.json {
			return a.printJSON(plan)
		}
		return nil
	}
	if !yes && a.json {
		if err := a.printJSON(plan); err != nil {
			return err
		}
	} else {
		var rows [][]string
		for _, node := range plan.Nodes {
			rows = append(rows, []string{node.Addr, string(node.Role), name, string(node.Action), node.Version})
		}
		printTable(a.err, []string{"node", "role", "library", "action", "version"}, rows)
		for _, node := range plan.Nodes {
			a.warn(node.Addr, node.Warnings)
		}
	}
	a.warn("", plan.Warnings)
	if refusal := plan.InUse(); refusal != nil && !o.Force {
		a.talk("rlfunc: %v", refusal)
		return exitCode(exitDifferences)
	}
	if n := len(plan.Clients); n > 0 {
		a.talk("warning: the calls of %d clients that were seen in the last 15 minutes will fail", n)
	}
	if !yes && !a.sure(fmt.Sprintf("Remove %s from every node?", name)) {
		return exitCode(exitDifferences)
	}
	result, err := target.Retire(ctx, plan, o)
	if errors.Is(err, loader.ErrInUse) { // a client has come since
		a.talk("rlfunc: %v", err)
		return exitCode(exitDifferences)
	}
	if result != nil {
		if printed := a.printResult(result); printed != nil {
			return printed
		}
	}
	return err
}
