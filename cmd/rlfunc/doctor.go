package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/loader/doctor"
)

func (a *app) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor [LIBRARY ...]",
		Short: "Look for what can go wrong on the servers, with a fix for each",
		Long: `Looks at every node: what it holds, what it may lose, how it is set up, and what is known of its version. It changes nothing.

A problem is wrong now, a warning goes wrong one day, a note is good to know. Exit code 0 when there is no problem, 2 when there is,
1 when it could not be looked.`,
		Example: "  rlfunc doctor --redis redis://127.0.0.1:6379\n  rlfunc doctor --redis redis://127.0.0.1:6379 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.doctor(cmd.Context(), args)
		},
	}
	return a.withTarget(a.withChannel(cmd))
}

func (a *app) doctor(ctx context.Context, names []string) error {
	tree, err := a.read()
	if err != nil {
		return err
	}
	libs, err := a.libraries(tree, names)
	if err != nil {
		return err
	}
	target, err := a.openTarget()
	if err != nil {
		return err
	}
	defer target.close()
	d, err := doctor.Diagnose(ctx, target.Target, libs...)
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(d)
	} else {
		a.printDiagnosis(d)
	}
	if err == nil && d.Count(doctor.Problem) > 0 {
		return exitCode(exitDifferences)
	}
	return err
}

func (a *app) printDiagnosis(d *doctor.Diagnosis) {
	// The same finding on many nodes is said once.
	type said struct{ id, text string }
	var order []said
	nodes := map[said][]string{}
	first := map[said]doctor.Finding{}
	for _, f := range d.Findings {
		s := said{f.ID, f.Text}
		if nodes[s] == nil {
			order = append(order, s)
			first[s] = f
		}
		nodes[s] = append(nodes[s], f.Node)
	}
	for _, s := range order {
		f := first[s]
		fmt.Fprintf(a.out, "%s %s: %s\n", f.Severity, f.ID, f.Text)
		if f.Node != "" {
			fmt.Fprintf(a.out, "    on   %s\n", strings.Join(nodes[s], ", "))
		}
		if f.Fix != "" {
			fmt.Fprintf(a.out, "    fix  %s\n", f.Fix)
		}
	}
	a.talk("%s looked at: %s, %s, %s", count(d.Nodes, "node"), count(d.Count(doctor.Problem), "problem"), count(d.Count(doctor.Warn), "warning"), count(d.Count(doctor.Note), "note"))
}

// count is a number of things in words: "1 node", "2 nodes".
func count(n int, of string) string {
	if n != 1 {
		of += "s"
	}
	return fmt.Sprintf("%d %s", n, of)
}
