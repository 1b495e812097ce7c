package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/internal/terminal"
	"github.com/rlfunc/rlfunc/loader"
)

// An app is what the commands share: streams, and the flags that several commands have.
type app struct {
	in  io.Reader
	out io.Writer // data
	err io.Writer // notes, warnings and errors

	dir  string
	json bool

	redis      string
	target     string
	policy     string
	namespace  string
	noReplicas bool

	warned []string // the warnings that were printed
}

// note prints a line for the operator.
func (a *app) note(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }

// warnf prints a warning, once per command: a plan and its result have the same ones.
func (a *app) warnf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if slices.Contains(a.warned, text) {
		return
	}
	a.warned = append(a.warned, text)
	fmt.Fprintf(a.err, "%s %s\n", terminal.StyleOf(a.err).Yellow("warning:"), text)
}

// warn prints the warnings of a node, or of a target where node is empty.
func (a *app) warn(node string, warnings []loader.Warning) {
	if node != "" {
		node += ": "
	}
	for _, w := range warnings {
		a.warnf("%s%s", node, w)
	}
}

// confirm asks the operator whether to go on. It returns an exit code if the operator declines, or cannot be asked.
func (a *app) confirm(ctx context.Context, yes bool, question string) error {
	switch {
	case yes:
		return nil
	case !terminal.Is(a.in):
		fmt.Fprintln(a.err, "nothing was changed; to do it, give --yes")
		return exitError
	case !terminal.Confirm(ctx, a.in, a.err, question):
		fmt.Fprintln(a.err, "nothing was changed")
		return exitError
	}
	return nil
}

func (a *app) printJSON(v any) error {
	text, err := marshalJSON(v)
	if err == nil {
		_, err = a.out.Write(text)
	}
	return err
}

// print prints a value as JSON with --json, and by text otherwise.
func (a *app) print(v any, text func() error) error {
	if a.json {
		return a.printJSON(v)
	}
	return text()
}

// lines prints text as data.
func (a *app) lines(lines []string) error {
	_, err := fmt.Fprintln(a.out, strings.Join(lines, "\n"))
	return err
}

// reporting returns err, or the exit code of findings if there are some.
func reporting(findings bool, err error) error {
	if err == nil && findings {
		return exitFindings
	}
	return err
}

// table prints rows as data, without color.
func (a *app) table(head []string, rows [][]string) error {
	return printTable(a.out, head, rows, nil)
}

// states prints rows as data, and colors the column that holds a state.
func (a *app) states(column int, head []string, rows [][]string) error {
	return printTable(a.out, head, rows, paintStates(terminal.StyleOf(a.out), column))
}

// The words that actions, outcomes and states of libraries begin with. Others are yellow.
var (
	greenStates = []string{"same", "follow", "followed", "loaded", "upgraded", "downgraded", "replaced", "deleted"}
	redStates   = []string{"conflict", "drifted", "failed", "foreign", "missing", "unusable", "problem"}
)

// paintState colors a text that begins with a state.
func paintState(style terminal.Style, text string) string {
	word, _, _ := strings.Cut(text, " ")
	switch {
	case slices.Contains(greenStates, word):
		return style.Green(text)
	case slices.Contains(redStates, word):
		return style.Red(text)
	}
	return style.Yellow(text)
}

// paintStates colors the cells of the column that holds states.
func paintStates(style terminal.Style, column int) func(int, string) string {
	return func(i int, cell string) string {
		if i != column {
			return cell
		}
		return paintState(style, cell)
	}
}

// nodeProblems joins the problems of nodes.
func nodeProblems[N any](nodes []N, problem func(N) *loader.Error) error {
	var all []error
	for _, node := range nodes {
		if p := problem(node); p != nil {
			all = append(all, p)
		}
	}
	return errors.Join(all...)
}
