package middleware_test

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/grpcguard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// The service has the methods Say and Ask, which are unary, and Talk, which streams. Any other method is served too, as by a proxy.
const calls = `
unmatched: refuse
endpoints:
  - name: chat
    match: ["/chat.Chat/*"]
    idempotency: {header: Idempotency-Key}
    limits: [{name: hour, kind: sliding_log, limit: 100000, window: 1h}, {name: sessions, by: session, kind: sliding_log, limit: 100000, window: 1h}]
  - name: ask
    match: ["/chat.Chat/Ask"]
    idempotency: {header: Idempotency-Key}
    limits: [{name: hour, kind: sliding_log, limit: 100000, window: 1h}]
overrides:
  deny: ["ip=198.51.100.0/24", "key=banned", "device=stolen", "session=banned"]
`

const counted = "OK: chat ip=203.0.113.7" // what a call costs that proves nothing

// grpcAttacks are calls: the path and metadata of a stream. The status is that of gRPC, or "reset". "open " sends
// no message and does not end the stream, and has no status.
var grpcAttacks = []attack{
	{name: "an honest call", send: "/chat.Chat/Say", want: counted},
	{name: "an honest stream", send: "/chat.Chat/Talk", want: counted},

	// Methods.
	{name: "a method of its own endpoint", send: "/chat.Chat/Ask", want: "OK: ask ip=203.0.113.7"},
	{name: "no first slash", send: "chat.Chat/Talk", want: "Unimplemented: "},
	{name: "two first slashes", send: "//chat.Chat/Talk", want: "InvalidArgument: "},
	{name: "five first slashes", send: "/////chat.Chat/Ask", want: "InvalidArgument: "},
	{name: "two slashes", send: "/chat.Chat//Ask", want: "InvalidArgument: "},
	{name: "a last slash", send: "/chat.Chat/Ask/", want: "InvalidArgument: "},
	{name: "an encoded letter", send: "/chat.Chat/%41sk", want: "InvalidArgument: "},
	{name: "an encoded slash", send: "/chat.Chat%2FAsk", want: "Unimplemented: "},
	{name: "dots", send: "/x/../chat.Chat/./Ask", want: "InvalidArgument: "},
	{name: "another case of a method", send: "/chat.Chat/ask", want: counted},
	{name: "another case of a service", send: "/CHAT.chat/Ask", want: "Unimplemented: "},
	{name: "a query", send: "/chat.Chat/Ask?x=1", want: "InvalidArgument: "},
	{name: "an unknown method", send: "/chat.Chat/Nothing", want: counted},
	{name: "an unknown service", send: "/chat.Other/Ask", want: "Unimplemented: "},
	{name: "a service with a longer name", send: "/x.chat.Chat/Ask", want: "Unimplemented: "},
	{name: "reflection", send: "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", want: "Unimplemented: "},
	{name: "reflection of before", send: "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", want: "Unimplemented: "},
	{name: "an empty method", send: "/", want: "Unimplemented: "},
	{name: "an asterisk", send: "*", want: "Unimplemented: "},
	{name: "control characters", send: "/chat.Chat/%00%0d%0a", want: "InvalidArgument: "},
	{name: "a method of 16 KiB", send: "/chat.Chat/{16K}", want: counted},
	{name: "a fresh method each", send: "/chat.Chat/Method{i}", times: 20, want: counted + " x20"},

	// Metadata: API keys.
	{name: "a known key", send: "/chat.Chat/Say\nx-api-key: partner-key", want: "OK: chat key=partner"},
	{name: "a fresh key each", send: "/chat.Chat/Say\nx-api-key: key-{i}", times: 20, want: counted + " x20"},
	{name: "a key twice, and empty", send: "/chat.Chat/Say\nx-api-key: partner-key\nx-api-key: partner-key\nx-api-key: ", want: "OK: chat key=partner"},
	{name: "a key behind one that is made up", send: "/chat.Chat/Say\nx-api-key: made-up-{i}\nx-api-key: partner-key", times: 3, want: "OK: chat key=partner x3"},
	{name: "two known keys", send: "/chat.Chat/Say\nx-api-key: partner-key\nx-api-key: stolen-key", want: "InvalidArgument: "},
	{name: "nine keys", send: "/chat.Chat/Say" + lines("x-api-key: %d", 9), want: "InvalidArgument: "},
	{name: "a key in capitals", send: "/chat.Chat/Say\nX-Api-Key: partner-key", want: "reset: "},
	{name: "a binary key", send: "/chat.Chat/Say\nx-api-key-bin: cGFydG5lci1rZXk=", want: counted},
	{name: "a binary key that is not base64, which grpc-go refuses", send: "/chat.Chat/Say\nx-api-key-bin: !", want: "Internal: "},
	{name: "a key with invalid UTF-8", send: "/chat.Chat/Say\nx-api-key: \xff\xfe{i}", times: 5, want: counted + " x5"},
	{name: "a key with a NUL", send: "/chat.Chat/Say\nx-api-key: partner-key\x00", want: "reset: "},
	{name: "a key of 500 KiB", send: "/chat.Chat/Say\nx-api-key: {500K}", want: counted},
	{name: "a denied key beside a user", send: "/chat.Chat/Talk\nx-api-key: banned-key\nauthorization: Bearer {ada}", want: "PermissionDenied: "},

	// Tokens and fingerprints.
	{name: "a token", send: "/chat.Chat/Talk\nauthorization: Bearer {ada}", want: "OK: chat user=ada"},
	{name: "alg none", send: "/chat.Chat/Say\nauthorization: Bearer {none}", want: counted},
	{name: "the public key as secret", send: "/chat.Chat/Say\nauthorization: Bearer {hs256}", want: counted},
	{name: "an expired token", send: "/chat.Chat/Say\nauthorization: Bearer {expired}", want: counted},
	{name: "a token for another audience", send: "/chat.Chat/Say\nauthorization: Bearer {audience}", want: counted},
	{name: "two users", send: "/chat.Chat/Say\nauthorization: Bearer {ada}\nauthorization: Bearer {bob}", want: "InvalidArgument: "},
	{name: "a forged token before", send: "/chat.Chat/Say\nauthorization: Bearer {forged}\nauthorization: Bearer {ada}", want: "OK: chat user=ada"},
	{name: "a sub with a NUL", send: "/chat.Chat/Say\nauthorization: Bearer {NUL sub}", want: "OK: chat user=~hash"},
	{name: "a signed fingerprint behind a made-up one", send: "/chat.Chat/Say\nx-fingerprint: fp:a:b{i}\nx-fingerprint: {phone}", times: 3, want: "OK: chat device=phone x3"},
	{name: "a denied hash without a signature", send: "/chat.Chat/Say\nx-fingerprint: fp:click:stolen", want: counted},

	// Peers and authorities.
	{name: "x-forwarded-for from a client", send: "/chat.Chat/Say\nx-forwarded-for: 192.0.2.{i}", times: 20, want: counted + " x20"},
	{name: "a forged hop before the proxy's", from: proxy, send: "/chat.Chat/Say\nx-forwarded-for: 192.0.2.{i}, 203.0.113.7", times: 5, want: counted + " x5"},
	{name: "a forged line before the proxy's", from: proxy, send: "/chat.Chat/Say\nx-forwarded-for: 192.0.2.1\nx-forwarded-for: 203.0.113.7", want: counted},
	{name: "a hop that is not an address", from: proxy, send: "/chat.Chat/Say\nx-forwarded-for: unknown", want: "OK: chat ip=10.0.0.1"},
	{name: "forwarded and x-real-ip from a proxy that sets neither", from: proxy, send: "/chat.Chat/Say\nforwarded: for=192.0.2.1\nx-real-ip: 192.0.2.1\nx-forwarded-for: 203.0.113.7", want: counted},
	{name: "a mapped peer", from: "[::ffff:203.0.113.7]:9", send: "/chat.Chat/Say", want: counted},
	{name: "another address of a /64", from: "[2001:db8::ffff:1]:9", send: "/chat.Chat/Talk", want: "OK: chat ip=2001:db8::/64"},
	{name: "a denied peer by NAT64", from: "[64:ff9b::198.51.100.7]:9", send: "/chat.Chat/Talk", want: "PermissionDenied: "},
	{name: "another authority", send: "/chat.Chat/Say\n:authority: evil.example", want: counted},
	{name: "an authority and a host", send: "/chat.Chat/Say\n:authority: api.example\nhost: evil.example", want: counted},
	{name: "a method override", send: "/chat.Chat/Say\nx-http-method-override: GET", want: counted},
	{name: "a denied cookie behind another", send: "/chat.Chat/Say\ncookie: session=s1\ncookie: session=banned", want: "InvalidArgument: "},
	{name: "a cookie", send: "/chat.Chat/Say\ncookie: session=s1", want: counted + ", chat/sessions session=s1"},

	// Repeats.
	{name: "an ID three times", send: "/chat.Chat/Say\nidempotency-key: one", times: 3, want: counted + " x2"},
	{name: "an ID at two methods", send: "/chat.Chat/Say\nidempotency-key: two\n---\n/chat.Chat/Talk\nidempotency-key: two", want: "OK OK: chat ip=203.0.113.7 x2"},
	{name: "an ID at two endpoints", send: "/chat.Chat/Say\nidempotency-key: three\n---\n/chat.Chat/Ask\nidempotency-key: three", want: "OK OK: ask ip=203.0.113.7, chat ip=203.0.113.7"},
	{name: "an ID by two clients", send: "/chat.Chat/Say\nidempotency-key: four\n---\n/chat.Chat/Say\nidempotency-key: four\nx-api-key: partner-key", want: "OK OK: chat ip=203.0.113.7, chat key=partner"},
	{name: "two IDs", send: "/chat.Chat/Say\nidempotency-key: five\nidempotency-key: six", times: 3, want: counted + " x3"},
	{name: "an ID of 500 KiB", send: "/chat.Chat/Say\nidempotency-key: {500K}", want: counted},

	// Calls at the edges of gRPC.
	{name: "another content type", send: "/chat.Chat/Say\ncontent-type: application/json", want: "InvalidArgument: "},
	{name: "a content type of grpc-web", send: "/chat.Chat/Say\ncontent-type: application/grpc-web", want: "InvalidArgument: "},
	{name: "an endless timeout", send: "/chat.Chat/Say\ngrpc-timeout: 99999999H", want: counted},
	{name: "an unknown encoding", send: "/chat.Chat/Say\ngrpc-encoding: evil", want: "Unimplemented: "},
	{name: "a binary status of the client's", send: "/chat.Chat/Say\ngrpc-status: 0\ngrpc-status-details-bin: AAAA", want: counted},
	{name: "ratelimit metadata of the client's", send: "/chat.Chat/Say\nratelimit: \"hour\";r=1000\nretry-after: 0", want: counted},
	{name: "unary calls without a message, which no handler gets", send: "open /chat.Chat/Say", times: 20, want: ": "},
	{name: "streams that are opened and never used", send: "open /chat.Chat/Talk", times: 20, want: ": chat ip=203.0.113.7 x20"},
}

