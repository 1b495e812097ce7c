package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/benchmark"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/duration"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/dyncall"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/codegen/runtime"
	"github.com/rlfunc/rlfunc/fcall"
)

type callFlags struct {
	calls, workers int
	raw            bool
}

func (a *app) callCommand() *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use:   "call LIBRARY.FUNCTION name=value ...",
		Short: "Call a function with arguments by name and unit",
		Long: `Calls a function as a generated client does. Arguments have the names of the function's header and
carry their units: limit=10 window=1m receipt=abc refresh=true. Rows of a group are written
limits.0.limit=10, the subject of a packed row limits.0.of=user42, and the items of a list
names.0=ann. Bytes are in base64. Wrong, missing and repeated arguments are rejected before anything
is sent.

Results are printed with the header's names, or with --json as one object with durations in seconds.
The exit code is 2 if the function refused the call. With -n it makes many calls and counts the
outcomes. With --raw it also prints the command and the reply as Redis sent it, and how to read it.`,
		Example: `  rlfunc call ratelimit.sliding_log --redis embedded subject=user42 limit=10 window=1m
  rlfunc call ratelimit.gcra --redis redis://127.0.0.1:6379 subject=user42 limit=100 period=1m cost=3 --json
  rlfunc call ratelimit.sliding_log --redis redis://127.0.0.1:6379 subject=u1 limit=10 window=1m -n 50 -c 50`,
		Args:              needFunction,
		ValidArgsFunction: a.callArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.calls < 1 || f.workers < 1 {
				return usage.Errorf("-n and -c must be 1 or more, got %d and %d", f.calls, f.workers)
			}
			if f.raw && (a.json || f.calls > 1) {
				return usage.Errorf("--raw is text of one call: leave out --json and -n")
			}
			return a.onFunction(cmd, args, a.namespace, func(ctx context.Context, conn *connection.Conn, call *dyncall.Call) error {
				return a.call(ctx, conn, call, f)
			})
		},
	}
	cmd.Flags().IntVarP(&f.calls, "calls", "n", 1, "number of calls")
	cmd.Flags().BoolVar(&f.raw, "raw", false, "print the command and the reply as Redis sent it, and how to read it")
	cmd.Flags().IntVarP(&f.workers, "workers", "c", 1, workersUsage)
	return a.withRedis(a.withNamespace(a.withChannel(cmd)))
}

func (a *app) call(ctx context.Context, conn *connection.Conn, call *dyncall.Call, f callFlags) error {
	if f.calls > 1 {
		return a.callMany(ctx, call, f)
	}
	var tap dyncall.Tap
	if f.raw {
		conn.Client.AddHook(&tap)
	}
	result, err := call.Do(ctx)
	if err != nil {
		return err
	}
	if f.raw {
		if err := a.lines(tap.Lines(call)); err != nil {
			return err
		}
	}
	return reporting(result.Refused(), a.print(result, func() error { return a.lines(result.Lines()) }))
}

// needFunction accepts a function's name and its arguments.
func needFunction(_ *cobra.Command, args []string) error {
	if len(args) == 0 || strings.Contains(args[0], "=") {
		return usage.Errorf("needs LIBRARY.FUNCTION first, such as ratelimit.gcra subject=user42 limit=100 period=1m")
	}
	return nil
}

// onFunction checks a function's name and arguments, and that the server answers. Then it runs what the command does with the call.
func (a *app) onFunction(cmd *cobra.Command, args []string, namespace string, do func(ctx context.Context, conn *connection.Conn, call *dyncall.Call) error) error {
	tree, err := a.tree()
	if err != nil {
		return err
	}
	lib, fn, err := a.findFunction(tree, args[0])
	if err != nil {
		return err
	}
	return a.onServer(func(ctx context.Context, conn *connection.Conn, _ []string) error {
		client, err := fcall.NewClient(conn.Client, runtime.Library(lib), fcall.Options{Namespace: namespace, Channel: a.channel, NoAutoLoad: true})
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
		return do(ctx, conn, call)
	})(cmd, args)
}

func (a *app) callMany(ctx context.Context, call *dyncall.Call, f callFlags) error {
	s := call.Many(ctx, f.calls, f.workers)
	if err := a.print(s, func() error { return a.lines(s.Lines()) }); err != nil {
		return err
	}
	if s.Errors > 0 {
		return fmt.Errorf("%d of %d calls: %w", s.Errors, s.Calls, s.FirstError)
	}
	return nil
}

type benchFlags struct {
	span              time.Duration
	workers, subjects int
}

func (a *app) benchCommand() *cobra.Command {
	f := benchFlags{span: 3 * time.Second, workers: 16, subjects: 10_000}
	cmd := &cobra.Command{
		Use:   "bench LIBRARY.FUNCTION name=value ...",
		Short: "Measure what a function costs on a server",
		Long: `Calls a function for 3 s (--for up to 60 s), for one subject after the other: user-1, user-2, and so
on. It reports calls per second, the latency here, the time per call on the server, and the memory
per subject.

The keys are in a namespace of their own, which is deleted at the end. The time on the server
includes the function calls of other clients during the run. The command puts the server under load,
so think before you run it in production.`,
		Example: `  rlfunc bench ratelimit.gcra --redis redis://127.0.0.1:6379 subject=user limit=100 period=1h
  rlfunc bench ratelimit.sliding_log --redis redis://127.0.0.1:6379 subject=user limit=1000 window=1m --subjects 10 --for 10s`,
		Args:              needFunction,
		ValidArgsFunction: a.callArguments,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.bench(cmd, args, f) },
	}
	duration.Flag(cmd, &f.span, "for", forUsage)
	cmd.Flags().IntVarP(&f.workers, "workers", "c", f.workers, workersUsage)
	cmd.Flags().IntVar(&f.subjects, "subjects", f.subjects, "number of subjects")
	return a.withRedis(a.withChannel(cmd))
}

func (a *app) bench(cmd *cobra.Command, args []string, f benchFlags) error {
	if f.span <= 0 || f.span > time.Minute {
		return usage.Errorf("--for must be up to 60s, got %s", f.span)
	}
	if f.workers < 1 || f.workers > 10_000 || f.subjects < 1 || f.subjects > 1_000_000 {
		return usage.Errorf("-c must be 1 to 10000 and --subjects 1 to 1000000, got %d and %d", f.workers, f.subjects)
	}
	namespace := "rlfunc-bench-" + strings.ToLower(rand.Text()[:8])
	return a.onFunction(cmd, args, namespace, func(ctx context.Context, conn *connection.Conn, call *dyncall.Call) error {
		r, failed := benchmark.Run(ctx, conn, call, benchmark.Options{
			Function: args[0], Namespace: namespace, Span: f.span, Workers: f.workers, Subjects: f.subjects,
			Started: func() { a.note("%s from %d workers for %s", args[0], f.workers, f.span) },
		})
		if r == nil {
			return failed
		}
		return cmp.Or(a.print(r, func() error { return a.lines(r.Lines()) }), failed)
	})
}
