// Package serve is the process behind `rlfunc serve`: a policy for proxies and for services in any language.
//
// One port answers gRPC: Envoy's rate limit service (package envoyguard) and grpc.health.v1. Another one answers HTTP:
//
//	/forward-auth  for proxies: see httpguard's ForwardAuth
//	/livez         200 while the process runs
//	/readyz        200 while the process takes requests; else 503 with the reason
//	/metrics       for Prometheus
//
// A port of its own, off by default, answers only the probes /livez and /readyz, so that connections of proxies do not take their places.
//
// Another port, off by default, is for programs: a JSON API that decides, settles, refunds, issues challenges and shows subjects. openapi.json
// describes it. It needs bearer tokens unless it is a loopback address.
//
// A process is ready once Redis has run a function of the library that decides. After that the policy's failure modes decide while Redis
// cannot, so an outage of Redis does not take the process out of its load balancer; /readyz says that they do. It is not ready while it
// drains.
//
// The ports are TCP ports or Unix sockets: see Listen.
//
// When its context ends, Run reports "not ready" immediately, answers for Options.Delay longer, then
// finishes the requests in flight for at most Options.Drain.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/report"
	"github.com/rlfunc/rlfunc/guard/telemetry"
	"github.com/rlfunc/rlfunc/guard/telemetry/prometheus"
	"github.com/rlfunc/rlfunc/internal/reload"
)

// Options configures Run.
type Options struct {
	// Redis has the libraries, or auto-loads them. Required.
	Redis redis.UniversalClient
	// Policy is the policy's file. Run reloads it when it changes. Required.
	Policy string
	// GRPC and HTTP accept connections; Run closes them. Required.
	GRPC, HTTP net.Listener
	// API accepts the connections of programs; Run closes it. It must be a loopback address or a Unix socket unless there are Tokens or a
	// TLS.ClientCA. Defaults to none.
	API net.Listener
	// Health accepts the connections of probes, for /livez and /readyz, without TLS; Run closes it. Connections of proxies do not take its
	// places. Defaults to none: probes use HTTP.
	Health net.Listener
	// TLS encrypts GRPC, HTTP and API. Defaults to none.
	TLS *TLS
	// Tokens is a file of the SHA-256 digests of bearer tokens, see identity.Digests, of which requests to API need one. It is reloaded.
	// Defaults to none: each program that reaches API may use it.
	Tokens string
	// Connections is the most open connections of each listener; further ones wait. Defaults to 1024.
	Connections int
	// ReadTimeout is how long a peer may take for the HTTP/2 preface, for a request, for the answer to a ping of HTTP/2, and on GRPC and
	// over HTTP/2 to read what the server writes. Defaults to 5 s.
	ReadTimeout time.Duration
	// Delay is how long Run keeps answering after its context has ended, so that load balancers see that it is not ready. Defaults to 0.
	Delay time.Duration
	// Drain is how long requests in flight may take after that. With a negative one, connections are closed immediately, without an error. Defaults to 10 s.
	Drain time.Duration
	// Reload makes Run read the policy, and the files of keys, tokens and certificates, at once and whatever their times. It logs what changed.
	// Defaults to none: these files are still read within 2 s after a change.
	Reload <-chan os.Signal
	// Guard configures the decisions. Run adds observers. Defaults to guard's own defaults.
	Guard guard.Options
	// Logger writes the records, but for some of packages guard and identity, which use slog.Default(). Defaults to slog.Default().
	Logger *slog.Logger
	// SubjectKey is the key of the short forms of subjects in records, as of telemetry.Options. Defaults to a random one.
	SubjectKey []byte
}

// A StartError is why Run did not begin to serve: the policy, a file of keys, tokens or certificates, or an option is not valid.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

// ErrCutOff means that requests were in flight for longer than Options.Drain.
var ErrCutOff = errors.New("drain: requests were still in flight")

