package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/breaking"
	"github.com/rlfunc/rlfunc/codegen/contract"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

func (a *app) vetCommand() *cobra.Command {
	run, every, most, explain, url := false, false, 0, "", ""
	cmd := &cobra.Command{
		Use:   "vet",
		Short: "Find errors, unsafe code and differences between engines in the annotated Lua",
		Long: `Finds errors in the annotated Lua without running it, and prints each as file:line:col: message
(rule). The exit code is 2 if there is one. --explain RULE shows why a rule exists, with a bad and a
good example.

--run then also calls the functions, as their headers allow, on an engine inside the process, and
checks what they do: results within their bounds, only declared errors, an expiry on every key, refused
calls that change nothing, and more. It goes on until each line has run, or until --most calls of a
library are made. Lines that never ran are listed, and are an error with --every-line. Where a function
runs a command that this engine does not have, a line says so, and the rest of the call is not judged. A
finding is the shortest sequence of calls that shows it, printed as steps for a test. The calls are the
same each time, unless you set RLFUNC_SEED. With --redis, the functions that a line is about are called on
that server, too. It must be one for tests, with an empty database, whose keys are deleted.

To accept a finding, put a comment with a reason on its line:
  -- rlfunc:ignore RULE reason`,
		Example: "  rlfunc vet\n  rlfunc vet --run\n  rlfunc vet --json\n  rlfunc vet --explain call-argument",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("explain") {
				return a.explainRule(explain)
			}
			p, err := project.Find(a.dir)
			if err != nil {
				return err
			}
			tree, err := p.Load(cmd.Context())
			if err != nil {
				return a.findings(err)
			}
			if run {
				return a.runFunctions(cmd.Context(), tree, most, every, url)
			}
			if every || cmd.Flags().Changed("most") || cmd.Flags().Changed("redis") {
				return usageErrorf("--most, --every-line and --redis are for --run")
			}
			if a.json {
				return a.printJSON(map[string]any{"findings": codegen.Findings{}})
			}
			a.note("no findings in %s of %s", count(functionsOf(tree), "function"), count(len(tree.Libraries), "library"))
			return nil
		},
	}
	cmd.Flags().StringVar(&explain, "explain", "", "print the page of a rule instead, by its name in findings")
	cmd.Flags().BoolVar(&run, "run", false, "also call the functions, and check what they do")
	cmd.Flags().IntVar(&most, "most", contract.DefaultMost, "with --run: how many calls of a library to make for lines that none has reached")
	cmd.Flags().BoolVar(&every, "every-line", false, "with --run: exit with 2 if a line never ran")
	cmd.Flags().StringVar(&url, "redis", os.Getenv("RLFUNC_TEST_REDIS_URL"), redisUsage)
	cmd.Flags().Lookup("redis").DefValue = "$RLFUNC_TEST_REDIS_URL"
	return cmd
}

