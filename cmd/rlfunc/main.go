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
	} else if late := (timeoutError{a.timeout}); ctx.Err() == nil && ended(cmd.Context()) && !errors.Is(err, late) {
		err = fmt.Errorf("%w: %w", late, err)
	}
	fmt.Fprintf(errOut, "%s: %v\n", name, err)
	return code
}

// ended reports whether the deadline of ctx has passed. A connection notices that before ctx does.
func ended(ctx context.Context) bool {
	deadline, has := ctx.Deadline()
	return has && !time.Now().Before(deadline)
}
