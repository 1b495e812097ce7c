package main

import (
	"context"
	"fmt"
	"time"
)

// addedRows measures what a request takes at 1,000 requests a second, and what the server adds to a round trip of Redis at the same rate.
func addedRows(ctx context.Context, srv *server, targets []*target, rounds int, span time.Duration) ([]Row, error) {
	const perSecond = 1000
	all := requests(1)
	calls := []struct {
		name string
		call func(i int) error
	}{{"PING", func(int) error { return srv.client.Ping(ctx).Err() }}}
	for _, t := range targets {
		calls = append(calls, struct {
			name string
			call func(i int) error
		}{t.name, func(i int) error { return t.ask(ctx, i, all[i*7919%len(all)]) }})
	}
	progress("serve: %d requests a second", perSecond)
	p50, p99 := make([][]float64, len(calls)), make([][]float64, len(calls))
	for range rounds {
		for k, c := range calls {
			took, err := paced(perSecond, span, c.call)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			p50[k], p99[k] = append(p50[k], quantile(took, 0.5)), append(p99[k], quantile(took, 0.99))
		}
	}
	var rows []Row
	for k, c := range calls {
		row := Row{
			Part: "serve", Name: fmt.Sprintf("%s at %d a second", c.name, perSecond), Value: exactly(perSecond), Unit: "requests/s",
			P50: new(spread(p50[k])), P99: new(spread(p99[k])),
		}
		if c.name == ourServer {
			added := make([]float64, rounds)
			for i := range added {
				added[i] = p99[k][i] - p99[0][i]
			}
			row.Goals = []Goal{{Text: "p99 at most 1000 us above PING", Got: spread(added).Median, Bound: 1000}}
		}
		rows = append(rows, row)
	}
	return rows, nil
}
