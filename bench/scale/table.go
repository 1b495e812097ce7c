package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// base returns the scene of processes that each get 100 requests a second, a quarter more than the global limit admits.
func base(processes, shards int, seed uint64) (scene, error) {
	l, service, err := readLatencies(measured)
	rate := 100 * float64(processes)
	return scene{
		processes: processes, shards: shards, rate: rate, limit: int64(rate * 0.8), window: time.Second, subjects: 1_000_000,
		timeout: 50 * time.Millisecond, lasts: 3 * time.Second, seed: seed, latency: l.draw, service: service,
	}, err
}

// prefetched prefetches the global limit.
func prefetched(s scene, most int64, lease time.Duration) scene {
	s.most, s.lease = most, lease
	return s
}

// regions returns the scene of 30 processes in three regions. One of them has Redis, and the others are 80 ms away.
func regions(seed uint64) (scene, error) {
	s, err := base(30, 1, seed)
	s.away = []time.Duration{0, 80 * time.Millisecond, 80 * time.Millisecond}
	s.subjects, s.timeout, s.window, s.lasts = 0, 500*time.Millisecond, 10*time.Second, 20*time.Second
	s.limit *= 10
	return s, err
}

// A table is the scenes that the tool runs, with their results.
type table struct{ cluster, regions []outcome }

type outcome struct {
	scene
	result
}

func tableOf(seed uint64) (t table, err error) {
	for _, processes := range []int{10, 100, 1000} {
		s, err := base(processes, 10, seed)
		if err != nil {
			return t, err
		}
		for _, s := range []scene{s, prefetched(s, 100, 100*time.Millisecond), prefetched(s, 1000, time.Second)} {
			t.cluster = append(t.cluster, outcome{s, simulate(s)})
		}
	}
	s, err := regions(seed)
	if err != nil {
		return t, err
	}
	for _, s := range []scene{s, prefetched(s, 2000, 100*time.Millisecond), prefetched(s, 2000, time.Second), prefetched(s, 2000, 5*time.Second)} {
		t.regions = append(t.regions, outcome{s, simulate(s)})
	}
	return t, nil
}

// text returns the table in Markdown.
func (t *table) text() string {
	var b strings.Builder
	fmt.Fprintln(&b, "| processes | prefetch | calls per second to the busiest shard | admitted of allowed | no answer in 50 ms | p99 |")
	fmt.Fprintln(&b, "|---|---|---|---|---|---|")
	for i := range t.cluster {
		o := &t.cluster[i]
		fmt.Fprintf(&b, "| %d | %s | %.0f | %.1f %% | %.1f %% | %s |\n", o.processes, o.prefetch(), o.hottest(),
			100*o.share(), 100*float64(o.undecided)/float64(o.requests), quantile(o.allWaits(), 0.99))
	}
	fmt.Fprintln(&b, "\n| region | prefetch | without a call | p50 | p99 | admitted of allowed |")
	fmt.Fprintln(&b, "|---|---|---|---|---|---|")
	for i := range t.regions {
		o := &t.regions[i]
		for region, name := range []string{"home", "80 ms away"} {
			waits := o.waits[region]
			fmt.Fprintf(&b, "| %s | %s | %.1f %% | %s | %s | %.1f %% |\n", name, o.prefetch(), 100*instant(waits), quantile(waits, 0.5), quantile(waits, 0.99), 100*o.share())
		}
	}
	return b.String()
}

func (o *outcome) prefetch() string {
	if o.most == 0 {
		return "none"
	}
	return fmt.Sprintf("%d for %s", o.most, o.lease)
}

// hottest returns the calls per second to the shard that has most.
func (o *outcome) hottest() float64 { return float64(slices.Max(o.calls)) / o.lasts.Seconds() }

// share returns what was admitted, of what the global limit allows.
func (o *outcome) share() float64 {
	allowed := float64(o.limit) * float64(o.lasts) / float64(o.window)
	if o.gcra {
		allowed += float64(o.limit) // the burst
	}
	return float64(o.admitted) / min(allowed, float64(o.requests))
}

func (o *outcome) allWaits() []time.Duration {
	all := slices.Concat(o.waits...)
	slices.Sort(all)
	return all
}

// instant returns how many decisions needed no call.
func instant(waits []time.Duration) float64 {
	n, _ := slices.BinarySearch(waits, 1)
	return float64(n) / float64(len(waits))
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[int(q*float64(len(sorted)-1))].Round(10 * time.Microsecond)
}
