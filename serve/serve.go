package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/redis/go-redis/v9"
	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/envoyguard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/telemetry"
	"github.com/rlfunc/rlfunc/guard/telemetry/prometheus"
)

// Options configures Run.
type Options struct {
	// Redis has the libraries, or auto-loads them. Required.
	Redis redis.UniversalClient
	// Policy is the policy's file. Run reloads it when it changes. Required.
	Policy string
	// GRPC and HTTP accept connections. Run closes them. Required.
	GRPC, HTTP net.Listener
	// API accepts the connections of programs; Run closes it. It must be a loopback address or a Unix socket unless there are Tokens or a
	// TLS.ClientCA. Defaults to none.
	API net.Listener
	// Pprof accepts the connections of profilers, which may read the memory of the process; Run closes it. Defaults to none.
	Pprof net.Listener
	// TLS encrypts GRPC, HTTP and API. Defaults to none.
	TLS *TLS
	// Tokens is a file of the SHA-256 digests of bearer tokens, see identity.Digests, of which requests to API need one. It is reloaded.
	// Defaults to none: each program that reaches API may use it.
	Tokens string
	// Connections is the most open connections of each listener; further ones wait. Defaults to 1024.
	Connections int
	// ReadTimeout is how long a peer may take for the HTTP/2 preface, and for an HTTP request. Defaults to 5 s.
	ReadTimeout time.Duration
	// Delay is how long Run keeps answering after its context has ended, so that load balancers see that it is not ready. Defaults to 0.
	Delay time.Duration
	// Drain is how long requests in flight may take after that. Defaults to 10 s.
	Drain time.Duration
	// Guard configures the decisions. Run adds hooks. Defaults to guard's own defaults.
	Guard guard.Options
	// Logger writes the records. Defaults to slog.Default().
	Logger *slog.Logger
}

// Bounds of what a peer can make the process hold.
const (
	maxMessage   = 4 << 20 // bytes of a rate limit request
	maxMetadata  = 64 << 10
	maxStreams   = 256 // requests at once on a gRPC connection
	idleFor      = 5 * time.Minute
	writeFor     = 70 * time.Second // more than a policy's longest timeout
	maxHTTPBytes = 64 << 10         // of a request's header
)

// Run serves until ctx ends and requests have finished. It returns an error if the policy is not valid or a listener fails.
func Run(ctx context.Context, o Options) error {
	fill(&o)
	for _, l := range []net.Listener{o.GRPC, o.HTTP, o.API, o.Pprof} {
		if l != nil {
			defer l.Close()
		}
	}
	if err := o.TLS.check(); err != nil {
		return err
	}
	p, err := policy.Load(o.Policy)
	if err != nil {
		return err
	}
	if err := rejectConcurrency(p); err != nil {
		return fmt.Errorf("%s: %w", o.Policy, err)
	}
	metrics, err := prometheus.New()
	if err != nil {
		return err
	}
	defer metrics.Close(context.WithoutCancel(ctx))
	exported, err := telemetry.New(telemetry.Options{MeterProvider: metrics.MeterProvider(), Logger: o.Logger})
	if err != nil {
		return err
	}
	o.Guard.Hooks = append(o.Guard.Hooks, exported.Hooks())
	g, err := guard.New(o.Redis, p, o.Guard)
	if err != nil {
		return err
	}
	defer g.Close()
	g.Require(rejectConcurrency)
	service, err := envoyguard.New(g, envoyguard.Options{})
	if err != nil {
		return err
	}
	healthy := health.NewServer()
	ready := newReadiness(healthy)
	gateway, err := httpguard.New(g, httpguard.Options{})
	if err != nil {
		return err
	}
	ending, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	server, err := newGRPC(&o, endStreams(ending))
	if err != nil {
		return err
	}
	ratelimitv3.RegisterRateLimitServiceServer(server, service)
	grpc_health_v1.RegisterHealthServer(server, healthy)
	webs, closeAPI, err := newWebs(&o, g, proxyPort(&o, ready, metrics, gateway.ForwardAuth()))
	if err != nil {
		return err
	}
	defer closeAPI()

	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	if err := g.Watch(background, o.Policy); err != nil {
		return err
	}
	failed := make(chan error, 1+len(webs))
	go func() { failed <- server.Serve(netutil.LimitListener(o.GRPC, o.Connections)) }()
	for _, w := range webs {
		go func() { failed <- w.serve(o.Connections) }()
	}
	go ready.awaitRedis(background, o.Redis)
	o.Logger.Info("serving", "policy", o.Policy, "grpc", o.GRPC.Addr().String(), "http", o.HTTP.Addr().String(),
		"trusted_proxies", p.Identities[policy.ByIP].TrustedProxies)

	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	ready.drain()
	if err == nil {
		o.Logger.Info("draining", "delay", o.Delay.String(), "drain", o.Drain.String())
		err = sleep(o.Delay, failed)
	}
	end()
	return errors.Join(err, shutdown(server, webs, o.Drain))
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

func newGRPC(o *Options, more grpc.ServerOption) (*grpc.Server, error) {
	config, err := o.newTLS(tls.RequireAndVerifyClientCert, "h2")
	if err != nil {
		return nil, err
	}
	security := insecure.NewCredentials()
	if config != nil {
		security = credentials.NewTLS(config)
	}
	return grpc.NewServer(
		grpc.Creds(security),
		more,
		envoyguard.ServerOption(),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxHeaderListSize(maxMetadata),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(o.ReadTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idleFor}),
	), nil
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

// shutdown finishes the requests in flight, and cuts off those that take longer.
func shutdown(server *grpc.Server, webs []web, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	finished := make(chan struct{})
	go func() {
		server.GracefulStop()
		close(finished)
	}()
	ended := make(chan error, len(webs))
	for _, w := range webs {
		go func() { ended <- w.Shutdown(ctx) }()
	}
	var err error
	for range webs {
		err = errors.Join(err, <-ended)
	}
	select {
	case <-finished:
	case <-ctx.Done():
		server.Stop()
		err = errors.Join(err, fmt.Errorf("drain: requests were still in flight after %v", within))
	}
	return err
}
