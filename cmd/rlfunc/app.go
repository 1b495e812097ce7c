package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/output"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/internal/terminal"
	"github.com/rlfunc/rlfunc/loader"
)

// An app is what the commands share: streams, and the flags that several commands have.
type app struct {
	in   io.Reader
	out  io.Writer // data
	err  io.Writer // notes, warnings and errors
	stop func()    // ends the context of --timeout

	dir     string
	json    bool
	quiet   bool
	color   terminal.ColorMode
	timeout time.Duration

	redis      string
	target     string
	channel    string
	policy     string
	namespace  string
	noReplicas bool

	warned []string // the warnings that were printed
}

// A timeoutError is the cause of a context that --timeout ended.
type timeoutError struct{ after time.Duration }

func (e timeoutError) Error() string { return fmt.Sprintf("stopped after %s (--timeout)", e.after) }

// start applies the flags that every command has, before the command runs.
func (a *app) start(cmd *cobra.Command, _ []string) error {
	if err := a.applyTarget(cmd); err != nil {
		return err
	}
	if a.timeout < 0 {
		return usage.Errorf("--timeout must not be negative, got %s", a.timeout)
	}
	if a.timeout > 0 {
		ctx, stop := context.WithTimeoutCause(cmd.Context(), a.timeout, timeoutError{a.timeout})
		a.stop = stop
		cmd.SetContext(ctx)
	}
	return nil
}

// note prints a line for the operator, unless --quiet is set.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.err, format+"\n", args...)
	}
}

// warnf prints a warning, once per command: a plan and its result have the same ones.
func (a *app) warnf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if slices.Contains(a.warned, text) {
		return
	}
	a.warned = append(a.warned, text)
	fmt.Fprintf(a.err, "%s %s\n", a.color.StyleOf(a.err).Yellow("warning:"), text)
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
		return exitcode.Error
	case !terminal.Confirm(ctx, a.in, a.err, question):
		fmt.Fprintln(a.err, "nothing was changed")
		return exitcode.Error
	}
	return nil
}

func (a *app) printJSON(v any) error { return output.JSON(a.out, v) }

// table prints rows as data, without color.
func (a *app) table(head []string, rows [][]string) error {
	return output.Table(a.out, head, rows, nil)
}

// states prints rows as data, and colors the column that holds a state.
func (a *app) states(column int, head []string, rows [][]string) error {
	return output.Table(a.out, head, rows, paintStates(a.color.StyleOf(a.out), column))
}
