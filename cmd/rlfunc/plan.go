package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/codegen/breaking"
	"github.com/rlfunc/rlfunc/internal/terminal"
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
  foreign    another library has the name
  conflict   another library has a function of the same name
  follow     the node is a replica, and gets the library from its primary

As ` + "`rlfunc breaking`" + ` does, it compares the source with what it would replace. "Breaking changes" lists
what would break running clients or their state, so a deploy refuses it, and which connected clients
say that they use it. "Contract changes" lists what needs work when you next generate clients.

The exit code is 0 if every node, replicas too, holds every library byte for byte, 2 if not, 3 if a
deploy would break something, and 1 if a node cannot be deployed to. --out saves the plan;
` + "`rlfunc deploy --plan`" + ` then rejects it if the servers have changed in between.`,
		Example:           "  rlfunc plan --redis redis://127.0.0.1:6379\n  rlfunc plan --redis redis+cluster://10.0.0.1,10.0.0.2 --out plan.json",
		ValidArgsFunction: a.libraryNames,
		RunE: a.onTarget(func(ctx context.Context, target *connection.Target, args []string) error {
			return a.plan(ctx, target, args, file)
		}),
	}
	cmd.Flags().StringVar(&file, "out", "", "`FILE` for the plan")
	return a.withTarget(cmd)
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
		text, err := marshalJSON(plan)
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("save the plan: %w", err)
		}
		a.note("saved the plan in %s", file)
	}
	if err := a.printPlan(a.out, a.json, plan, change); err != nil {
		return err
	}
	if !a.json {
		fmt.Fprintf(a.out, "\nPlan for %s: %s.\n", target.Name, plan.Summary())
	}
	if change.breaks() {
		return exitBreaking
	}
	return reporting(!plan.Same(), nodeProblems(plan.Nodes, loader.NodeSteps.Blocking))
}

// printPlan prints a plan with what it changes for clients, as text or as data in JSON.
func (a *app) printPlan(w io.Writer, asJSON bool, plan *loader.Plan, change *contractChange) error {
	if asJSON {
		return a.printJSON(struct {
			*loader.Plan
			*contractChange
		}{plan, change})
	}
	if err := a.planTable(w, plan); err != nil {
		return err
	}
	a.warnPlan(plan)
	return a.printChange(w, change)
}

// planTable prints a plan's steps. A node that cannot be used is one row.
func (a *app) planTable(w io.Writer, plan *loader.Plan) error {
	var rows [][]string
	for _, node := range plan.Nodes {
		steps := node.Steps
		row := func(library string, step loader.Step) []string {
			why := ""
			if step.Problem != nil {
				why = step.Problem.Text
			}
			return []string{node.Addr, string(node.Role), node.Server.String(), library, step.String(), why}
		}
		usable := func(s loader.Step) bool { return s.State != loader.Unusable }
		if len(steps) > 1 && !slices.ContainsFunc(steps, usable) {
			all := steps[0]
			all.To = ""
			rows = append(rows, row(fmt.Sprintf("all %d", len(steps)), all))
			continue
		}
		for _, step := range steps {
			rows = append(rows, row(step.Library, step))
		}
	}
	return printTable(w, []string{"node", "role", "server", "library", "action", ""}, rows, paintStates(terminal.StyleOf(w), 4))
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
