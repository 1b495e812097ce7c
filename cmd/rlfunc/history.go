package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/service"
	"github.com/rlfunc/rlfunc/internal/terminal"
	"github.com/rlfunc/rlfunc/loader"
)

func (a *app) historyCommand() *cobra.Command {
	last := 0
	cmd := &cobra.Command{
		Use:   "history [SUBJECT]",
		Short: "List the deploys of the server and the changes of operators",
		Long: `Lists the deploys, rollbacks and retires of the server, and what operators changed with ` + "`rlfunc block`" + `,
` + "`unblock`" + `, ` + "`reset`" + ` and ` + "`override`" + `, newest first: time by the server's clock, operator, what, what came of it, and
the reason. With SUBJECT it lists the changes of this subject only. "unfinished" is still going on, or
was interrupted and may have taken effect.

The server keeps the last 500 deploys, and in each namespace about the last 5,000 changes. --json also
prints the state before and after each change.`,
		Example: `  rlfunc history --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc history ip=203.0.113.7 --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc history --last 100 --json --redis redis://127.0.0.1:6379`,
		Args: atMostOneArgument("SUBJECT"),
		RunE: a.onServer(func(ctx context.Context, conn *connection.Conn, args []string) error {
			return a.history(ctx, conn, last, args)
		}),
	}
	cmd.Flags().IntVar(&last, "last", 20, "number of newest entries")
	return a.withPolicy(cmd)
}

func (a *app) history(ctx context.Context, conn *connection.Conn, last int, args []string) error {
	if last < 1 || last > 5000 {
		return usageErrorf("--last must be 1 to 5000, got %d", last)
	}
	s, err := a.service()
	if err != nil {
		return err
	}
	deploys, subjects := []loader.Event{}, []string(nil)
	var noDeploys error // the user of an operator may not read them, and that of a deployer not the changes
	if len(args) > 0 {
		subjects = []string{args[0]} // or in a form that the guard makes of it, if it makes one by the policy of today
		for _, resolve := range []func(string) (string, error){s.Subject, s.OverrideSubject} {
			if subject, err := resolve(args[0]); err == nil {
				subjects = append(subjects, subject)
			}
		}
	} else {
		target := conn.Target()
		defer target.Close()
		if deploys, noDeploys = target.History(ctx, last); noDeploys != nil {
			deploys = []loader.Event{}
		}
	}
	changes, noChanges := service.ChangesIn(conn.Client, s.Namespace).Last(ctx, last, subjects...)
	switch {
	case noChanges != nil && (noDeploys != nil || len(args) > 0):
		return errors.Join(noDeploys, noChanges)
	case noDeploys != nil:
		a.warnf("deploys are not listed: %v", noDeploys)
	case noChanges != nil:
		a.warnf("changes are not listed: %v", noChanges)
		changes = []service.Change{}
	}
	if a.json {
		return a.printJSON(map[string]any{"deploys": deploys, "changes": changes})
	}
	if len(deploys)+len(changes) == 0 {
		a.note("nothing is recorded of deploys, or in namespace %s", s.Namespace)
		return nil
	}
	return a.printHistory(deploys, changes, last)
}

// printHistory prints the newest of both, newest first. A deploy has a row for each change of a library.
func (a *app) printHistory(deploys []loader.Event, changes []service.Change, last int) error {
	type entry struct {
		at   time.Time
		rows [][]string
	}
	var all []entry
	for _, d := range deploys {
		all = append(all, entry{d.At, deployRows(d)})
	}
	for _, c := range changes {
		all = append(all, entry{c.At, [][]string{{
			timeText(c.At), terminal.Visible(c.By), terminal.Visible(c.Command), terminal.Visible(c.Subject), terminal.Visible(c.Result), terminal.Visible(c.Reason),
		}}})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return b.at.Compare(a.at) })
	var rows [][]string
	for _, e := range all[:min(last, len(all))] {
		rows = append(rows, e.rows...)
	}
	return a.table([]string{"when", "by", "what", "of", "result", "details"}, rows)
}

func deployRows(e loader.Event) (rows [][]string) {
	at, by, op, outcome := timeText(e.At), terminal.Visible(e.By), string(e.Op), string(e.Outcome)
	add := func(library, details string) {
		rows = append(rows, []string{at, by, op, library, outcome, details})
		at, by, op, outcome = "", "", "", ""
	}
	for _, c := range e.Changes {
		nodes := strings.Join(c.Nodes, ", ")
		if c.Count > len(c.Nodes) {
			nodes += fmt.Sprintf(" and %d more", c.Count-len(c.Nodes))
		}
		add(c.Library, changeText(c)+" on "+nodes)
	}
	if e.More > 0 {
		add("", fmt.Sprintf("and %d more changes", e.More))
	}
	if len(e.Forced) > 0 {
		add("", "forced despite clients: "+strings.Join(e.Forced, ", "))
	}
	return rows
}

func changeText(c loader.EventChange) string {
	text := c.From + c.To
	if c.From != "" && c.To != "" {
		text = c.From + " -> " + c.To
	}
	if c.Result != "" {
		text = c.Result + " " + text
	}
	if c.Problem != "" {
		text += ": " + c.Problem
	}
	return text
}
