package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// A meter runs rounds. A round alternates slices of a few milliseconds: the empty call, the workload and its rival. Only the fastest tenth
// of each one's slices counts. So a temporary slowdown affects all three alike, and slices with cold caches or a preempted server do
// not count.
type meter struct {
	client *redis.Client
	pipe   *pipe
	quick  bool
}

const slice = 500 // calls

// A turn holds the commands of one alternating workload, and the time of each of its slices.
type turn struct {
	commands [][]byte
	counter  string
	expect   string
	function any
	us       []float64
}

// round measures a workload once. all are the workloads that it may be compared with.
func (m *meter) round(ctx context.Context, w workload, all []workload) (sample, error) {
	if err := m.client.FlushDB(ctx).Err(); err != nil {
		return sample{}, fmt.Errorf("empty the database: %w", err)
	}
	turns, err := m.prepare(ctx, workload{subjects: w.subjects, call: empty, expect: ":1\r\n"}, subject)
	if err != nil {
		return sample{}, err
	}
	own, err := m.prepare(ctx, w, subject)
	if err != nil {
		return sample{}, err
	}
	turns = append(turns, own...)
	if w.rival != "" {
		at := slices.IndexFunc(all, func(p workload) bool { return p.name == w.rival })
		rival, err := m.prepare(ctx, all[at], rivalSubject)
		if err != nil {
			return sample{}, fmt.Errorf("%s: %w", w.rival, err)
		}
		turns = append(turns, rival...)
	}
	for start := 0; start < len(own[0].commands); start += slice {
		for _, t := range turns {
			us, err := m.run(ctx, t, start)
			if err != nil {
				return sample{}, err
			}
			t.us = append(t.us, us)
		}
	}
	one := sample{empty: undisturbed(turns[0].us)}
	for _, t := range own {
		one.own += undisturbed(t.us)
	}
	for _, t := range turns[1+len(own):] {
		one.rival += undisturbed(t.us)
	}
	return one, nil
}

// prepare sets the state of the subjects and returns a turn for each command of a decision.
func (m *meter) prepare(ctx context.Context, w workload, name func(int) fcall.Subject) ([]*turn, error) {
	subjects := w.subjects
	if subjects == 0 {
		subjects = 10_000
	}
	if m.quick {
		subjects = max(50, subjects/5)
	}
	if err := m.state(ctx, w, subjects, name); err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	var turns []*turn
	for i, call := range append([]command{w.call}, w.also...) {
		t := &turn{counter: counter(call(name(0)))}
		if i == 0 {
			t.expect, t.function = w.expect, call(name(0))[1]
		}
		for i := range subjects {
			t.commands = append(t.commands, encode(call(name(i))...))
		}
		for i := 0; len(t.commands) < 4*slice; i++ {
			t.commands = append(t.commands, t.commands[i])
		}
		turns = append(turns, t)
	}
	return turns, nil
}

// state sets the state of the first subject with the workload's commands, and copies its keys to the others.
func (m *meter) state(ctx context.Context, w workload, subjects int, name func(int) fcall.Subject) error {
	if w.prepare == nil {
		return nil
	}
	now, err := m.client.Time(ctx).Result()
	if err != nil {
		return fmt.Errorf("read the clock: %w", err)
	}
	var first, copies [][]byte
	for _, command := range w.prepare(name(0), now) {
		first = append(first, encode(command...))
	}
	from := keys(w.call(name(0)))
	for i := 1; i < subjects; i++ {
		for k, to := range keys(w.call(name(i))) {
			copies = append(copies, encode("COPY", from[k], to))
		}
	}
	if err := m.pipe.send(first, "", nil); err != nil {
		return err
	}
	return m.pipe.send(copies, ":", nil) // 0 where the first subject has no such key
}

// run sends one slice and returns the microseconds per call.
func (m *meter) run(ctx context.Context, t *turn, start int) (float64, error) {
	if err := m.client.ConfigResetStat(ctx).Err(); err != nil {
		return 0, fmt.Errorf("reset the statistics: %w", err)
	}
	commands := t.commands[min(start, len(t.commands)):min(start+slice, len(t.commands))]
	if err := m.pipe.send(commands, t.expect, t.function); err != nil {
		return 0, err
	}
	return perCall(ctx, m.client, t.counter)
}

// rate returns calls per second.
func rate(calls int, took time.Duration) float64 { return float64(calls) / took.Seconds() }
