package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
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
	plural := "s"
	if m.callers == 1 {
		plural = ""
	}
	row := crowdRow("serve", fmt.Sprintf("%s, %d caller%s", title, m.callers, plural), rounds(got[m][name]), "requests/s")
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

func rounds(loads []load) (all []crowd) {
	for _, l := range loads {
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

// request returns the request of client i, with up to three descriptors.
func request(i, descriptors int) *ratelimitv3.RateLimitRequest {
	entry := func(key, value string) *commonv3.RateLimitDescriptor {
		return &commonv3.RateLimitDescriptor{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: key, Value: value}}}
	}
	return &ratelimitv3.RateLimitRequest{Domain: "bench", Descriptors: []*commonv3.RateLimitDescriptor{
		entry("remote_address", fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)),
		entry("user", fmt.Sprint("user-", i)),
		entry("tenant", fmt.Sprint("tenant-", i%100)),
	}[:descriptors]}
}

// requests returns those of the callers' clients; making one takes time.
func requests(descriptors int) []*ratelimitv3.RateLimitRequest {
	all := make([]*ratelimitv3.RateLimitRequest, callerSubjects)
	for i := range all {
		all[i] = request(i, descriptors)
	}
	return all
}

// ask sends a request of caller i, and checks that it passes.
func (t *target) ask(ctx context.Context, i int, r *ratelimitv3.RateLimitRequest) error {
	a, err := t.clients[i%connections].ShouldRateLimit(ctx, r)
	if err == nil && a.OverallCode != ratelimitv3.RateLimitResponse_OK {
		err = errors.New("answered " + a.OverallCode.String())
	}
	return err
}

// A load is the result of one round.
type load struct {
	crowd
	cpu float64 // CPU seconds of the server's process for 100,000 requests
}

// crowded sends requests from callers during span.
func (t *target) crowded(ctx context.Context, all []*ratelimitv3.RateLimitRequest, callers int, span time.Duration) (load, error) {
	before, err := t.cpu()
	if err != nil {
		return load{}, err
	}
	c, err := gather(way{name: t.name, caller: func() func(int) error {
		return func(i int) error { return t.ask(ctx, i, all[i]) }
	}}, callers, span)
	if err != nil {
		return load{}, err
	}
	after, err := t.cpu()
	return load{c, (after - before).Seconds() * 100_000 / (c.perSecond * span.Seconds())}, err
}

// subjectRows measures the memory of the server after requests of many different clients.
func subjectRows(ctx context.Context, t *target, quick bool) ([]Row, error) {
	steps := []int{10_000, 100_000, 1_000_000}
	if quick {
		steps = steps[:2]
	}
	var rows []Row
	sent := 0
	for _, n := range steps {
		progress("serve: %d subjects", n)
		if err := t.visit(ctx, sent, n); err != nil {
			return nil, err
		}
		sent = n
		held, err := t.resident()
		if err != nil {
			return nil, err
		}
		rows = append(rows, Row{Part: "serve", Name: fmt.Sprintf("memory after %d subjects", n), Value: exactly(float64(held) / (1 << 20)), Unit: "MiB"})
	}
	return rows, nil
}

// visit sends one request of each client from number from to number to.
func (t *target) visit(ctx context.Context, from, to int) error {
	var next atomic.Int64
	next.Store(int64(from))
	var failed atomic.Pointer[error]
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() {
			for failed.Load() == nil {
				i := int(next.Add(1) - 1)
				if i >= to {
					return
				}
				if err := t.ask(ctx, i, request(i, 1)); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// An emptyService answers at once.
type emptyService struct {
	ratelimitv3.UnimplementedRateLimitServiceServer
}

func (emptyService) ShouldRateLimit(_ context.Context, r *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	return &ratelimitv3.RateLimitResponse{
		OverallCode: ratelimitv3.RateLimitResponse_OK,
		Statuses:    make([]*ratelimitv3.RateLimitResponse_DescriptorStatus, 0, len(r.Descriptors)),
	}, nil
}

// serveEmpty is the process of an emptyService.
func serveEmpty(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	ratelimitv3.RegisterRateLimitServiceServer(s, emptyService{})
	return s.Serve(l)
}
