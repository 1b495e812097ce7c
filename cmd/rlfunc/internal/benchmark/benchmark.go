package benchmark

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/dyncall"
)

// Options of Run.
type Options struct {
	Function  string // for the report
	Namespace string // of the keys, which Run deletes
	Span      time.Duration
	Workers   int
	Subjects  int
	Started   func() // is called before the load starts
}

// A Report is what a function costs on a server.
type Report struct {
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
	// ServerTime is the seconds of a call on the servers, without the network; omitted if they do not report it.
	ServerTime *float64 `json:"server_seconds_per_call,omitempty"`
	// Bytes is the median memory of a subject's keys; omitted if the server does not report it.
	Bytes *float64 `json:"bytes_per_subject,omitempty"`
}

// Run calls a function for a while. The error is the first one of the calls, with a report, or that of the first call of all, without.
func Run(ctx context.Context, conn *connection.Conn, call *dyncall.Call, o Options) (*Report, error) {
	k := keys{conn: conn, call: call, namespace: o.Namespace, subjects: o.Subjects}
	if _, err := call.Of(1).Do(ctx); err != nil { // fails here rather than for the whole span
		return nil, err
	}
	defer k.remove(ctx)
	o.Started()
	before, known := readFunctionTime(ctx, conn)
	load := call.For(ctx, o.Span, o.Workers, o.Subjects)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r := &Report{
		Function: o.Function, Server: serverName(ctx, conn), Workers: o.Workers, Subjects: o.Subjects, Seconds: load.Took.Seconds(), Calls: load.Calls,
		Errors: load.Errors, PerSecond: float64(load.Calls) / load.Took.Seconds(), P50: load.P50.Seconds(), P90: load.P90.Seconds(),
		P99: load.P99.Seconds(), Longest: load.Longest.Seconds(), Outcomes: load.Outcomes,
	}
	if after, ok := readFunctionTime(ctx, conn); ok && known && after.calls > before.calls {
		r.ServerTime = new((after.seconds - before.seconds) / float64(after.calls-before.calls))
	}
	r.Bytes = k.bytes(ctx)
	if load.Errors > 0 {
		return r, fmt.Errorf("%d of %d calls: %w", load.Errors, load.Calls, load.FirstError)
	}
	return r, nil
}

// Lines returns the report as text.
func (r *Report) Lines() []string {
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
		fmt.Sprintf("calls     %d in %.1f s: %.0f per second", r.Calls, r.Seconds, r.PerSecond),
		"outcomes  " + strings.Join(outcomes, ", "),
		fmt.Sprintf("client    p50 %s, p90 %s, p99 %s, longest %s", micros(r.P50), micros(r.P90), micros(r.P99), micros(r.Longest)),
	}
	if t := r.ServerTime; t != nil && *t > 0 {
		out = append(out, fmt.Sprintf("server    %.2f us per call: its one thread could answer %.0f per second", *t*1e6, 1 / *t))
	}
	if r.Bytes != nil {
		out = append(out, fmt.Sprintf("memory    %.0f bytes per subject", *r.Bytes))
	}
	return out
}
