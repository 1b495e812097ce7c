package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/dyncall"
)

type benchFlags struct {
	span              time.Duration
	workers, subjects int
}

// A benchReport is what a function costs on a server.
type benchReport struct {
	Format    int            `json:"format"`
	Function  string         `json:"function"`
	Server    string         `json:"server"`
	Workers   int            `json:"workers"`
	Subjects  int            `json:"subjects"`
	Seconds   float64        `json:"seconds"`
	Calls     int            `json:"calls"`
	Errors    int            `json:"errors"`
	PerSecond float64        `json:"calls_per_second"`
	P50       float64        `json:"p50"` // seconds, as the next three
	P90       float64        `json:"p90"`
	P99       float64        `json:"p99"`
	Longest   float64        `json:"longest"`
	Outcomes  map[string]int `json:"outcomes"`
	// ServerTime is a call's seconds by the servers' own account, without the network; absent where they do not tell.
	ServerTime *float64 `json:"server_seconds_per_call,omitempty"`
	// Bytes is what a subject's keys take, in the middle; absent where the server does not tell.
	Bytes *float64 `json:"bytes_per_subject,omitempty"`
}

func (a *app) benchCommand() *cobra.Command {
	f := benchFlags{span: 3 * time.Second, workers: 16, subjects: 10_000}
	cmd := &cobra.Command{
		Use:   "bench LIBRARY.FUNCTION name=value ...",
		Short: "Measure what a function costs on a server",
		Long: `Calls a function for a while, for one subject after the other (user-1, user-2, ...), and tells how many calls a second the server
answered, how long they took here, what each cost the server by its own account, and how much memory a subject takes.

The keys are in a namespace of their own and are deleted in the end. The server's own time is that of all function calls that it answered
meanwhile: on a server that others use too it is theirs as well. It is work for the server: think before you run it in production.`,
		Example: `  rlfunc bench ratelimit.gcra --redis redis://127.0.0.1:6379 bucket=user limit=100 period=1h
  rlfunc bench ratelimit.sliding_log --redis redis://127.0.0.1:6379 bucket=user limit=1000 window=1m --subjects 10 --for 10s`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.bench(cmd.Context(), args, f) },
	}
	addDuration(cmd, &f.span, "for", "how long, up to 60s")
	cmd.Flags().IntVarP(&f.workers, "workers", "c", f.workers, "from so many workers at once")
	cmd.Flags().IntVar(&f.subjects, "subjects", f.subjects, "for so many subjects in turn")
	return a.withRedis(a.withChannel(cmd))
}

func (a *app) bench(ctx context.Context, args []string, f benchFlags) error {
	if len(args) == 0 || strings.Contains(args[0], "=") {
		return fmt.Errorf("measure which function? write LIBRARY.FUNCTION first, as `rlfunc bench ratelimit.gcra bucket=user limit=100 period=1h`")
	}
	if f.span <= 0 || f.span > time.Minute {
		return fmt.Errorf("--for must be up to 60s, got %s", f.span)
	}
	if f.workers < 1 || f.workers > 10_000 || f.subjects < 1 || f.subjects > 1_000_000 {
		return fmt.Errorf("-c must be 1 to 10000 and --subjects 1 to 1000000, got %d and %d", f.workers, f.subjects)
	}
	namespace := "rlfunc-bench-" + strings.ToLower(rand.Text()[:8])
	conn, call, err := a.prepare(ctx, args, namespace)
	if err != nil {
		return err
	}
	defer conn.close()
	keys := benchKeys{conn: conn, call: call, namespace: namespace, subjects: f.subjects}
	defer keys.remove(ctx)
	if _, err := call.Of(1).Do(ctx); err != nil { // what is wrong is told before it is wrong for seconds
		return err
	}
	a.talk("%s from %d workers for %s", args[0], f.workers, f.span)
	before, told := conn.functionTime(ctx)
	load := call.For(ctx, f.span, f.workers, f.subjects)
	if err := ctx.Err(); err != nil {
		return err
	}
	r := reportOf(load, args[0], conn.describe(ctx), f)
	if after, ok := conn.functionTime(ctx); ok && told && after.calls > before.calls {
		r.ServerTime = new((after.seconds - before.seconds) / float64(after.calls-before.calls))
	}
	r.Bytes = keys.bytes(ctx)
	if a.json {
		err = a.printJSON(r)
	} else {
		_, err = fmt.Fprintln(a.out, strings.Join(r.lines(), "\n"))
	}
	if err == nil && load.Errors > 0 {
		err = fmt.Errorf("%d of %d calls: %w", load.Errors, load.Calls, load.FirstError)
	}
	return err
}

func reportOf(l dyncall.Load, function, server string, f benchFlags) benchReport {
	return benchReport{
		Format: 1, Function: function, Server: server, Workers: f.workers, Subjects: f.subjects, Seconds: l.Took.Seconds(), Calls: l.Calls, Errors: l.Errors,
		PerSecond: float64(l.Calls) / l.Took.Seconds(), P50: l.P50.Seconds(), P90: l.P90.Seconds(), P99: l.P99.Seconds(), Longest: l.Longest.Seconds(),
		Outcomes: l.Outcomes,
	}
}

func (r benchReport) lines() []string {
	var outcomes []string
	for _, name := range slices.Sorted(maps.Keys(r.Outcomes)) {
		outcomes = append(outcomes, fmt.Sprintf("%s %d", name, r.Outcomes[name]))
	}
	if r.Errors > 0 {
		outcomes = append(outcomes, fmt.Sprintf("errors %d", r.Errors))
	}
	micros := func(seconds float64) string { return fmt.Sprintf("%.0f us", seconds*1e6) }
	out := []string{
		fmt.Sprintf("%s on %s, %d workers, %d subjects", r.Function, r.Server, r.Workers, r.Subjects),
		fmt.Sprintf("calls     %d in %.1f s: %.0f a second", r.Calls, r.Seconds, r.PerSecond),
		"outcomes  " + strings.Join(outcomes, ", "),
		fmt.Sprintf("here      p50 %s, p90 %s, p99 %s, longest %s", micros(r.P50), micros(r.P90), micros(r.P99), micros(r.Longest)),
	}
	if t := r.ServerTime; t != nil && *t > 0 {
		out = append(out, fmt.Sprintf("server    %.2f us a call: its one thread could answer %.0f a second", *t*1e6, 1 / *t))
	}
	if r.Bytes != nil {
		out = append(out, fmt.Sprintf("memory    %.0f bytes a subject", *r.Bytes))
	}
	return out
}
