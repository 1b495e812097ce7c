package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/loader"
)

func (a *app) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor [LIBRARY ...]",
		Short: "Find problems of the servers, with a fix for each",
		Long: `Checks every node: its libraries, what it could lose, its configuration, and known bugs of its
version. Each finding comes with a fix. Nothing is changed.

A problem must be fixed now, a warning will become a problem, and a note is only information. The
exit code is 0 without a problem, 2 with one, and 1 if the servers could not be checked.`,
		Example:           "  rlfunc doctor --redis redis://127.0.0.1:6379\n  rlfunc doctor --redis redis://127.0.0.1:6379 --json",
		ValidArgsFunction: a.libraryNames,
		RunE:              a.onTarget(a.doctor),
	}
	return a.withTarget(a.withChannel(cmd))
}

func (a *app) doctor(ctx context.Context, target *connection.Target, names []string) error {
	libs, err := a.named(names)
	if err != nil {
		return err
	}
	d, err := target.Diagnose(ctx, libs...)
	if err != nil {
		return err
	}
	return reporting(d.Count(loader.Problem) > 0, a.print(d, func() error { return a.printDiagnosis(d) }))
}

func (a *app) printDiagnosis(d *loader.Diagnosis) error {
	// The same finding on several nodes is printed once.
	type finding struct{ id, text string }
	var order []finding
	nodes := map[finding][]string{}
	first := map[finding]loader.Warning{}
	style := a.color.StyleOf(a.out)
	for _, f := range d.Findings {
		s := finding{f.ID, f.Text}
		if nodes[s] == nil {
			order = append(order, s)
			first[s] = f
		}
		nodes[s] = append(nodes[s], f.Node)
	}
	for _, s := range order {
		f := first[s]
		fmt.Fprintf(a.out, "%s %s: %s\n", paintState(style, string(f.Severity)), f.ID, f.Text)
		if f.Node != "" {
			fmt.Fprintf(a.out, "    on   %s\n", strings.Join(nodes[s], ", "))
		}
		if f.Fix != "" {
			fmt.Fprintf(a.out, "    fix  %s\n", f.Fix)
		}
	}
	a.note("%s checked: %s, %s, %s", count(d.Nodes, "node"), count(d.Count(loader.Problem), "problem"), count(d.Count(loader.Warn), "warning"), count(d.Count(loader.Note), "note"))
	return nil
}
