package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/codegen/runtime"
	"github.com/rlfunc/rlfunc/codegen/source"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader"
)

// libraries are those that the words name, or all of the tree, in the channel that --channel names.
func (a *app) libraries(tree *source.Tree, names []string) ([]*fcall.Library, error) {
	for _, name := range names {
		if _, err := a.library(tree, name); err != nil {
			return nil, err
		}
	}
	var out []*fcall.Library
	for _, lib := range tree.Libraries {
		if len(names) == 0 || slices.Contains(names, lib.Spec.Name) {
			out = append(out, runtime.Library(lib))
		}
	}
	return a.inChannel(out)
}

func (a *app) planCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "plan [LIBRARY ...]",
		Short: "Say what a deploy would do, and change nothing",
		Long: `Compares the libraries with what every node holds, and says for each what a deploy would do: load, upgrade, same, newer
there (left alone), drifted (same version, other bytes), conflict (a function name is held by another library). A replica
follows: it gets the libraries from its primary. Exit code 0 when there is nothing to do, 2 when there is, 1 when a node
can not be deployed to. Warnings are what does not stand in the way and should be known.

With --out the plan is saved; deploy --plan refuses it when the nodes or what they hold have changed since.`,
		Example: "  rlfunc plan --redis redis://127.0.0.1:6379\n  rlfunc plan --redis redis+cluster://10.0.0.1,10.0.0.2 --out plan.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.plan(cmd.Context(), args, file)
		},
	}
	cmd.Flags().StringVar(&file, "out", "", "save the plan in this file")
	return a.withTarget(a.withChannel(cmd))
}

func (a *app) plan(ctx context.Context, names []string, file string) error {
	libs, err := a.deployable(names)
	if err != nil {
		return err
	}
	target, err := a.openTarget()
	if err != nil {
		return err
	}
	defer target.close()
	plan, err := target.Plan(ctx, libs...)
	if err != nil {
		return err
	}
	if file != "" {
		if err := savePlan(file, plan); err != nil {
			return err
		}
		a.talk("saved the plan in %s", file)
	}
	if err := a.printPlan(plan, target.name); err != nil {
		return err
	}
	var problems []error
	for _, node := range plan.Nodes {
		if node.Problem != nil {
			problems = append(problems, node.Problem)
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	if len(plan.Changes())+len(plan.Blocked()) > 0 {
		return exitCode(exitDifferences)
	}
	return nil
}

// savePlan writes the file in full or not at all.
func savePlan(file string, plan *loader.Plan) error {
	text, err := marshal(plan)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".rlfunc-plan-*")
	if err != nil {
		return fmt.Errorf("save the plan: %w", err)
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(text)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("save the plan: %w", err)
	}
	return nil
}

func (a *app) printPlan(plan *loader.Plan, name string) error {
	if a.json {
		return a.printJSON(plan)
	}
	var rows [][]string
	for _, node := range plan.Nodes {
		for _, step := range node.Steps {
			rows = append(rows, []string{node.Addr, string(node.Role), node.Server.String(), step.Library, step.String(), step.Reason})
		}
	}
	printTable(a.out, []string{"node", "role", "server", "library", "action", ""}, rows)
	a.warnPlan(plan)
	a.talk("%s: %s", name, plan.Summary())
	return nil
}

func (a *app) warnPlan(plan *loader.Plan) {
	a.warn("", plan.Warnings)
	for _, node := range plan.Nodes {
		a.warn(node.Addr, node.Warnings)
	}
}

// warn prints each warning once in a command: a plan and its result carry the same ones.
func (a *app) warn(node string, warnings []loader.Warning) {
	for _, w := range warnings {
		text := w.Text
		if node != "" {
			text = node + ": " + text
		}
		if slices.Contains(a.warned, text) {
			continue
		}
		a.warned = append(a.warned, text)
		a.talk("warning: %s", text)
	}
}

func (a *app) deployCommand() *cobra.Command {
	var file string
	var o loader.ApplyOptions
	cmd := &cobra.Command{
		Use:   "deploy [LIBRARY ...]",
		Short: "Put the libraries on every primary and prove that they are there",
		Long: `Loads what is absent, upgrades what is older, leaves alone what is newer, and reads every library back byte for byte, on
all primaries at once; then it waits for the replicas and reads them too. It never goes down a version, and never touches
a library that is not its own. If one node fails, the others still finish: the table says what each holds, and running it
again finishes. SIGINT stops it between two loads, with exit code 130; a second one ends it at once.

Two deploys at once are kept apart by a lock on the target and one on every primary, which expire 30 seconds after the death
of their owner. What was there and what comes is recorded on the server with its source, for rollback, and
` + "`rlfunc history`" + ` says who did what.`,
		Example: "  rlfunc deploy --redis redis://127.0.0.1:6379\n  rlfunc deploy --redis redis+sentinel://main@10.0.0.1,10.0.0.2 --plan plan.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if file != "" && len(args) > 0 {
				return errors.New("a saved plan names its libraries: give --plan or library names, not both")
			}
			return a.deploy(cmd.Context(), args, file, o)
		},
	}
	cmd.Flags().StringVar(&file, "plan", "", "do what this saved plan says, and nothing if the server has changed since")
	cmd.Flags().BoolVar(&o.Partial, "partial", false, "load what can be loaded, although a node or a library can not be")
	cmd.Flags().BoolVar(&o.ReplaceDrifted, "replace-drifted", false, "replace a library of the same version with other bytes")
	cmd.Flags().BoolVar(&o.Stateless, "stateless", false, "take no lock and record nothing: for a user who may run FUNCTION only")
	return a.withTarget(a.withChannel(a.withLock(cmd, &o.Lock)))
}

func (a *app) deploy(ctx context.Context, names []string, file string, o loader.ApplyOptions) error {
	libs, err := a.deployable(names)
	if err != nil {
		return err
	}
	target, err := a.openTarget()
	if err != nil {
		return err
	}
	defer target.close()
	var plan *loader.Plan
	if file != "" {
		text, err := os.ReadFile(file)
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
	a.talk("%s: %s", target.name, plan.Summary())
	if len(plan.Nodes) > 1 {
		o.OnNode = func(n loader.NodeResult) { a.talk("%s: %s", n.Addr, n.Summary()) }
	}
	result, err := target.Apply(ctx, plan, o)
	if result != nil {
		if printed := a.printResult(result); printed != nil {
			return printed
		}
	}
	return err
}

func (a *app) printResult(result *loader.Result) error {
	if a.json {
		a.warn("", result.Warnings)
		return a.printJSON(result)
	}
	var rows [][]string
	for _, node := range result.Nodes {
		for _, step := range node.Steps {
			rows = append(rows, []string{node.Addr, string(node.Role), step.Library, string(step.Outcome), step.From, step.Found})
		}
	}
	printTable(a.out, []string{"node", "role", "library", "outcome", "was", "is"}, rows)
	a.warn("", result.Warnings)
	for _, node := range result.Nodes {
		a.warn(node.Addr, node.Warnings)
	}
	return nil
}
