package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/serverinfo"
)

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
		if w.most > 0 {
			row.Goals = append(row.Goals, Goal{Text: fmt.Sprintf("at most %gx", w.most), Got: multiple.Median, Bound: w.most})
		}
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
	m := usage.FindStringSubmatch(serverinfo.Fields(info)[counter])
	if m == nil {
		return 0, fmt.Errorf("INFO has no %s", counter)
	}
	calls, _ := strconv.ParseFloat(m[1], 64)
	usec, _ := strconv.ParseFloat(m[2], 64)
	return usec / calls, nil
}
