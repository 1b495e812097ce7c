package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

const (
	ourServer   = "rlfunc serve"
	theirServer = "envoyproxy/ratelimit"
	emptyServer = "empty gRPC server"
)

// serveRows measures `rlfunc serve` by Envoy's interface beside envoyproxy/ratelimit and a gRPC server that answers at once. Each is a
// process; the rounds are interleaved.
func serveRows(ctx context.Context, srv *server, s settings) ([]Row, error) {
	dir, err := os.MkdirTemp("", "rlfunc-bench-serve")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	targets, stop, err := startTargets(ctx, srv, dir, s.envoy)
	if err != nil {
		return nil, err
	}
	defer stop()
	span, rounds := time.Second, min(s.rounds, 7)
	if s.quick {
		span = 300 * time.Millisecond
	}
	got := map[shape]map[string][]load{}
	shapes := []shape{{64, 1}, {64, 3}, {1, 1}}
	for _, m := range shapes {
		progress("serve: %d callers, %d descriptors", m.callers, m.descriptors)
		got[m] = map[string][]load{}
		all := requests(m.descriptors)
		for round := range rounds + 1 {
			for _, t := range targets {
				l, err := t.crowded(ctx, all, m.callers, span)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", t.name, err)
				}
				if round > 0 { // the first one makes the keys
					got[m][t.name] = append(got[m][t.name], l)
				}
			}
		}
	}
	var rows []Row
	for _, m := range shapes {
		for _, t := range targets {
			rows = append(rows, m.row(t.name, got))
		}
	}
	grown, err := subjectRows(ctx, targets[0], s.quick)
	return append(rows, grown...), err
}

// A shape is what a round sends.
type shape struct{ callers, descriptors int }

func (m shape) row(name string, got map[shape]map[string][]load) Row {
	title := name
	if m.descriptors > 1 {
		title += fmt.Sprintf(", %d descriptors", m.descriptors)
	}
	row := crowdRow("serve", title, m.callers, crowds(got[m][name]), "requests/s")
	row.Beside = fmt.Sprintf("%.2f CPU s for 100,000 requests", spread(values(got[m][name], func(l load) float64 { return l.cpu })).Median)
	if name != ourServer {
		return row
	}
	goal := func(value func(load) float64, text string, rival string, of shape, bound float64, least bool) {
		if peer := got[of][rival]; len(peer) > 0 {
			ratio := byRound(values(got[m][name], value), values(peer, value))
			row.Goals = append(row.Goals, Goal{Text: fmt.Sprintf(text, bound, rival), Got: ratio, Bound: bound, Least: least})
		}
	}
	rate, p50, p99 := func(l load) float64 { return l.perSecond }, func(l load) float64 { return l.p50 }, func(l load) float64 { return l.p99 }
	switch m {
	case shape{64, 1}:
		goal(rate, "at least %.1f of %s", theirServer, m, 1.6, true)
		goal(rate, "at least %.1f of %s", emptyServer, m, 0.7, true)
		goal(p99, "p99 at most %.1f of %s", theirServer, m, 0.5, false)
	case shape{64, 3}:
		goal(rate, "at least %.1f of %s with 1 descriptor", theirServer, shape{64, 1}, 1, true)
	case shape{1, 1}:
		goal(p50, "p50 at most %.1f of %s", theirServer, m, 0.8, false)
	}
	return row
}

func crowds(rounds []load) (all []crowd) {
	for _, l := range rounds {
		all = append(all, l.crowd)
	}
	return all
}

func values(rounds []load, value func(load) float64) (all []float64) {
	for _, l := range rounds {
		all = append(all, value(l))
	}
	return all
}

// byRound returns the median of the ratios of a to b in each round.
func byRound(a, b []float64) float64 {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	return spread(ratios).Median
}