func (a *app) explainRule(id string) error {
	page, ids := codegen.Explain(id)
	for _, rule := range breaking.Rules {
		if ids = append(ids, rule.ID); rule.ID == id {
			page += fmt.Sprintf("%s (rlfunc breaking): %s\nOtherwise: %s\n", id, rule.Checks, rule.Why)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if page == "" {
		if near := spelling.DidYouMean(id, ids); near != "" {
			return fmt.Errorf("no rule %q%s", id, near)
		}
		return fmt.Errorf("no rule %q; the rules are %s", id, strings.Join(ids, ", "))
	}
	return a.print(map[string]any{"rule": id, "page": page}, func() error {
		_, err := io.WriteString(a.out, page)
		return err
	})
}

func functionsOf(tree *codegen.Tree) (n int) {
	for _, lib := range tree.Libraries {
		n += len(lib.Files)
	}
	return n
}

// A runFinding is a finding of running, as JSON.
type runFinding struct {
	codegen.Finding
	Steps string `json:"steps"` // of a Go test
}

// runFunctions calls the functions of each library, and prints what is wrong with them.
func (a *app) runFunctions(ctx context.Context, tree *codegen.Tree, most int, every bool, url string) error {
	seed, err := contract.Seed()
	if err != nil {
		return err
	}
	found, unreached, reached, unchecked, made := []runFinding{}, []contract.Place{}, map[contract.Place]bool{}, []contract.Unchecked{}, 0
	for _, lib := range tree.Libraries {
		if err := ctx.Err(); err != nil {
			return err
		}
		report, err := contract.Run([]*contract.Library{contract.Of(lib)}, contract.Options{Seed: seed, Most: most})
		if err != nil {
			return err
		}
		made += report.Calls
		unreached = append(unreached, report.Unreached...)
		for _, p := range report.Reached {
			reached[p] = true
		}
		if url == "" || url == connection.Embedded || len(report.Unchecked) == 0 {
			unchecked = append(unchecked, report.Unchecked...)
		} else if err := onServer(ctx, url, lib, report); err != nil {
			return err
		}
		for _, f := range report.Findings {
			found = append(found, runFinding{codegen.Finding{File: f.File, Line: f.Line, Col: 1, Rule: f.Rule, Message: f.Function + ": " + f.Text}, f.Paste()})
		}
	}
	unreached = slices.DeleteFunc(unreached, func(p contract.Place) bool { return reached[p] }) // by another library
	slices.SortFunc(unreached, func(p, q contract.Place) int { return cmp.Or(strings.Compare(p.File, q.File), p.Line-q.Line) })
	unreached = slices.Compact(unreached)
	if a.json {
		if err := a.printJSON(map[string]any{"findings": found, "calls": made, "seed": seed, "unreached": unreached, "unchecked": unchecked}); err != nil {
			return err
		}
	}
	for _, f := range found {
		if !a.json {
			fmt.Fprintf(a.out, "%v\n%s\n", f.Finding, f.Steps)
		}
	}
	for _, u := range unchecked {
		a.note("%v", u)
	}
	if len(found) > 0 {
		a.note("%s in %s, drawn from seed %d", count(len(found), "finding"), count(made, "call"), seed)
		return exitFindings
	}
	a.note("no findings in %s of %s, drawn from seed %d", count(made, "call"), count(functionsOf(tree), "function"), seed)
	for i, p := range unreached {
		if i == 10 && !every {
			a.note("  and %d more: --json and luatest.Contract list all", len(unreached)-i)
			break
		}
		if i == 0 {
			a.note("not checked, because no call reached what begins at:")
		}
		a.note("  %s:%d", p.File, p.Line)
	}
	if every && len(unreached) > 0 {
		return exitFindings
	}
	return nil
}

// onServer calls the functions that the embedded engine could not judge on a server for tests.
func onServer(ctx context.Context, url string, lib *codegen.Library, report *contract.Report) (err error) {
	conn, err := connection.Open(url, "")
	if err != nil {
		return err
	}
	defer conn.Close()
	one, ok := conn.Client.(*redis.Client)
	if !ok {
		return usageErrorf("--run takes one server for tests, no cluster: %s", conn.Name)
	}
	keys, err := one.DBSize(ctx).Result()
	if err == nil && keys > 0 {
		err = fmt.Errorf("its database holds %d keys, which the run would delete: name an empty one", keys)
	}
	if err == nil {
		err = one.FunctionLoad(ctx, codegen.Bundle(lib)).Err()
	}
	if err != nil {
		return fmt.Errorf("run %s on %s: %w", lib.Spec.Server, conn.Name, err)
	}
	report.On(one)
	if err := one.FunctionDelete(ctx, lib.Spec.Server).Err(); err != nil {
		return fmt.Errorf("remove %s from %s: %w", lib.Spec.Server, conn.Name, err)
	}
	return nil
}

// findings prints the findings in an error as data. It returns any other error.
func (a *app) findings(err error) error {
	var list codegen.Findings
	if !errors.As(err, &list) {
		return err
	}
	if a.json {
		if err := a.printJSON(map[string]any{"findings": list}); err != nil {
			return err
		}
		return exitFindings
	}
	for _, d := range list {
		fmt.Fprintln(a.out, d)
	}
	a.note("%s", count(len(list), "finding"))
	return exitFindings
}
