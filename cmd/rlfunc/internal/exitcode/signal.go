package exitcode

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

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
