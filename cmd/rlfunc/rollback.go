package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
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
		Short: "Put the release before the present one back on the server",
		Long: `Puts the release back that the present one took the place of, on every node, from the source that deploys record on
the server. It shows what it will do and asks; where nobody can be asked it needs --yes, and without it prints the plan,
changes nothing, and exits 2.

It goes by the order of deploys, not of versions, and never back up by itself: a second rollback does not bring the bad
release back. --to names a recorded release, lower or higher, also one that was retired; ` + "`rlfunc status`" + ` lists them. Where
nothing is recorded, --from takes the older source from a checkout.`,
		Example: `  rlfunc rollback ratelimit --redis redis://127.0.0.1:6379
  rlfunc rollback ratelimit_v1 --to 1.0.0 --yes --redis redis://127.0.0.1:6379
  rlfunc rollback ratelimit --from ../checkout-of-1.0.0 --yes --redis redis://127.0.0.1:6379`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.to != "" && f.from != "" {
				return errors.New("give --to or --from, not both")
			}
			return a.rollback(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.to, "to", "", "go to this recorded release")
	cmd.Flags().StringVar(&f.from, "from", "", "take the older source from the project in this folder")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&f.apply.Partial, "partial", false, "roll back where it can be done, although a node can not be reached or written")
	cmd.Flags().BoolVar(&f.apply.ReplaceDrifted, "replace-drifted", false, "replace a library of the same version with other bytes")
	return a.withTarget(a.withChannel(a.withLock(cmd, &f.apply.Lock)))
}

func (a *app) rollback(ctx context.Context, word string, f rollbackFlags) error {
	target, err := a.openTarget()
	if err != nil {
		return err
	}
	defer target.close()
	o := loader.RollbackOptions{To: f.to}
	name := ""
	if f.from != "" {
		if o.From, err = a.older(f.from, word); err != nil {
			return err
		}
		name = o.From.ServerName
	} else if name, err = a.serverName(ctx, target.Target, word); err != nil {
		return err
	}
	plan, err := target.PlanRollback(ctx, name, o)
	if err != nil {
		return err
	}
	if len(plan.Changes())+len(plan.Blocked()) == 0 {
		a.talk("%s is at %s on every node: nothing to do", name, plan.Libraries[0].Version)
		if a.json {
			return a.printJSON(plan)
		}
		return nil
	}
	if !f.yes && a.json {
		if err := a.printJSON(plan); err != nil {
			return err
		}
	} else if err := a.showRollback(ctx, target.Target, plan, name); err != nil {
		return err
	}
	if !f.yes && !a.sure(fmt.Sprintf("Roll %s back to %s?", name, plan.Libraries[0].Version)) {
		return exitCode(exitDifferences)
	}
	result, err := target.Apply(ctx, plan, f.apply)
	if result != nil {
		if printed := a.printResult(result); printed != nil {
			return printed
		}
	}
	return err
}

// showRollback says what a rollback will do, and what is known about the releases at both of its ends.
func (a *app) showRollback(ctx context.Context, target *loader.Target, plan *loader.Plan, name string) error {
	releases, err := target.Releases(ctx)
	if err != nil {
		return err
	}
	to := plan.Libraries[0]
	from := map[string]bool{}
	var rows [][]string
	for _, node := range plan.Nodes {
		for _, step := range node.Steps {
			from[step.FromDigest] = step.Action.Changes()
			rows = append(rows, []string{node.Addr, string(node.Role), step.Library, step.String(), step.Reason})
		}
	}
	printTable(a.err, []string{"node", "role", "library", "action", ""}, rows)
	a.warnPlan(plan)
	for _, r := range releases {
		if r.Library != name || r.Digest != to.Digest && !from[r.Digest] {
			continue
		}
		what := "was found there by a deploy"
		if !r.Deployed.IsZero() {
			what = fmt.Sprintf("was deployed on %s by %s", stamp(r.Deployed), r.By)
		}
		a.talk("%s %s %s", name, r.Version, what)
	}
	return nil
}

// older is a library of another checkout, by its plain name or that on the server.
func (a *app) older(dir, word string) (*fcall.Library, error) {
	p, err := project.Find(dir)
	if errors.Is(err, project.ErrNoProject) {
		return nil, fmt.Errorf("--from %s: no rlfunc.yaml there or above", dir)
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
		held := runtime.Library(lib)
		if held.Name == word || held.ServerName == word || a.named(held.ServerName) == word {
			return held.Channel(a.channel)
		}
		names = append(names, held.ServerName)
	}
	return nil, fmt.Errorf("%s has no library %s; it has %s", dir, word, strings.Join(names, ", "))
}
