package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

const embeddedGoal = 100_000 // gcra calls a second on one core

// embeddedRows measures the embedded engine on one core, with a live key for each subject.
func embeddedRows(ctx context.Context, s settings) ([]Row, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	subjects := 100_000
	if s.quick {
		subjects = 10_000
	}
	server := embedded.New(embedded.Options{})
	defer server.Close()
	if err := server.Process(ctx, redis.NewCmd(ctx, "FUNCTION", "LOAD", ratelimit.Library.Code)); err != nil {
		return nil, fmt.Errorf("load ratelimit: %w", err)
	}
	client, err := ratelimit.New(server, fcall.Options{})
	if err != nil {
		return nil, err
	}
	names := make([]fcall.Subject, subjects)
	for i := range names {
		names[i] = subject(i)
	}
	hour := ratelimit.GCRAParams{Limit: 1000, Period: time.Hour} // an interval of 3.6 s: keys live long
	raw := make([][]any, subjects)
	for i := range raw {
		raw[i] = gcra(hour, 0)(names[i])
	}
	kinds := []struct {
		name string
		call func(i int) error
		goal float64
	}{
		{"gcra through Process", func(i int) error { return server.Process(ctx, redis.NewCmd(ctx, raw[i]...)) }, embeddedGoal},
		{"gcra through the generated client", func(i int) error {
			p := hour
			p.Subject = names[i]
			_, err := client.GCRA(ctx, p)
			return err
		}, 0},
		{"sliding_log through the generated client", func(i int) error {
			_, err := client.SlidingLog(ctx, ratelimit.SlidingLogParams{Subject: names[i], Limit: 1000, Window: time.Hour})
			return err
		}, 0},
	}
	rounds := min(s.rounds, 5)
	rates := make([][]float64, len(kinds))
	allocs := make([]float64, len(kinds))
	for round := range rounds + 1 {
		for k, kind := range kinds {
			perSecond, perCall, err := sequence(kind.call, subjects)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", kind.name, err)
			}
			if round > 0 { // the first round creates the keys
				rates[k] = append(rates[k], perSecond)
				allocs[k] = perCall
			}
		}
	}
	var rows []Row
	for k, kind := range kinds {
		row := Row{Part: "embedded", Name: kind.name, Value: spread(rates[k]), Unit: "calls/s", Beside: fmt.Sprintf("%.0f allocations a call", allocs[k])}
		if kind.goal > 0 {
			row.Goals = []Goal{{Text: fmt.Sprintf("at least %.0f", kind.goal), Got: row.Value.Median, Bound: kind.goal, Least: true}}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// sequence calls once for each subject, not in the order of their creation. It returns the calls per second of one core, including
// garbage collection.
func sequence(call func(i int) error, subjects int) (perSecond, allocs float64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	used := cpuTime(start)
	at := 0
	for range subjects {
		at = (at + 7919) % subjects // a prime, so it reaches every subject
		if err := call(at); err != nil {
			return 0, 0, err
		}
	}
	used = cpuTime(start) - used
	runtime.ReadMemStats(&after)
	return rate(subjects, used), float64(after.Mallocs-before.Mallocs) / float64(subjects), nil
}
