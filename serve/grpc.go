package serve

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/rlfunc/rlfunc/guard/envoyguard"
)

func newGRPC(ctx context.Context, o *Options, more ...grpc.ServerOption) (*grpc.Server, error) {
	config, err := o.newTLS(ctx, tls.RequireAndVerifyClientCert, "h2")
	if err != nil {
		return nil, err
	}
	security := insecure.NewCredentials()
	if config != nil {
		security = credentials.NewTLS(config)
	}
	return grpc.NewServer(append(more,
		grpc.Creds(security),
		envoyguard.ServerOption(),
		grpc.UnaryInterceptor(survive(o.Logger)),
		grpc.NumStreamWorkers(maxStreams), // their stacks need not grow for each request; bench/NOTES.md has the figures
		grpc.MaxRecvMsgSize(maxMessage),
		// Of a fixed size: gRPC otherwise sends a ping with nearly each request to measure what the connection can carry.
		grpc.StaticStreamWindowSize(window),
		grpc.StaticConnWindowSize(window),
		grpc.MaxHeaderListSize(maxMetadata),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(o.ReadTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: idleFor, MaxConnectionAge: maxAge, MaxConnectionAgeGrace: writeFor, Time: pingAfter, Timeout: o.ReadTimeout,
		}),
		// Envoy pings as often as its configuration says. An answer that it does not read makes the server read no further.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Nanosecond, PermitWithoutStream: true}),
	)...), nil
}

// survive returns an interceptor that answers a request that panics with Internal, and logs it: gRPC would end the process.
func survive(logger *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (answer any, err error) {
		defer func() {
			if p := recover(); p != nil {
				logger.Error("a request panics", "panic", p, "stack", string(debug.Stack()))
				err = status.Error(codes.Internal, "the rate limiter failed")
			}
		}()
		return next(ctx, request)
	}
}

// endStreams returns an option with which streams, the watches of grpc.health.v1, end when a context does. Otherwise an open watch would
// hold the drain.
func endStreams(ending context.Context) grpc.ServerOption {
	return grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		ctx, cancel := context.WithCancel(s.Context())
		defer cancel()
		defer context.AfterFunc(ending, cancel)()
		return next(srv, stream{s, ctx})
	})
}

type stream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s stream) Context() context.Context { return s.ctx }

// endSlowRequests returns an option that ends gRPC requests that take longer than within returns. Otherwise a request whose message does not
// arrive would wait for it as long as its connection lasts.
func endSlowRequests(within func() time.Duration) grpc.ServerOption {
	return grpc.InTapHandle(func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if info.FullMethodName == grpc_health_v1.Health_Watch_FullMethodName {
			return ctx, nil
		}
		bound := within()
		if due, ok := ctx.Deadline(); ok && time.Until(due) <= bound {
			return ctx, nil
		}
		bounded, cancel := context.WithTimeout(ctx, bound)
		_ = cancel // gRPC cancels ctx when the request ends, which stops the timer
		return bounded, nil
	})
}

// A stalledListener ends connections whose peers do not read what the server writes.
type stalledListener struct {
	net.Listener
	within time.Duration
}

func (l stalledListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return stalledConn{conn, l.within}, nil
}

// A stalledConn ends at a write that takes longer than within.
type stalledConn struct {
	net.Conn
	within time.Duration
}

func (c stalledConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.within)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if err != nil {
		_ = c.Close() // gRPC waits for a failing read
	}
	return n, err
}