// Every gRPC call costs what the table says, and the number and length of keys are bounded.
func TestCalls_noInputEvadesLimits(t *testing.T) {
	secrets := writeSecrets(t)
	proofs := secrets.proofs(t)
	clients, _, _ := strings.Cut(identities, "endpoints:")
	p, err := policy.Parse("calls.yaml", []byte(strings.ReplaceAll(clients+calls, "DIR", filepath.ToSlash(secrets.dir))))
	if err != nil {
		t.Fatal(err)
	}
	server := embedded.New(embedded.Options{})
	rdb := server.Client()
	t.Cleanup(func() { _, _ = rdb.Close(), server.Close() })
	l := &ledger{rdb: rdb}
	g, err := guard.New(rdb, p, guard.Options{CacheSize: -1, Observers: []guard.Observer{l.observe}})
	if err != nil {
		t.Fatal(err)
	}
	i, err := grpcguard.New(g, grpcguard.Options{Identity: quiet})
	if err != nil {
		t.Fatal(err)
	}
	w, panics := serveGRPC(t, i)
	inputs := 0
	for _, a := range grpcAttacks {
		statuses := a.call(t, w, proofs)
		got := statuses + ": " + l.sum(t)
		for deadline := time.Now().Add(5 * time.Second); statuses == "" && !a.costs(got) && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			got = ": " + l.sum(t) // the server decides while the streams are open
		}
		if l.close(); !a.costs(got) {
			t.Errorf("%s: got %q, want %q", a.name, got, a.want)
		}
		inputs += max(a.times, 1)
	}
	checkKeys(t, rdb, 20)
	if panics.Load() > 0 {
		t.Errorf("%d panics", panics.Load())
	}
	t.Logf("%d inputs in %d rows", inputs, len(grpcAttacks))
}

