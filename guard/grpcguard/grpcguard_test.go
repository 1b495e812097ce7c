package grpcguard_test

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/grpcguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// A handler is the body of each method in a test.
type handler func(ctx context.Context) error

// A fixture is a guarded server over a pipe. Its service chat.Chat has the methods Say and Ask, which are unary, Listen, which
// streams, and Talk, which answers each message.
type fixture struct {
	conn   *grpc.ClientConn
	server *grpc.Server
	guard  *guard.Guard
	redis  *redis.Client

	interceptor *grpcguard.Interceptor
	asked       atomic.Int64 // unary calls that reached the server
}

// anyKey verifies every key, so that tests choose their subjects.
type anyKey struct{}

func (anyKey) Verify(_ context.Context, value string) (string, error) { return value, nil }

const clients = `identities:
  key: {header: X-API-Key, verify: {func: true}}
  client: {first: [key, ip]}
`

func TestMain(m *testing.M) { engines.Main(m) }

// serve runs serveOn with an embedded server whose clock stands still.
func serve(t *testing.T, yaml string, o grpcguard.Options, h handler) *fixture {
	t.Helper()
	server := embedded.New(embedded.Options{Clock: embedded.NewManualClock(engines.Start)})
	rdb := server.Client()
	t.Cleanup(func() { _, _ = rdb.Close(), server.Close() })
	return serveOn(t, rdb, yaml, o, h)
}

func serveOn(t *testing.T, rdb *redis.Client, yaml string, o grpcguard.Options, h handler) *fixture {
	t.Helper()
	f := &fixture{redis: rdb}
	p, err := policy.Parse("policy.yaml", []byte("version: 1\ntimeout: 20s\n"+clients+yaml))
	if err != nil {
		t.Fatal(err)
	}
	if f.guard, err = guard.New(f.redis, p, guard.Options{CacheSize: -1}); err != nil {
		t.Fatal(err)
	}
	if o.Code.Verifiers == nil {
		o.Code.Verifiers = map[string]identity.Verifier{"key": anyKey{}}
	}
	i, err := grpcguard.New(f.guard, o)
	if err != nil {
		t.Fatal(err)
	}
	f.interceptor = i
	// The service recovers panics outside of the guard.
	f.server = grpc.NewServer(
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (reply any, err error) {
			defer recovered(&err)
			f.asked.Add(1)
			return next(ctx, req)
		}, i.Unary),
		grpc.ChainStreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
			defer recovered(&err)
			return next(srv, s)
		}, i.Stream),
	)
	if h == nil {
		h = func(context.Context) error { return nil }
	}
	unary := func(name string) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			in := new(emptypb.Empty)
			if err := decode(in); err != nil {
				return nil, err
			}
			return intercept(ctx, in, &grpc.UnaryServerInfo{FullMethod: "/chat.Chat/" + name}, func(ctx context.Context, _ any) (any, error) {
				return in, h(ctx)
			})
		}}
	}
	f.server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "chat.Chat", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{unary("Say"), unary("Ask")},
		Streams: []grpc.StreamDesc{{StreamName: "Listen", ServerStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			if err := h(s.Context()); err != nil {
				return err
			}
			return s.SendMsg(new(emptypb.Empty))
		}}, {StreamName: "Talk", ServerStreams: true, ClientStreams: true, Handler: echo}},
	}, nil)
	l := bufconn.Listen(1 << 16)
	go func() { _ = f.server.Serve(l) }()
	if f.conn, err = grpc.NewClient("passthrough:///bufconn", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) })); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = f.conn.Close()
		f.server.Stop()
		_ = f.guard.Close()
	})
	return f
}

// echo answers each message until it receives an error.
func echo(_ any, s grpc.ServerStream) error {
	for {
		if err := s.RecvMsg(new(emptypb.Empty)); err != nil {
			return nil //nolint:nilerr // a refusal reaches the caller all the same
		}
		if err := s.SendMsg(new(emptypb.Empty)); err != nil {
			return err
		}
	}
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = status.Errorf(codes.Unknown, "panic: %v", p)
	}
}

// call calls a method; pairs are metadata.
func (f *fixture) call(ctx context.Context, method string, pairs ...string) error {
	ctx = metadata.AppendToOutgoingContext(ctx, pairs...)
	if method != "/chat.Chat/Listen" {
		return f.conn.Invoke(ctx, method, new(emptypb.Empty), new(emptypb.Empty))
	}
	s, err := f.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err == nil {
		err = s.SendMsg(new(emptypb.Empty))
	}
	if err == nil {
		err = s.CloseSend()
	}
	for err == nil {
		err = s.RecvMsg(new(emptypb.Empty))
	}
	if err == io.EOF {
		return nil
	}
	return err
}

var methods = []string{"/chat.Chat/Say", "/chat.Chat/Listen"}
