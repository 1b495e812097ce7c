package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// A way is one manner of asking for a decision.
type way struct {
	name string
	call func(ctx context.Context, i int) error
}

// callerRows measures decisions a second as a service sees them, the server on the same machine, by 1 and 64 goroutines.
// The rounds of all ways are interleaved.
func callerRows(ctx context.Context, srv *server, s settings) ([]Row, error) {
	const subjects = 10_000
	piped, err := fcall.NewAutoPipeliner(srv.client, nil)
	if err != nil {
		return nil, err
	}
	defer piped.Close()
	all, err := ways(srv.client, piped)
	if err != nil {
		return nil, err
	}
	span, rounds := 500*time.Millisecond, min(s.rounds, 7)
	if s.quick {
		span = 100 * time.Millisecond
	}
	var rows []Row
	for _, goroutines := range []int{1, 64} {
		rates := make([][]float64, len(all))
		allocs := make([][]float64, len(all))
		for round := range rounds + 1 {
			for k, w := range all {
				if err := srv.client.FlushDB(ctx).Err(); err != nil {
					return nil, fmt.Errorf("empty the database: %w", err)
				}
				perSecond, perCall, err := crowd(ctx, w, goroutines, subjects, span)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", w.name, err)
				}
				if round > 0 { // the first one opens the connections
					rates[k] = append(rates[k], perSecond)
					allocs[k] = append(allocs[k], perCall)
				}
			}
		}
		for k, w := range all {
			rows = append(rows, Row{
				Part: "caller", Name: fmt.Sprintf("%s, %d goroutines", w.name, goroutines), Value: spread(rates[k]), Unit: "decisions/s",
				Beside: fmt.Sprintf("%.0f allocations a call", spread(allocs[k]).Median),
			})
		}
	}
	return rows, nil
}

func ways(plain *redis.Client, piped *fcall.AutoPipeliner) ([]way, error) {
	var out []way
	for _, c := range []struct {
		name   string
		caller fcall.Caller
	}{{"plain", plain}, {"auto-pipelined", piped}} {
		client, err := ratelimit.New(c.caller, fcall.Options{})
		if err != nil {
			return nil, err
		}
		out = append(out,
			way{"empty function, " + c.name, func(ctx context.Context, i int) error {
				cmd := redis.NewCmd(ctx, empty(subject(i))...)
				_ = c.caller.Process(ctx, cmd)
				return cmd.Err()
			}},
			way{"gcra 100/h, " + c.name, func(ctx context.Context, i int) error {
				_, err := client.GCRA(ctx, ratelimit.GCRAParams{Bucket: subject(i), Limit: 100, Period: time.Hour})
				return err
			}},
			way{"sliding_log 100/h, " + c.name, func(ctx context.Context, i int) error {
				_, err := client.SlidingLog(ctx, ratelimit.SlidingLogParams{Bucket: subject(i), Limit: 100, Window: time.Hour})
				return err
			}},
		)
	}
	gcraPeer := redis_rate.NewLimiter(plain)
	windowPeer, err := newUlule(plain)
	if err != nil {
		return nil, err
	}
	swapPeer, err := newThrottled(plain)
	if err != nil {
		return nil, err
	}
	return append(out,
		way{"redis_rate 100/h", func(ctx context.Context, i int) error {
			_, err := gcraPeer.Allow(ctx, string(subject(i)), redis_rate.PerHour(100))
			return err
		}},
		way{"throttled 100/h", func(ctx context.Context, i int) error {
			_, _, err := swapPeer.RateLimitCtx(ctx, string(subject(i)), 1)
			return err
		}},
		way{"ulule/limiter 100/h", func(ctx context.Context, i int) error {
			_, err := windowPeer.Get(ctx, string(subject(i)))
			return err
		}},
	), nil
}

// crowd calls from so many goroutines for a while.
func crowd(ctx context.Context, w way, goroutines, subjects int, span time.Duration) (perSecond, allocs float64, err error) {
	var calls, next atomic.Int64
	var failed atomic.Pointer[error]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	var group sync.WaitGroup
	for range goroutines {
		group.Go(func() {
			own := int64(0)
			defer func() { calls.Add(own) }()
			for time.Since(start) < span && failed.Load() == nil {
				if err := w.call(ctx, int(next.Add(7919)%int64(subjects))); err != nil {
					failed.Store(&err)
					return
				}
				own++
			}
		})
	}
	group.Wait()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if err := failed.Load(); err != nil {
		return 0, 0, *err
	}
	return rate(int(calls.Load()), took), float64(after.Mallocs-before.Mallocs) / float64(calls.Load()), nil
}
