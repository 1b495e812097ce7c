// Package benchmark measures what a function costs on a server.
package benchmark

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/dyncall"
	"github.com/rlfunc/rlfunc/internal/serverinfo"
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

// functionTime is the total of function calls on all primaries since they started.
type functionTime struct {
	calls   int64
	seconds float64
}

var functionStats = regexp.MustCompile(`(?m)^cmdstat_fcall(?:_ro)?:calls=(\d+),usec=(\d+)`)

// readFunctionTime reports false if a server does not report the time, for example because the user may not run INFO.
func readFunctionTime(ctx context.Context, conn *connection.Conn) (functionTime, bool) {
	var sum functionTime
	var mu sync.Mutex
	err := conn.EachPrimary(ctx, func(ctx context.Context, primary *redis.Client) error {
		info, err := primary.Info(ctx, "commandstats").Result()
		mu.Lock()
		defer mu.Unlock()
		for _, m := range functionStats.FindAllStringSubmatch(info, -1) {
			calls, _ := strconv.ParseInt(m[1], 10, 64)
			us, _ := strconv.ParseInt(m[2], 10, 64)
			sum.calls += calls
			sum.seconds += float64(us) / 1e6
		}
		return err
	})
	return sum, err == nil
}

// serverName names the server, with its version if a primary reports one.
func serverName(ctx context.Context, conn *connection.Conn) string {
	name := conn.Name
	_ = conn.EachPrimary(ctx, func(ctx context.Context, primary *redis.Client) error {
		info, err := primary.Info(ctx, "server").Result()
		if server := serverinfo.Identify(info); err == nil && !conn.Embedded() {
			name = fmt.Sprintf("%s at %s", server, conn.Name)
		}
		return err
	})
	return name
}

// keys are the keys that a measurement writes.
type keys struct {
	conn      *connection.Conn
	call      *dyncall.Call
	namespace string
	subjects  int
}

// remove deletes the keys, also after an interruption. Keys that it does not reach expire.
func (k keys) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for from := 1; from <= k.subjects; from += 1000 {
		_, err := k.conn.Client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i := from; i < min(from+1000, k.subjects+1); i++ {
				pipe.Unlink(ctx, k.call.Of(i).Keys(k.namespace)...)
			}
			return nil
		})
		if err != nil {
			return // a server that does not answer would take the whole time
		}
	}
}

// bytes returns the median memory of a subject's keys over at most 200 subjects, or nil if the server does not report it.
func (k keys) bytes(ctx context.Context) *float64 {
	var sums []float64
	for i := 1; i <= min(k.subjects, 200); i++ {
		sum := int64(0)
		for _, key := range k.call.Of(i).Keys(k.namespace) {
			n, err := k.conn.Client.MemoryUsage(ctx, key, 0).Result()
			if err != nil && err != redis.Nil {
				return nil
			}
			sum += n
		}
		if sum > 0 {
			sums = append(sums, float64(sum))
		}
	}
	if len(sums) == 0 {
		return nil
	}
	slices.Sort(sums)
	return &sums[len(sums)/2]
}
