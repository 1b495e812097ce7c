package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/dyncall"
	"github.com/rlfunc/rlfunc/codegen/runtime"
	"github.com/rlfunc/rlfunc/fcall"
)

type callFlags struct{ calls, workers int }

func (a *app) callCommand() *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use:   "call LIBRARY.FUNCTION name=value ...",
		Short: "Call a function with arguments by name and unit",
		Long: `Calls a function as a generated client does. Arguments have the names of the function's header and
carry their units: limit=10 window=1m receipt=abc at_most=true. Rows of a group are written
limits.0.limit=10, the subject of a packed row limits.0.of=user42, and the items of a list
names.0=ann. Bytes are in base64. Wrong, missing and repeated arguments are rejected before anything
is sent.

Results are printed with the header's names, or with --json as one object with durations in seconds.
The exit code is 2 if the function refused the call. With -n it makes many calls and counts the
outcomes, from -c workers that start together.`,
		Example: `  rlfunc call ratelimit.sliding_log --redis embedded subject=user42 limit=10 window=1m
  rlfunc call ratelimit.gcra --redis redis://127.0.0.1:6379 subject=user42 limit=100 period=1m cost=3 --json
  rlfunc call ratelimit.sliding_log --redis redis://127.0.0.1:6379 subject=u1 limit=10 window=1m -n 50 -c 50`,
		Args:              needFunction,
		ValidArgsFunction: a.callArguments,
		RunE: a.onServer(func(ctx context.Context, conn *connection.Conn, args []string) error {
			return a.call(ctx, conn, args, f)
		}),
	}
	cmd.Flags().IntVarP(&f.calls, "calls", "n", 1, "number of calls; of several it prints how many had each outcome")
	cmd.Flags().IntVarP(&f.workers, "workers", "c", 1, "number of workers that call at once")
	return a.withRedis(a.withNamespace(cmd))
}

// needFunction accepts a function's name and its arguments.
func needFunction(_ *cobra.Command, args []string) error {
	if len(args) == 0 || strings.Contains(args[0], "=") {
		return usageErrorf("needs LIBRARY.FUNCTION first, such as ratelimit.gcra subject=user42 limit=100 period=1m")
	}
	return nil
}

// call checks the function's name and arguments, and that the server answers, before it calls.
func (a *app) call(ctx context.Context, conn *connection.Conn, args []string, f callFlags) error {
	if f.calls < 1 || f.calls > 10_000_000 || f.workers < 1 || f.workers > 10_000 {
		return usageErrorf("-n must be 1 to 10000000 and -c 1 to 10000, got %d and %d", f.calls, f.workers)
	}
	tree, err := a.tree()
	if err != nil {
		return err
	}
	lib, fn, err := a.findFunction(tree, args[0])
	if err != nil {
		return err
	}
	client, err := fcall.NewClient(conn.Client, runtime.Library(lib), fcall.Options{Namespace: a.namespace, NoAutoLoad: true})
	if err != nil {
		return err
	}
	call, err := dyncall.New(client, fn, args[1:])
	if err != nil {
		return err
	}
	if err := conn.Ensure(ctx, client.Library()); err != nil {
		return err
	}
	if err := conn.Ready(ctx); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if f.calls > 1 {
		s := call.Many(ctx, f.calls, f.workers)
		if err := a.print(s, func() error { return a.lines(s.Lines()) }); err != nil {
			return err
		}
		if s.Errors > 0 {
			return fmt.Errorf("%d of %d calls: %w", s.Errors, s.Calls, s.FirstError)
		}
		return nil
	}
	result, err := call.Do(ctx)
	if err != nil {
		return err
	}
	return reporting(result.Refused(), a.print(result, func() error { return a.lines(result.Lines()) }))
}
