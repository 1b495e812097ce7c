package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/codegen/breaking"
	"github.com/rlfunc/rlfunc/loader"
)

type deployFlags struct {
	file          string
	yes           bool
	allowBreaking bool
	apply         loader.ApplyOptions
}

func (a *app) deployCommand() *cobra.Command {
	var f deployFlags
	cmd := &cobra.Command{
		Use:   "deploy [LIBRARY ...]",
		Short: "Load the libraries on every primary, and verify them",
		Long: `Loads the libraries on all primaries at once: missing ones are loaded, older ones upgraded, newer ones
kept. Then it reads every library back byte for byte, waits for the replicas and reads those, too. If
a replica does not confirm, the exit code is 2; --no-replicas ignores them.

Nothing is loaded if the change would break running clients or the state that they stored: deploy
lists the findings, and the connected clients that say that they use the library, and exits with 3.
Either release a new major version, which runs beside the old one, or deploy anyway with
--allow-breaking. It also stops if gen/ was not generated from the current source.

deploy never loads a lower version (use ` + "`rlfunc rollback`" + `) and never replaces a library that rlfunc
did not make. To replace a library of the same version with other bytes, use --replace-drifted, which
asks first; without a terminal it needs --yes.

If a node fails, the others still finish, and the table shows what each node holds; run deploy again
to finish. Ctrl-C stops between two nodes with exit code 130, and a second one ends at once.

Of two deploys at once, the one that planned on what the other has changed since is told so and loads
nothing. For rollbacks, the source before and after is recorded on the server; see ` + "`rlfunc history`" + `.`,
		Example: `  rlfunc deploy --redis redis://127.0.0.1:6379
  rlfunc deploy --target production --by "$CI_JOB_URL"
  rlfunc deploy --redis redis+sentinel://main@10.0.0.1,10.0.0.2 --plan plan.json`,
		ValidArgsFunction: a.libraryNames,
		RunE: a.onTarget(func(ctx context.Context, target *connection.Target, args []string) error {
			return a.deploy(ctx, target, args, f)
		}),
	}
	cmd.Flags().StringVar(&f.file, "plan", "", "`FILE` with a saved plan; rejected if the server has changed since")
	cmd.Flags().BoolVar(&f.apply.Partial, "partial", false, partialUsage)
	cmd.Flags().BoolVar(&f.apply.ReplaceDrifted, "replace-drifted", false, replaceDriftedUsage)
	cmd.Flags().BoolVar(&f.allowBreaking, "allow-breaking", false, "deploy changes that break running clients or stored state")
	cmd.Flags().BoolVar(&f.yes, "yes", false, yesUsage)
	return a.withTarget(withBy(cmd, &f.apply.By))
}

func (a *app) deploy(ctx context.Context, target *connection.Target, names []string, f deployFlags) error {
	if f.file != "" && len(names) > 0 {
		return usageErrorf("takes --plan or library names, not both: a saved plan names its libraries")
	}
	libs, tree, err := a.deployable(ctx, names)
	if err != nil {
		return err
	}
	var plan *loader.Plan
	if f.file != "" {
		text, err := os.ReadFile(f.file)
		if err != nil {
			return fmt.Errorf("read the plan: %w", err)
		}
		if plan, err = loader.ReadPlan(text, libs...); err != nil {
			return err
		}
	} else if plan, err = target.Plan(ctx, libs...); err != nil {
		return err
	}
	a.warnPlan(plan)
	a.note("plan for %s: %s", target.Name, plan.Summary())
	change, err := a.contractChange(ctx, target, plan, breaking.Of(tree), f.apply.ReplaceDrifted)
	switch {
	case err != nil && f.allowBreaking:
		a.warnf("not compared: %v", err)
	case err != nil:
		return err
	case change.breaks() && !f.allowBreaking:
		return a.refuseBreaking(change)
	case change.breaks():
		if err := a.printChange(a.err, change); err != nil {
			return err
		}
	}
	if drifted := plan.Count(func(s loader.Step) bool { return s.State == loader.Drifted && s.Blocks() }); drifted > 0 && f.apply.ReplaceDrifted {
		question := fmt.Sprintf("Replace %s of the same version with other bytes?", count(drifted, "drifted library"))
		if err := a.confirm(ctx, f.yes, question); err != nil {
			return err
		}
	}
	if len(plan.Nodes) > 1 {
		f.apply.OnNode = func(n loader.NodeSteps) { a.note("%s: %s", n.Addr, n.Words()) }
	}
	return a.printResult(target.Apply(ctx, plan, f.apply))
}

// printResult prints what an operation did, also when it failed with err. It returns err, or the exit code of findings if all that is wrong is
// that replicas have not confirmed it.
func (a *app) printResult(result *loader.Result, err error) error {
	if result == nil {
		return err
	}
	printed := a.print(result, func() error {
		var rows [][]string
		for _, node := range result.Nodes {
			for _, step := range node.Steps {
				rows = append(rows, []string{node.Addr, string(node.Role), step.Library, step.Word(), step.From, step.Found})
			}
		}
		return a.states(3, []string{"node", "role", "library", "outcome", "was", "is"}, rows)
	})
	a.warn("", result.Warnings)
	switch {
	case printed != nil:
		return printed
	case result.Unconfirmed():
		return a.refused(err)
	}
	return err
}

// count returns a number of things: "1 node", "2 nodes", "2 libraries".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	if strings.HasSuffix(thing, "s") {
		return fmt.Sprintf("%d %ses", n, thing)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