func serveGRPC(t *testing.T, i *grpcguard.Interceptor) (w *wire, panics *atomic.Int32) {
	t.Helper()
	panics = new(atomic.Int32)
	recovered := func(err *error) {
		if p := recover(); p != nil {
			panics.Add(1)
			*err = status.Errorf(codes.Internal, "panic: %v", p)
		}
	}
	s := grpc.NewServer(
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (reply any, err error) {
			defer recovered(&err)
			return next(ctx, req)
		}, i.Unary),
		grpc.ChainStreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
			defer recovered(&err)
			return next(srv, s)
		}, i.Stream),
		grpc.UnknownServiceHandler(drain),
	)
	unary := func(name string) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			in := new(emptypb.Empty)
			if err := decode(in); err != nil {
				return nil, err
			}
			return intercept(ctx, in, &grpc.UnaryServerInfo{FullMethod: "/chat.Chat/" + name}, func(context.Context, any) (any, error) { return in, nil })
		}}
	}
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "chat.Chat", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{unary("Say"), unary("Ask")},
		Streams: []grpc.StreamDesc{{StreamName: "Talk", ServerStreams: true, ClientStreams: true, Handler: drain}},
	}, nil)
	reflection.Register(s)
	w = newWire()
	go func() { _ = s.Serve(w) }()
	t.Cleanup(s.Stop)
	return w, panics
}

