package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// A meter runs rounds. A round is cut into slices of a few milliseconds that take turns: the empty call, the workload,
// its rival, and again; each has the median of its slices. So what slows the machine down for a while hits all three
// alike, and a slice in which the server had to wait for its core counts no more than another.
type meter struct {
	client *redis.Client
	pipe   *pipe
	quick  bool
}

const slice = 500 // calls

// A turn is what one of those that take turns sends, and what each slice of it took.
type turn struct {
	commands [][]byte
	counter  string
	expect   string
	us       []float64
}

func (m *meter) round(ctx context.Context, w workload, peers []workload) (sample, error) {
	if err := m.client.FlushDB(ctx).Err(); err != nil {
		return sample{}, fmt.Errorf("empty the database: %w", err)
	}
	nothing := workload{subjects: w.subjects, call: empty, expect: ":1\r\n"}
	takers := []workload{nothing, w}
	if w.rival != "" {
		at := slices.IndexFunc(peers, func(p workload) bool { return p.name == w.rival })
		takers = append(takers, peers[at])
	}
	var turns []*turn
	for _, taker := range takers {
		t, err := m.prepare(ctx, taker)
		if err != nil {
			return sample{}, fmt.Errorf("prepare: %w", err)
		}
		turns = append(turns, t)
	}
	for start := 0; start < len(turns[1].commands); start += slice {
		for _, t := range turns {
			us, err := m.run(ctx, t, start)
			if err != nil {
				return sample{}, err
			}
			t.us = append(t.us, us)
		}
	}
	one := sample{empty: spread(turns[0].us).Median, own: spread(turns[1].us).Median}
	if len(turns) > 2 {
		one.rival = spread(turns[2].us).Median
	}
	return one, nil
}

// prepare brings the subjects into their state and returns the calls.
func (m *meter) prepare(ctx context.Context, w workload) (*turn, error) {
	subjects := w.subjects
	if m.quick {
		subjects = max(50, subjects/5)
	}
	now, err := m.client.Time(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("read the clock: %w", err)
	}
	t := &turn{counter: counter(w.call(0)), expect: w.expect}
	var preparation [][]byte
	for i := range subjects {
		t.commands = append(t.commands, encode(w.call(i)...))
		if w.prepare == nil {
			continue
		}
		for _, command := range w.prepare(i, now) {
			preparation = append(preparation, encode(command...))
		}
	}
	for i := 0; len(t.commands) < 4*slice; i++ {
		t.commands = append(t.commands, t.commands[i])
	}
	return t, m.pipe.send(preparation, "")
}

// run sends one slice and returns the microseconds per call.
func (m *meter) run(ctx context.Context, t *turn, start int) (float64, error) {
	if err := m.client.ConfigResetStat(ctx).Err(); err != nil {
		return 0, fmt.Errorf("reset the statistics: %w", err)
	}
	commands := t.commands[min(start, len(t.commands)):min(start+slice, len(t.commands))]
	if err := m.pipe.send(commands, t.expect); err != nil {
		return 0, err
	}
	return perCall(ctx, m.client, t.counter)
}

// rate is calls a second.
func rate(calls int, took time.Duration) float64 { return float64(calls) / took.Seconds() }