// Run serves until ctx ends and requests have finished. It returns a StartError, ErrCutOff, or the error of a listener.
func Run(ctx context.Context, o Options) (err error) {
	fill(&o)
	for _, l := range []net.Listener{o.GRPC, o.HTTP, o.API, o.Health} {
		if l != nil {
			defer l.Close()
		}
	}
	started := false
	defer func() {
		if err != nil && !started {
			err = &StartError{err}
		}
	}()
	if err := o.TLS.check(); err != nil {
		return err
	}
	p, err := policy.Load(o.Policy)
	if err != nil {
		return err
	}
	metrics, err := prometheus.New()
	if err != nil {
		return err
	}
	defer metrics.Close(context.WithoutCancel(ctx))
	exported, err := telemetry.New(telemetry.Options{MeterProvider: metrics.MeterProvider(), Logger: o.Logger, SubjectKey: o.SubjectKey})
	if err != nil {
		return err
	}
	reporter, err := report.New(o.Redis, report.Options{Namespace: p.Namespace, OnError: seldom(o.Logger)})
	if err != nil {
		return err
	}
	defer reporter.Close()
	o.Guard.Observers, o.Guard.Processes = append(o.Guard.Observers, exported.Observe, reporter.Observe), reporter.Processes
	g, err := guard.New(o.Redis, p, o.Guard)
	if err != nil {
		return err
	}
	defer g.Close()
	if _, err = guard.Compile(g, func(p *policy.Policy, _ []*guard.Endpoint) (any, error) {
		return nil, cmp.Or(rejectPlaces(p), rejectEmpty(g.Policy(), p))
	}); err != nil {
		return fmt.Errorf("%s: %w", o.Policy, err)
	}
	ending, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	s, err := newServers(ending, &o, g, metrics)
	if err != nil {
		return err
	}
	probe, err := newProbe(&o, g)
	if err != nil {
		return err
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g.Watch(background, o.Policy)
	started = true
	failed := s.serve(&o)
	go s.ready.follow(background, probe)
	o.Logger.Info("serving", "policy", o.Policy, "grpc", o.GRPC.Addr().String(), "http", o.HTTP.Addr().String(),
		"trusted_proxies", p.Identities[policy.ByIP].TrustedProxies)

	for serving := true; serving && err == nil; {
		select {
		case err = <-failed:
		case <-ctx.Done():
			serving = false
		case <-o.Reload:
			changed, unchanged, failed := reload.All()
			o.Logger.Info("reloaded", "changed", changed, "unchanged", unchanged, "failed", failed)
		}
	}
	s.ready.drain()
	if err == nil {
		o.Logger.Info("draining", "delay", o.Delay.String(), "drain", max(o.Drain, 0).String())
		err = sleep(o.Delay, failed)
	}
	end()
	return errors.Join(err, s.shutdown(o.Drain))
}

// seldom logs a report that was not written, at most once a minute.
func seldom(logger *slog.Logger) func(error) {
	var last time.Time
	return func(err error) {
		if now := time.Now(); now.Sub(last) >= time.Minute {
			logger.Warn("rlfunc top misses this process", "error", err)
			last = now
		}
	}
}

func fill(o *Options) {
	if o.Connections == 0 {
		o.Connections = 1024
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = 5 * time.Second
	}
	if o.Drain == 0 {
		o.Drain = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

// sleep waits. If a server fails meanwhile, it returns that error at once.
func sleep(d time.Duration, failed <-chan error) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case err := <-failed:
		return err
	}
}

// rejectPlaces returns an error for a limit of kind concurrency of an endpoint that forward-auth can reach: proxies do not report when a
// request ends. Package policy rejects those of descriptors. Programs renew and release the leases of other endpoints.
func rejectPlaces(p *policy.Policy) error {
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		if len(e.Match) == 0 {
			continue
		}
		for j, l := range slices.Concat(p.Limits, e.Limits) {
			if l.Kind != policy.Concurrency {
				continue
			}
			if j >= len(p.Limits) {
				l.Name = e.Name + "/" + l.Name
			}
			return fmt.Errorf("limit %s of endpoint %s is of kind concurrency, and proxies do not report when a request ends: remove the match of the "+
				"endpoint, so that only programs use it, or guard the service with httpguard or grpcguard", l.Name, e.Name)
		}
	}
	return nil
}

// rejectEmpty returns an error for an empty policy in place of another: the file was probably cut off, and all requests would pass.
func rejectEmpty(old, p *policy.Policy) error {
	if empty(p) && !empty(old) {
		return errors.New("the new policy has no limits and no endpoints, so every request would pass: restart the process if you want that")
	}
	return nil
}

func empty(p *policy.Policy) bool {
	return len(p.Limits) == 0 && len(p.Endpoints) == 0 && p.Unmatched != policy.UnmatchedRefuse
}
