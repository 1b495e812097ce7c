package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A way is one way of requesting a decision.
type way struct {
	name  string
	call  func(ctx context.Context, i int) error
	rates map[string]float64 // goal: least ratio to other ways' decisions/s, with 64 callers
	least float64            // goal: decisions/s with 64 callers; 0 for none
	delay map[string]float64 // goal: greatest ratio to other ways' p50, with one caller
}

// A crowd is the result of one round of calls, with latencies in microseconds.
type crowd struct{ perSecond, allocs, p50, p99 float64 }

const ownDeadline = 100 * time.Millisecond

// callerRows measures decisions per second in a service on the server's machine. One goroutine calls with deadlines of 100 ms, and 4 and
// more with a cancellable context. The rounds of all ways are interleaved.
func callerRows(ctx context.Context, srv *server, s settings) ([]Row, error) {
	o := *srv.client.Options()
	o.ContextTimeoutEnabled = true // as the README recommends
	client := redis.NewClient(&o)
	defer client.Close()
	all, done, err := ways(client)
	if err != nil {
		return nil, err
	}
	defer done()
	span, rounds := 500*time.Millisecond, min(s.rounds, 7)
	if s.quick {
		span = 100 * time.Millisecond
	}
	var rows []Row
	for _, callers := range []int{1, 4, 16, 64, 256} {
		got := map[string][]crowd{}
		for round := range rounds + 1 {
			for _, w := range all {
				if err := client.FlushDB(ctx).Err(); err != nil {
					return nil, fmt.Errorf("empty the database: %w", err)
				}
				c, err := gather(ctx, w, callers, span)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", w.name, err)
				}
				if round > 0 { // the first one opens the connections
					got[w.name] = append(got[w.name], c)
				}
			}
		}
		named := map[string]Row{}
		for _, w := range all {
			named[w.name] = crowdRow("caller", w.name, callers, got[w.name], "decisions/s")
		}
		for _, w := range all {
			row := named[w.name]
			row.Beside = fmt.Sprintf("%.0f allocations a call", each(got[w.name], func(c crowd) float64 { return c.allocs }).Median)
			for _, rival := range slices.Sorted(maps.Keys(w.rates)) {
				if callers == 64 {
					row.Goals = append(row.Goals, Goal{
						Text: fmt.Sprintf("at least %.1f of %s", w.rates[rival], rival), Got: row.Value.Median / named[rival].Value.Median, Bound: w.rates[rival], Least: true,
					})
				}
			}
			if w.least > 0 && callers == 64 {
				row.Goals = append(row.Goals, Goal{Text: fmt.Sprintf("at least %.0f", w.least), Got: row.Value.Median, Bound: w.least, Least: true})
			}
			for rival, bound := range w.delay {
				if callers == 1 {
					row.Goals = []Goal{{Text: fmt.Sprintf("p50 at most %.1f of %s", bound, rival), Got: row.P50.Median / named[rival].P50.Median, Bound: bound}}
				}
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// crowdRow returns the row of concurrent callers.
func crowdRow(part, name string, callers int, rounds []crowd, unit string) Row {
	plural := "s"
	if callers == 1 {
		plural = ""
	}
	return Row{
		Part: part, Name: fmt.Sprintf("%s, %d caller%s", name, callers, plural), Unit: unit,
		Value: each(rounds, func(c crowd) float64 { return c.perSecond }),
		P50:   new(each(rounds, func(c crowd) float64 { return c.p50 })),
		P99:   new(each(rounds, func(c crowd) float64 { return c.p99 })),
	}
}

func each(rounds []crowd, value func(crowd) float64) Spread {
	var values []float64
	for _, c := range rounds {
		values = append(values, value(c))
	}
	return spread(values)
}

const callerSubjects = 10_000

const (
	rateRival  = "redis_rate 100/h"
	emptyRival = "empty function, go-redis' AutoPipeline"
)

// ways returns the ways to compare. done closes their connections.
func ways(rdb *redis.Client) (all []way, done func(), err error) {
	client, err := ratelimit.New(rdb, fcall.Options{})
	if err != nil {
		return nil, nil, err
	}
	unshared, err := ratelimit.New(rdb, fcall.Options{NoSharing: true})
	if err != nil {
		return nil, nil, err
	}
	pipelined, err := rdb.AutoPipeline()
	if err != nil {
		return nil, nil, err
	}
	bare := func(c fcall.Caller) func(context.Context, int) error {
		return func(ctx context.Context, i int) error {
			cmd := redis.NewCmd(ctx, empty(subject(i))...)
			_ = c.Process(ctx, cmd)
			return cmd.Err()
		}
	}
	gcra := func(c *ratelimit.Client) func(context.Context, int) error {
		return func(ctx context.Context, i int) error {
			_, err := c.GCRA(ctx, ratelimit.GCRAParams{Subject: subject(i), Limit: 100, Period: time.Hour})
			return err
		}
	}
	gcraPeer := redis_rate.NewLimiter(rdb)
	windowPeer, err := newUlule(rdb)
	if err != nil {
		return nil, nil, err
	}
	other, err := dialRueidis(rdb)
	if err != nil {
		return nil, nil, err
	}
	countPeer, err := newRueidis(other)
	if err != nil {
		other.Close()
		return nil, nil, err
	}
	hot := func(endpoint string, most int64) policy.Endpoint {
		l := policy.Limit{Name: "all", By: policy.By{policy.ByAll}, Kind: policy.GCRA, Limit: 1_000_000, Window: 100 * time.Millisecond}
		if most > 0 {
			l.Prefetch = &policy.Prefetch{Most: most}
		}
		return policy.Endpoint{Name: endpoint, Limits: []policy.Limit{l}}
	}
	guarded, err := guard.New(rdb, &policy.Policy{Timeout: 10 * time.Second, Endpoints: []policy.Endpoint{{
		Name: "chat", Limits: []policy.Limit{{Name: "hour", Kind: policy.GCRA, Limit: 100, Window: time.Hour}},
	}, hot("global", 0), hot("most-10000", 10_000)}}, guard.Options{})
	if err != nil {
		other.Close()
		return nil, nil, err
	}
	clients := make([]string, callerSubjects) // made before: a decision from memory takes less time than to make one
	for i := range clients {
		clients[i] = "ip=" + string(subject(i))
	}
	byGuard := func(endpoint string) func(context.Context, int) error {
		return func(ctx context.Context, i int) error {
			d, err := guarded.Decide(ctx, guard.Request{Endpoint: endpoint, Subjects: clients[i : i+1]})
			if err == nil && d.Fallback != guard.FallbackNone {
				err = fmt.Errorf("decided without Redis: %w", d.Cause)
			}
			return err
		}
	}
	done = func() {
		_ = guarded.Close()
		other.Close()
	}
	return []way{
		{name: "empty function, go-redis", call: bare(rdb)},
		{name: emptyRival, call: bare(pipelined)},
		{name: "gcra 100/h", call: gcra(client), rates: map[string]float64{rateRival: 2.5, emptyRival: 0.6}, delay: map[string]float64{rateRival: 1}},
		{name: "gcra 100/h, no sharing", call: gcra(unshared)},
		{name: "sliding_log 100/h", call: func(ctx context.Context, i int) error {
			_, err := client.SlidingLog(ctx, ratelimit.SlidingLogParams{Subject: subject(i), Limit: 100, Window: time.Hour})
			return err
		}},
		{name: "guard, gcra 100/h", call: byGuard("chat")},
		{name: "guard, global limit", call: byGuard("global")},
		{name: "guard, global limit, prefetch most 10000", call: byGuard("most-10000"), rates: map[string]float64{rateRival: 15}, least: 1_000_000},
		{name: rateRival, call: func(ctx context.Context, i int) error {
			_, err := gcraPeer.Allow(ctx, string(subject(i)), redis_rate.PerHour(100))
			return err
		}},
		{name: "ulule/limiter 100/h", call: func(ctx context.Context, i int) error {
			_, err := windowPeer.Get(ctx, string(subject(i)))
			return err
		}},
		{name: "rueidislimiter 100/h", call: func(ctx context.Context, i int) error {
			_, err := countPeer.Allow(ctx, string(subject(i)))
			return err
		}},
	}, done, nil
}

// gather calls w from the given number of goroutines during span.
func gather(ctx context.Context, w way, goroutines int, span time.Duration) (crowd, error) {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	times := make([][]float64, goroutines)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			for last := start; last.Sub(start) < span && failed.Load() == nil; {
				own, cancel := ctx, context.CancelFunc(func() {})
				if goroutines == 1 {
					own, cancel = context.WithTimeout(ctx, ownDeadline)
				}
				err := w.call(own, int(next.Add(7919)%callerSubjects))
				cancel()
				if err != nil && !errors.Is(err, context.DeadlineExceeded) { // another program used the CPU
					failed.Store(&err)
					return
				}
				now := time.Now()
				times[g] = append(times[g], float64(now.Sub(last).Nanoseconds())/1000)
				last = now
			}
		})
	}
	group.Wait()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if err := failed.Load(); err != nil {
		return crowd{}, *err
	}
	all := slices.Concat(times...)
	slices.Sort(all)
	return crowd{rate(len(all), took), float64(after.Mallocs-before.Mallocs) / float64(len(all)), quantile(all, 0.5), quantile(all, 0.99)}, nil
}
