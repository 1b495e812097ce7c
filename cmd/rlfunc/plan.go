package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/output"
	"github.com/rlfunc/rlfunc/codegen/breaking"
	"github.com/rlfunc/rlfunc/loader"
)

func (a *app) planCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "plan [LIBRARY ...]",
		Short: "Show what a deploy would do, and change nothing",
		Long: `Shows what a deploy would do on every node, and changes nothing:
  load       the node lacks the library
  upgrade    the node has a lower version
  same       the node has the same bytes
  newer      the node has a higher version, which a deploy keeps
  drifted    the node has the same version with other bytes
  conflict   another library has a function of the same name
  too_old    the node, or a replica of it, is older than the library's @requires
  follow     the node is a replica, and gets the library from its primary

As ` + "`rlfunc breaking`" + ` does, it compares the source with what it would replace. "Breaking changes" lists
what would break running clients or their state, so a deploy refuses it. "Contract changes" lists what
needs work when you next generate clients.

The exit code is 0 if there is nothing to do, 2 if there is, 3 if something would break, and 1 if a
node cannot be deployed to. --out saves the plan; ` + "`rlfunc deploy --plan`" + ` then rejects it if the
servers have changed in between.`,
		Example:           "  rlfunc plan --redis redis://127.0.0.1:6379\n  rlfunc plan --redis redis+cluster://10.0.0.1,10.0.0.2 --out plan.json",
		ValidArgsFunction: a.libraryNames,
		RunE: a.onTarget(func(ctx context.Context, target *connection.Target, args []string) error {
			return a.plan(ctx, target, args, file)
		}),
	}
	cmd.Flags().StringVar(&file, "out", "", "`FILE` for the plan")
	return a.withTarget(a.withChannel(cmd))
}

func (a *app) plan(ctx context.Context, target *connection.Target, names []string, file string) error {
	libs, tree, err := a.deployable(ctx, names)
	if err != nil {
		return err
	}
	plan, err := target.Plan(ctx, libs...)
	if err != nil {
		return err
	}
	change, err := a.contractChange(ctx, target, plan, breaking.Of(tree), false)
	if err != nil {
		return err
	}
	if file != "" {
		if err := savePlan(file, plan); err != nil {
			return fmt.Errorf("save the plan: %w", err)
		}
		a.note("saved the plan in %s", file)
	}
	if err := a.printPlan(plan, change, target.Name); err != nil {
		return err
	}
	if change.breaks() {
		return exitcode.Breaking
	}
	return reporting(plan.Changes() || plan.Blocked(), nodeProblems(plan.Nodes, loader.NodeSteps.Blocking))
}

// savePlan writes the file in full or not at all.
func savePlan(file string, plan *loader.Plan) error {
	text, err := output.Marshal(plan)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".rlfunc-plan-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(text)
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}

func (a *app) printPlan(plan *loader.Plan, change *contractChange, name string) error {
	if a.json {
		return a.printJSON(struct {
			*loader.Plan
			*contractChange
		}{plan, change})
	}
	if err := a.planTable(a.out, plan); err != nil {
		return err
	}
	a.warnPlan(plan)
	if err := a.printChange(a.out, change); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.out, "\nPlan for %s: %s.\n", name, plan.Summary())
	return err
}

// planTable prints a plan's steps.
func (a *app) planTable(w io.Writer, plan *loader.Plan) error {
	var rows [][]string
	for _, node := range plan.Nodes {
		for _, step := range node.Steps {
			rows = append(rows, []string{node.Addr, string(node.Role), node.Server.String(), step.Library, step.String(), step.Reason})
		}
	}
	return output.Table(w, []string{"node", "role", "server", "library", "action", ""}, rows, paintStates(a.color.StyleOf(w), 4))
}

func (a *app) warnPlan(plan *loader.Plan) {
	a.warn("", plan.Warnings)
	for _, node := range plan.Nodes {
		a.warn(node.Addr, node.Warnings)
		if node.Problem != nil && node.Blocking() == nil {
			a.warnf("%v", node.Problem)
		}
	}
}
