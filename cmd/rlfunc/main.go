// Command rlfunc generates, deploys, verifies and calls rate limit functions that run in Redis.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // vet and generate take a third less time
	}
	os.Exit(int(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)))
}

// run runs a command line and returns its exit code.
func run(args []string, in io.Reader, out, errOut io.Writer) exitCode {
	ctx, stop := notifyContext()
	defer stop()
	return runUntil(ctx, args, in, out, errOut)
}

// runUntil runs a command line until ctx ends.
func runUntil(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) exitCode {
	redis.SetLogger(&logging.VoidLogger{}) // commands return the same errors
	a := &app{in: in, out: out, err: errOut}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	cmd, err := root.ExecuteContextC(ctx)
	code, silent := exitCodeOf(ctx, err)
	if silent {
		return code
	}
	name := "rlfunc"
	if wrong := (*usageError)(nil); errors.As(err, &wrong) {
		name = cmd.CommandPath()
	} else if why := context.Cause(ctx); errors.As(why, new(signalError)) && !errors.Is(err, why) {
		err = fmt.Errorf("%w: %w", why, err)
	}
	fmt.Fprintf(errOut, "%s: %v\n", name, err)
	return code
}
