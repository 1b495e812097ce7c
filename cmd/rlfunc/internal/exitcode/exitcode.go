// Package exitcode is the one place that defines what rlfunc exits with.
package exitcode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// A Code is an exit code. As an error it ends the command without a message of its own.
type Code int

// The codes of every command.
const (
	OK          Code = 0
	Error       Code = 1
	Findings    Code = 2
	Breaking    Code = 3
	Invalid     Code = 4
	NoListener  Code = 5
	CutOff      Code = 6
	Interrupted Code = 130
	Terminated  Code = 143
)

// Table lists the codes and their meanings.
var Table = []struct {
	Code    Code
	Meaning string
}{
	{OK, "The command did its job and found nothing to report."},
	{Error, "The command failed, its arguments are wrong, it ran out of time (--timeout), or the operator declined."},
	{Findings, "The command did its job and reports something: differences, findings, changes to make, or a refusal."},
	{Breaking, "plan and deploy: the deploy would break running clients or stored state. deploy has loaded nothing."},
	{Invalid, "serve: the policy, or a file of keys, tokens or certificates, is not valid. It has not begun to serve."},
	{NoListener, "serve: it cannot listen on an address, for example because another process does."},
	{CutOff, "serve: it ended while requests were still in flight after --drain."},
	{Interrupted, "SIGINT (Ctrl-C) interrupted the command. serve drains and exits with 0 or 6, also at --timeout."},
	{Terminated, "SIGTERM ended the command. serve drains and exits with 0 or 6."},
}

// Text returns Table as lines.
func Text() string {
	var b strings.Builder
	for _, row := range Table {
		fmt.Fprintf(&b, "%5d  %s\n", row.Code, row.Meaning)
	}
	return b.String()
}

func (c Code) Error() string { return fmt.Sprintf("exit %d", int(c)) }

// A Failure is an error with an exit code of its own, whatever signal ended the command.
type Failure struct {
	Code Code
	Err  error
}

func (e *Failure) Error() string { return e.Err.Error() }
func (e *Failure) Unwrap() error { return e.Err }

// A Signal is the cause of a context that a signal canceled.
type Signal struct{ os.Signal }

func (e Signal) Error() string { return e.String() }

// Code returns the code that shells report for a process that the signal ends: 130 for SIGINT.
func (e Signal) Code() Code {
	if s, ok := e.Signal.(syscall.Signal); ok {
		return Code(128 + int(s))
	}
	return Error
}

// Of returns the exit code for err, which the command returned under ctx. It reports as silent an error without a message.
func Of(ctx context.Context, err error) (code Code, silent bool) {
	if err == nil {
		return OK, true
	}
	if failure := (*Failure)(nil); errors.As(err, &failure) {
		return failure.Code, false
	}
	code = Error
	silent = errors.As(err, &code)
	var s Signal
	if errors.As(context.Cause(ctx), &s) {
		code = s.Code()
	}
	return code, silent
}

// NotifyContext returns a context that the first SIGINT or SIGTERM cancels. The second one ends the process.
func NotifyContext() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(Signal{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}
