package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/servers"
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

// A sample is the result of one round of a workload, in microseconds of the server per call.
type sample struct{ own, empty, rival float64 }

// serverRows measures the server's time for each workload by INFO commandstats, which omits the network. Rounds of all workloads are
// interleaved.
func serverRows(ctx context.Context, srv *server, s settings) ([]Row, error) {
	peers, err := peerWorkloads(ctx, srv.client)
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(workloads(), func(w workload) bool { return !strings.Contains(w.name, s.only) })
	work := append(own, peers...)
	all := append(workloads(), peers...)
	p, err := dial(srv.network, srv.addr)
	if err != nil {
		return nil, err
	}
	defer p.conn.Close()
	samples := make([][]sample, len(work))
	for round := range s.rounds {
		for i := range work {
			at := (i + round) % len(work)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			m := meter{client: srv.client, pipe: p, quick: s.quick}
			one, err := m.round(ctx, work[at], all)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", work[at].name, err)
			}
			samples[at] = append(samples[at], one)
		}
	}
	return costRows(work, samples), srv.client.FlushDB(ctx).Err()
}

func costRows(work []workload, samples [][]sample) []Row {
	var empties []float64
	rows := []Row{{}}
	for i, w := range work {
		var us, times, shares []float64
		for _, one := range samples[i] {
			us = append(us, one.own)
			times = append(times, one.own/one.empty)
			shares = append(shares, one.own/one.rival)
			empties = append(empties, one.empty)
		}
		multiple := spread(times)
		row := Row{Part: "server", Name: w.name, Value: spread(us), Unit: "us", Empty: &multiple}
		if w.rival != "" {
			share := spread(shares).Median
			row.Beside = fmt.Sprintf("%.3f of %s", share, w.rival)
			if w.share > 0 {
				row.Goals = append(row.Goals, Goal{Text: fmt.Sprintf("at most %g of it", w.share), Got: share, Bound: w.share})
			}
		}
		rows = append(rows, row)
	}
	one := exactly(1)
	rows[0] = Row{Part: "server", Name: "empty function, 1 key", Value: spread(empties), Unit: "us", Empty: &one}
	return rows
}

var usage = regexp.MustCompile(`^calls=(\d+),usec=(\d+)`)

// perCall returns the microseconds per call of a command since the last reset. It divides the sum, because usec_per_call has only two
// decimals.
func perCall(ctx context.Context, c *redis.Client, counter string) (float64, error) {
	info, err := c.Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, fmt.Errorf("ask for the statistics: %w", err)
	}
	m := usage.FindStringSubmatch(servers.Info(info)[counter])
	if m == nil {
		return 0, fmt.Errorf("INFO has no %s", counter)
	}
	calls, _ := strconv.ParseFloat(m[1], 64)
	usec, _ := strconv.ParseFloat(m[2], 64)
	return usec / calls, nil
}
