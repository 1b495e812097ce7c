package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/benchmark"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/duration"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
)

type benchFlags struct {
	span              time.Duration
	workers, subjects int
}

func (a *app) benchCommand() *cobra.Command {
	f := benchFlags{span: 3 * time.Second, workers: 16, subjects: 10_000}
	cmd := &cobra.Command{
		Use:   "bench LIBRARY.FUNCTION name=value ...",
		Short: "Measure what a function costs on a server",
		Long: `Calls a function for 3 s, or --for up to 60 s, for one subject after the other (user-1, user-2, ...). It reports the calls per second, the
latency here, the time of a call on the server, and the memory per subject.

The keys are in a namespace of their own, which the command deletes at the end. The time on the server covers all function calls meanwhile,
also those of other clients. The command loads the server: do not run it in production without need.`,
		Example: `  rlfunc bench ratelimit.gcra --redis redis://127.0.0.1:6379 subject=user limit=100 period=1h
  rlfunc bench ratelimit.sliding_log --redis redis://127.0.0.1:6379 subject=user limit=1000 window=1m --subjects 10 --for 10s`,
		Args:              needFunction,
		ValidArgsFunction: a.callArguments,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.bench(cmd.Context(), args, f) },
	}
	duration.Flag(cmd, &f.span, "for", forUsage)
	cmd.Flags().IntVarP(&f.workers, "workers", "c", f.workers, workersUsage)
	cmd.Flags().IntVar(&f.subjects, "subjects", f.subjects, "number of subjects")
	return a.withRedis(a.withChannel(cmd))
}

func (a *app) bench(ctx context.Context, args []string, f benchFlags) error {
	if f.span <= 0 || f.span > time.Minute {
		return usage.Errorf("--for must be up to 60s, got %s", f.span)
	}
	if f.workers < 1 || f.workers > 10_000 || f.subjects < 1 || f.subjects > 1_000_000 {
		return usage.Errorf("-c must be 1 to 10000 and --subjects 1 to 1000000, got %d and %d", f.workers, f.subjects)
	}
	namespace := "rlfunc-bench-" + strings.ToLower(rand.Text()[:8])
	conn, call, err := a.prepareCall(ctx, args, namespace)
	if err != nil {
		return err
	}
	defer conn.Close()
	r, failed := benchmark.Run(ctx, conn, call, benchmark.Options{
		Function: args[0], Namespace: namespace, Span: f.span, Workers: f.workers, Subjects: f.subjects,
		Started: func() { a.note("%s from %d workers for %s", args[0], f.workers, f.span) },
	})
	if r == nil {
		return failed
	}
	return cmp.Or(a.print(r, func() error { return a.lines(r.Lines()) }), failed)
}
