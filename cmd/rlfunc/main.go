// Command rlfunc generates, deploys, verifies and calls rate limit functions that run in Redis.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // vet and generate take a third less time
	}
	os.Exit(int(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)))
}

// run runs a command line and returns its exit code.
func run(args []string, in io.Reader, out, errOut io.Writer) exitcode.Code {
	ctx, stop := exitcode.NotifyContext()
	defer stop()
	return runUntil(ctx, args, in, out, errOut)
}

// runUntil runs a command line until ctx ends.
func runUntil(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) exitcode.Code {
	redis.SetLogger(&logging.VoidLogger{}) // commands return the same errors
	a := &app{in: in, out: out, err: errOut, stop: func() {}}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	cmd, err := root.ExecuteContextC(ctx)
	defer a.stop()
	code, silent := exitcode.Of(ctx, err)
	if silent {
		return code
	}
	name := "rlfunc"
	if wrong := (*usage.Error)(nil); errors.As(err, &wrong) {
		name = cmd.CommandPath()
	} else if why := a.whyEnded(ctx, cmd.Context()); why != nil && !errors.Is(err, why) {
		err = fmt.Errorf("%w: %w", why, err)
	}
	fmt.Fprintf(errOut, "%s: %v\n", name, err)
	return code
}

// whyEnded returns the signal or the timeout that ended a command, or nil. root is the context of the command line, and ctx that of
// the command.
func (a *app) whyEnded(root, ctx context.Context) error {
	var s exitcode.Signal
	if errors.As(context.Cause(root), &s) {
		return s
	}
	// A connection notices the deadline before ctx ends.
	if deadline, has := ctx.Deadline(); has && root.Err() == nil && !time.Now().Before(deadline) {
		return timeoutError{a.timeout}
	}
	return nil
}
