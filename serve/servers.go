package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/envoyguard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/serve/internal/api"
)

// Bounds of what a peer can make the process hold.
const (
	maxMessage   = 4 << 20 // bytes of a rate limit request
	maxMetadata  = 64 << 10
	maxStreams   = 256      // requests at once on a gRPC connection
	window       = 64 << 10 // bytes in flight on a gRPC connection, and unread ones of a request
	idleFor      = 5 * time.Minute
	maxAge       = 5 * time.Minute  // a gRPC connection, after which the peer opens another, perhaps to a new process
	pingAfter    = time.Minute      // without a byte of a gRPC peer; one that does not answer is disconnected
	writeFor     = 70 * time.Second // more than a policy's longest timeout
	maxHTTPBytes = 64 << 10         // of a request's header
)

// servers are the servers of all ports.
type servers struct {
	grpc  *grpc.Server
	webs  []web
	ready *readiness
}

// newServers returns the servers. Streams and the reloading of files end with the context.
func newServers(ending context.Context, o *Options, g *guard.Guard, metrics http.Handler) (*servers, error) {
	service, err := envoyguard.New(g, envoyguard.Options{})
	if err != nil {
		return nil, err
	}
	gateway, err := httpguard.New(g, httpguard.Options{})
	if err != nil {
		return nil, err
	}
	healthy := health.NewServer()
	s := &servers{ready: newReadiness(healthy, o.Logger)}
	within := func() time.Duration { return o.ReadTimeout + g.Policy().Timeout }
	if s.grpc, err = newGRPC(ending, o, endStreams(ending), endSlowRequests(within)); err != nil {
		return nil, err
	}
	ratelimitv3.RegisterRateLimitServiceServer(s.grpc, service)
	grpc_health_v1.RegisterHealthServer(s.grpc, healthy)
	s.webs, err = newWebs(ending, o, g, probePort(s.ready), proxyPort(o, s.ready, metrics, gateway.ForwardAuth()))
	return s, err
}

// serve serves in the background. The channel gets the error of each server that ends.
func (s *servers) serve(o *Options) <-chan error {
	failed := make(chan error, 1+len(s.webs))
	go func() {
		failed <- s.grpc.Serve(stalledListener{netutil.LimitListener(o.GRPC, o.Connections), o.ReadTimeout})
	}()
	for _, w := range s.webs {
		go func() { failed <- w.serve(o.Connections) }()
	}
	return failed
}

// shutdown finishes the requests in flight, and cuts off those that take longer. It cuts off all if within is negative.
func (s *servers) shutdown(within time.Duration) error {
	if within < 0 {
		s.grpc.Stop()
		for _, w := range s.webs {
			_ = w.Close() // of a listener that Run closes
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	finished := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(finished)
	}()
	ended := make(chan error, len(s.webs))
	for _, w := range s.webs {
		go func() { ended <- w.Shutdown(ctx) }()
	}
	cut := false
	for range s.webs {
		cut = errors.Is(<-ended, context.DeadlineExceeded) || cut
	}
	select {
	case <-finished:
	case <-ctx.Done():
		s.grpc.Stop()
		cut = true
	}
	if cut {
		return fmt.Errorf("%w after %v", ErrCutOff, within)
	}
	return nil
}

// A web is an HTTP server and its listener.
type web struct {
	*http.Server
	port net.Listener
}

func (w web) serve(connections int) error {
	port := netutil.LimitListener(w.port, connections)
	if w.TLSConfig != nil {
		return w.ServeTLS(port, "", "")
	}
	return w.Serve(port)
}

// newWebs returns the HTTP servers. Their background work ends with the context.
func newWebs(ending context.Context, o *Options, g *guard.Guard, probes, proxies http.Handler) (webs []web, err error) {
	add := func(port net.Listener, h http.Handler, config *tls.Config) {
		webs = append(webs, web{&http.Server{
			Handler: h, TLSConfig: config, ReadTimeout: o.ReadTimeout, WriteTimeout: writeFor, IdleTimeout: idleFor, MaxHeaderBytes: maxHTTPBytes,
			HTTP2: &http.HTTP2Config{WriteByteTimeout: o.ReadTimeout}, ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
		}, port})
	}
	config, err := o.newTLS(ending, tls.VerifyClientCertIfGiven, "h2", "http/1.1") // the handlers require it
	if err != nil {
		return nil, err
	}
	add(o.HTTP, proxies, config)
	if o.Health != nil {
		add(o.Health, probes, nil)
	}
	if o.API == nil {
		return webs, nil
	}
	if config, err = o.newTLS(ending, tls.RequireAndVerifyClientCert, "h2", "http/1.1"); err != nil {
		return nil, err
	}
	programs, err := newAPI(ending, o, g)
	if err != nil {
		return nil, err
	}
	add(o.API, programs, config)
	return webs, nil
}

// probePort returns the handler of probes.
func probePort(ready http.Handler) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.Handle("GET /readyz", ready)
	return mux
}

// proxyPort returns the handler of the HTTP port.
func proxyPort(o *Options, ready, metrics, forwardAuth http.Handler) http.Handler {
	if o.TLS != nil && o.TLS.ClientCA != "" {
		metrics, forwardAuth = withCertificate(metrics), withCertificate(forwardAuth)
	}
	mux := probePort(ready)
	mux.Handle("GET /metrics", metrics)
	mux.Handle("/forward-auth", forwardAuth)
	return mux
}

// newAPI returns the handler of the port for programs.
func newAPI(ending context.Context, o *Options, g *guard.Guard) (http.Handler, error) {
	h, err := api.New(g, o.Redis, o.Logger)
	if err != nil {
		return nil, err
	}
	if o.Tokens != "" {
		return api.Authorize(ending, o.Tokens, h)
	}
	addr, ok := o.API.Addr().(*net.TCPAddr)
	switch {
	case !ok || o.TLS != nil && o.TLS.ClientCA != "":
		return h, nil
	case !addr.IP.IsLoopback():
		return nil, fmt.Errorf("--api: %s is not a loopback address, so programs there must prove who they are: give --api-tokens or --tls-client-ca", addr)
	}
	return api.Local(h), nil
}
