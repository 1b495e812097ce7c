package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// An exitCode is what rlfunc exits with. As an error it ends the command without a message of its own.
type exitCode int

// The codes of every command.
const (
	exitOK          exitCode = 0
	exitError       exitCode = 1
	exitFindings    exitCode = 2
	exitBreaking    exitCode = 3
	exitInvalid     exitCode = 4
	exitNoListener  exitCode = 5
	exitCutOff      exitCode = 6
	exitInterrupted exitCode = 130
	exitTerminated  exitCode = 143
)

// exitCodes lists the codes and their meanings.
var exitCodes = []struct {
	code    exitCode
	meaning string
}{
	{exitOK, "The command did its job and found nothing to report."},
	{exitError, "The command failed, its arguments are wrong, or the operator declined."},
	{exitFindings, "The command did its job and reports something: differences, findings, changes to make, or a refusal."},
	{exitBreaking, "plan and deploy: the deploy would break running clients or stored state. deploy has loaded nothing."},
	{exitInvalid, "serve: the policy or a file of keys, tokens or certificates is not valid, or --api lacks its file. It has not begun to serve."},
	{exitNoListener, "serve: it cannot listen on an address, for example because another process does."},
	{exitCutOff, "serve: it ended while requests were still in flight after --drain."},
	{exitInterrupted, "SIGINT (Ctrl-C) interrupted the command. serve drains and exits with 0 or 6."},
	{exitTerminated, "SIGTERM ended the command. serve drains and exits with 0 or 6."},
}

func (c exitCode) Error() string { return fmt.Sprintf("exit %d", int(c)) }

// A failure is an error with an exit code of its own, whatever signal ended the command.
type failure struct {
	code exitCode
	error
}

func (e *failure) Unwrap() error { return e.error }

// A signalError is the cause of a context that a signal canceled.
type signalError struct{ os.Signal }

func (e signalError) Error() string { return e.String() }

// code returns the code that shells report for a process that the signal ends: 130 for SIGINT.
func (e signalError) code() exitCode {
	if s, ok := e.Signal.(syscall.Signal); ok {
		return exitCode(128 + int(s))
	}
	return exitError
}

// exitCodeOf returns the exit code for err, which the command returned under ctx. It reports as silent an error without a message.
func exitCodeOf(ctx context.Context, err error) (code exitCode, silent bool) {
	if err == nil {
		return exitOK, true
	}
	if own := (*failure)(nil); errors.As(err, &own) {
		return own.code, false
	}
	code = exitError
	silent = errors.As(err, &code)
	var s signalError
	if errors.As(context.Cause(ctx), &s) {
		code = s.code()
	}
	return code, silent
}

// notifyContext returns a context that the first SIGINT or SIGTERM cancels. The second one ends the process.
func notifyContext() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(signalError{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}