// drain receives a stream to its end.
func drain(_ any, s grpc.ServerStream) error {
	for s.RecvMsg(new(emptypb.Empty)) == nil {
	}
	return nil
}

// call runs an attack over gRPC and returns the different statuses of its calls.
func (a *attack) call(t *testing.T, w *wire, proofs *strings.Replacer) string {
	t.Helper()
	from := a.from
	if from == "" {
		from = client
	}
	var statuses []string
	for i := range max(a.times, 1) {
		for j, request := range strings.Split(a.send, "\n---\n") {
			request = proofs.Replace(strings.ReplaceAll(request, "{i}", strconv.Itoa(i)))
			path, open := strings.CutPrefix(request, "open ")
			if !strings.Contains(path, "\n:authority") { // which goes before other fields
				path, request, _ = strings.Cut(path, "\n")
				path += strings.TrimSuffix("\n:authority: api.example\n"+request, "\n")
			}
			if !strings.Contains(path, "\ncontent-type") {
				path += "\ncontent-type: application/grpc"
			}
			empty := make([]byte, 5) // a message without bytes
			if open {
				empty = nil
			}
			got := outcome(w.h2(t, from, pseudo("POST "+path+"\nte: trailers"), empty))
			if open {
				continue
			}
			if got == codes.Internal.String() && !strings.HasPrefix(a.want, got) {
				t.Errorf("%s: %s", a.name, got)
			}
			if i == 0 || statuses[j] != got {
				statuses = append(statuses, got)
			}
		}
	}
	return strings.Join(statuses, " ")
}

// outcome is the status of gRPC, or a reset.
func outcome(fields map[string][]string) string {
	if code := fields["grpc-status"]; len(code) == 1 {
		n, _ := strconv.Atoi(code[0])
		return codes.Code(n).String()
	}
	return "reset"
}
