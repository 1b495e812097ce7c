package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// A signalError is why the context of a command was cancelled.
type signalError struct{ os.Signal }

func (e signalError) Error() string { return e.String() }

// exitCode is the one that shells give a program that the signal ends: 130 for SIGINT.
func (e signalError) exitCode() int {
	if s, ok := e.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return exitError
}

// interruptible returns a context that the first SIGINT or SIGTERM cancels. The second one ends the process.
func interruptible() (context.Context, func()) {
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
