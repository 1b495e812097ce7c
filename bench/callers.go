package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const callerSubjects = 10_000

// A way is one way of requesting a decision.
type way struct {
	name   string
	caller func() func(i int) error // makes what one goroutine calls; i chooses a subject
	goals  []ratio
}

// A ratio is a goal: what a way must have of another one.
type ratio struct {
	of      func(crowd) float64
	what    string
	rivals  []string // the best of them counts
	callers int
	bound   float64
	least   bool
}

func speed(c crowd) float64   { return c.perSecond }
func waiting(c crowd) float64 { return c.p50 }
func busy(c crowd) float64    { return c.serverCPU }

// faster is a goal of decisions or requests per second.
func faster(callers int, bound float64, rivals ...string) ratio {
	return ratio{speed, "at least %.2f of %s", rivals, callers, bound, true}
}

// sooner is a goal of the p50 of one caller.
func sooner(bound float64, rival string) ratio {
	return ratio{waiting, "p50 at most %.2f of %s", []string{rival}, 1, bound, false}
}

// A crowd is the result of one round of calls, with latencies and the server's processor time of a call in microseconds.
type crowd struct{ perSecond, allocs, p50, p99, serverCPU float64 }

// crowds measures ways by numbers of callers. The rounds of all ways are interleaved.
func crowds(ctx context.Context, part, unit string, all []way, srv *server, s settings) ([]Row, error) {
	span, rounds := 500*time.Millisecond, min(s.rounds, 7)
	if s.quick {
		span = 100 * time.Millisecond
	}
	all = slices.DeleteFunc(all, func(w way) bool { return !strings.Contains(w.name, s.only) && !strings.Contains(w.name, "redis_rate") })
	var rows []Row
	for _, callers := range s.callers {
		got := map[string][]crowd{}
		for round := range rounds + 1 {
			for _, w := range all {
				if err := srv.client.FlushDB(ctx).Err(); err != nil {
					return nil, fmt.Errorf("empty the database: %w", err)
				}
				before, err := srv.cpu(ctx)
				if err != nil {
					return nil, err
				}
				c, err := gather(w, callers, span)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", w.name, err)
				}
				after, err := srv.cpu(ctx)
				if err != nil {
					return nil, err
				}
				c.serverCPU = (after - before) * 1e6 / (c.perSecond * span.Seconds())
				if round > 0 { // the first one opens the connections
					got[w.name] = append(got[w.name], c)
				}
			}
		}
		for _, w := range all {
			row := crowdRow(part, w.name, got[w.name], unit)
			row.Callers = callers
			for _, g := range w.goals {
				if g.callers == callers && !slices.ContainsFunc(g.rivals, func(rival string) bool { return got[rival] == nil }) {
					row.Goals = append(row.Goals, g.goal(w.name, got))
				}
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (r ratio) goal(name string, got map[string][]crowd) Goal {
	own, best, rival := each(got[name], r.of).Median, math.NaN(), ""
	for _, other := range r.rivals {
		if v := each(got[other], r.of).Median; rival == "" || (v > best) == r.least {
			best, rival = v, other
		}
	}
	return Goal{Text: fmt.Sprintf(r.what, r.bound, rival), Got: own / best, Bound: r.bound, Least: r.least}
}

// crowdRow returns the row of concurrent callers.
func crowdRow(part, name string, rounds []crowd, unit string) Row {
	return Row{
		Part: part, Name: name, Unit: unit,
		Value:  each(rounds, speed),
		P50:    new(each(rounds, waiting)),
		P99:    new(each(rounds, func(c crowd) float64 { return c.p99 })),
		Allocs: each(rounds, func(c crowd) float64 { return c.allocs }).Median,
		CPU:    each(rounds, busy).Median,
	}
}

func each(rounds []crowd, value func(crowd) float64) Spread {
	var values []float64
	for _, c := range rounds {
		values = append(values, value(c))
	}
	return spread(values)
}

// gather calls w from the given number of goroutines during span.
func gather(w way, goroutines int, span time.Duration) (crowd, error) {
	var next, late atomic.Int64
	var failed atomic.Pointer[error]
	times := make([][]float64, goroutines)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			call := w.caller()
			for last := start; last.Sub(start) < span && failed.Load() == nil; {
				if err := call(int(next.Add(7919) % callerSubjects)); err != nil {
					if late.Add(1); !errors.Is(err, context.DeadlineExceeded) {
						failed.Store(&err)
						return
					}
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
	if n := late.Load(); n*100 > int64(len(all)) { // few are late where another program uses the processor
		return crowd{}, fmt.Errorf("%d of %d calls were not answered in time", n, len(all))
	}
	slices.Sort(all)
	return crowd{
		perSecond: rate(len(all), took), allocs: float64(after.Mallocs-before.Mallocs) / float64(len(all)),
		p50: quantile(all, 0.5), p99: quantile(all, 0.99),
	}, nil
}
