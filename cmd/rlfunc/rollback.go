package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/codegen/breaking"
	"github.com/rlfunc/rlfunc/codegen/runtime"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader"
)

type rollbackFlags struct {
	to, from string
	yes      bool
	apply    loader.ApplyOptions
}

func (a *app) rollbackCommand() *cobra.Command {
	var f rollbackFlags
	cmd := &cobra.Command{
		Use:   "rollback LIBRARY",
		Short: "Restore the previous release of a library",
		Long: `Restores the release that the current one replaced, on every node, from the source that deploys
recorded on the server. It shows the plan and asks first; without a terminal it needs --yes, and
otherwise exits with 1 and changes nothing.

If clients of the current release would break, rollback lists what breaks and goes on, because a
rollback cannot wait. Roll those clients back first if you can.

It follows the order of deploys, not of versions, so a second rollback goes further back and does not
restore the bad release. --to names a recorded release, lower or higher, even a retired one;
` + "`rlfunc status`" + ` lists them. If nothing was recorded, give a checkout of the older source with --from.`,
		Example: `  rlfunc rollback ratelimit --redis redis://127.0.0.1:6379
  rlfunc rollback ratelimit_v1 --to 1.0.0 --yes --redis redis://127.0.0.1:6379
  rlfunc rollback ratelimit --from ../checkout-of-1.0.0 --yes --redis redis://127.0.0.1:6379`,
		Args: oneArgument("LIBRARY", "ratelimit or ratelimit_v1"),
		RunE: a.onTarget(func(ctx context.Context, target *connection.Target, args []string) error {
			return a.rollback(ctx, target, args[0], f)
		}),
	}
	cmd.Flags().StringVar(&f.to, "to", "", "`VERSION` of a recorded release")
	cmd.Flags().StringVar(&f.from, "from", "", "`FOLDER` of a project with the older source")
	cmd.Flags().BoolVar(&f.yes, "yes", false, yesUsage)
	cmd.Flags().BoolVar(&f.apply.Partial, "partial", false, partialUsage)
	cmd.Flags().BoolVar(&f.apply.ReplaceDrifted, "replace-drifted", false, replaceDriftedUsage)
	return a.withTarget(withBy(cmd, &f.apply.By))
}

func (a *app) rollback(ctx context.Context, target *connection.Target, name string, f rollbackFlags) (err error) {
	if f.to != "" && f.from != "" {
		return usageErrorf("takes --to or --from, not both")
	}
	o := loader.RollbackOptions{To: f.to}
	if f.from != "" {
		if o.From, err = a.libraryFrom(f.from, name); err != nil {
			return err
		}
		name = o.From.ServerName
	} else if name, err = serverName(ctx, target, name); err != nil {
		return err
	}
	plan, err := target.PlanRollback(ctx, name, o)
	if err != nil {
		return err
	}
	if !plan.Changes() && plan.Err() == nil {
		a.note("%s is at %s on every node: nothing to do", name, plan.Libraries[0].Version)
		return a.print(plan, func() error { return nil })
	}
	change := &contractChange{Contract: []breaking.Finding{}}
	restored, err := breaking.OfBundle(plan.Loads()[0].Code)
	if err == nil {
		after := &breaking.Snapshot{Libraries: []breaking.Library{restored}}
		change, err = a.contractChange(ctx, target, plan, after, f.apply.ReplaceDrifted)
	}
	if err != nil {
		a.warnf("not compared: %v", err) // a rollback is the way out, also of a library that cannot be read
	}
	if err := a.printPlan(a.err, a.json && !f.yes, plan, change); err != nil {
		return err
	}
	if err := a.confirm(ctx, f.yes, fmt.Sprintf("Roll %s back to %s?", name, plan.Libraries[0].Version)); err != nil {
		return err
	}
	return a.printResult(target.Apply(ctx, plan, f.apply))
}

// libraryFrom returns a library of another checkout, by its plain name or its name on the server.
func (a *app) libraryFrom(dir, name string) (*fcall.Library, error) {
	p, err := project.Find(dir)
	if errors.Is(err, project.ErrNoProject) {
		return nil, fmt.Errorf("--from %s: no rlfunc.yaml in the folder or above it", dir)
	}
	if err != nil {
		return nil, err
	}
	tree, err := p.Read()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, lib := range tree.Libraries {
		found := runtime.Library(lib)
		if found.Name == name || found.ServerName == name {
			return found, nil
		}
		names = append(names, found.ServerName)
	}
	return nil, fmt.Errorf("%s has no library %s (libraries: %s)", dir, name, strings.Join(names, ", "))
}
