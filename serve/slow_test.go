package serve

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// ports are listeners in memory.
type ports struct{ grpc, http, api, health *bufconn.Listener }

// onVirtualTime runs do beside servers whose time passes only while each goroutine waits.
func onVirtualTime(t *testing.T, connections int, do func(t *testing.T, p ports)) {
	onVirtualTimeWith(t, connections, false, do)
}

func onVirtualTimeWith(t *testing.T, connections int, encrypted bool, do func(t *testing.T, p ports)) {
	synctest.Test(t, func(t *testing.T) {
		limits, err := policy.Parse("limits.yaml", []byte("timeout: 10s"))
		if err != nil {
			t.Fatal(err)
		}
		p := ports{bufconn.Listen(1024), bufconn.Listen(1024), bufconn.Listen(1024), bufconn.Listen(1024)}
		o := Options{GRPC: p.grpc, HTTP: p.http, API: p.api, Health: p.health, Connections: connections, Logger: slog.New(slog.DiscardHandler)}
		fill(&o)
		if encrypted {
			files := engines.NewCertificates(t)
			o.TLS = &TLS{Cert: files.Cert, Key: files.Key}
		}
		o.Redis = embedded.New(embedded.Options{}).Client()
		defer o.Redis.Close()
		g, err := guard.New(o.Redis, limits, guard.Options{CacheSize: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		s, err := newServers(t.Context(), &o, g, http.NotFoundHandler())
		if err != nil {
			t.Fatal(err)
		}
		s.serve(&o)
		do(t, p)
		if err := s.shutdown(o.Drain); err != nil {
			t.Error(err)
		}
	})
}

func dial(t *testing.T, l *bufconn.Listener) net.Conn {
	t.Helper()
	conn, err := l.Dial()
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func client(t *testing.T, l *bufconn.Listener) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// held returns how long a port keeps the connection of a peer that sends text at once, and then drip once a second.
func held(t *testing.T, l *bufconn.Listener, text, drip string) time.Duration {
	conn, start := dial(t, l), time.Now()
	defer conn.Close()
	go func() {
		_, err := io.WriteString(conn, text)
		for drip != "" && err == nil {
			time.Sleep(time.Second)
			_, err = io.WriteString(conn, drip)
		}
	}()
	_, _ = io.Copy(io.Discard, conn)
	return time.Since(start)
}

func TestRun_disconnectsSlowPeers(t *testing.T) {
	const slowBody = "POST /v1/decide HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
	settings := "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	onVirtualTime(t, 0, func(t *testing.T, p ports) {
		for _, c := range []struct {
			what       string
			port       *bufconn.Listener
			text, drip string
			want       time.Duration
		}{
			{"gRPC, nothing", p.grpc, "", "", 5 * time.Second},
			{"gRPC, a slow preface", p.grpc, "PRI", "x", 5 * time.Second},
			{"gRPC, no settings", p.grpc, http2.ClientPreface, "", 5 * time.Second},
			{"gRPC, no preface", p.grpc, "GET /livez HTTP/1.1\r\nHost: h\r\n\r\n", "", 0},
			{"gRPC, silence", p.grpc, http2.ClientPreface + settings, "", 65 * time.Second},
			{"HTTP, nothing", p.http, "", "", 5 * time.Second},
			{"HTTP, slow headers", p.http, "GET /forward-auth HTTP/1.1\r\nX-Slow: ", "x", 5 * time.Second},
			{"HTTP, slow headers for metrics", p.http, "GET /metrics HTTP/1.1\r\nX-Slow: ", "x", 5 * time.Second},
			{"HTTP, idle", p.http, "GET /livez HTTP/1.1\r\nHost: h\r\n\r\n", "", 5 * time.Minute},
			{"API, nothing", p.api, "", "", 5 * time.Second},
			{"API, slow headers", p.api, "POST /v1/decide HTTP/1.1\r\nX-Slow: ", "x", 5 * time.Second},
			{"API, a slow body", p.api, slowBody, "x", 5 * time.Second},
			{"API, no body", p.api, slowBody, "", 5 * time.Second},
		} {
			if got := held(t, c.port, c.text, c.drip); got != c.want {
				t.Errorf("%s: the connection was held for %v, want %v", c.what, got, c.want)
			}
		}
	})
}

// A peer that does not read answers is disconnected.
func TestRun_disconnectsPeersThatDoNotRead(t *testing.T) {
	onVirtualTime(t, 0, func(t *testing.T, p ports) {
		for what, l := range map[string]*bufconn.Listener{"HTTP": p.http, "API": p.api} {
			conn, start := dial(t, l), time.Now()
			_, err := io.WriteString(conn, strings.Repeat("GET / HTTP/1.1\r\nHost: h\r\n\r\n", 1000))
			if got := time.Since(start); err == nil || got != 70*time.Second {
				t.Errorf("%s: held for %v: %v", what, got, err)
			}
		}
	})
}

// A proxy may pass on the fields of a body without the body.
func TestRun_answersForwardAuthWithoutTheBody(t *testing.T) {
	onVirtualTime(t, 0, func(t *testing.T, p ports) {
		for _, body := range []string{"Content-Length: 1000", "Content-Length: 1000000", "Transfer-Encoding: chunked", "Content-Length: 1\r\nExpect: 100-continue"} {
			conn, start := dial(t, p.http), time.Now()
			defer conn.Close()
			go io.WriteString(conn, "GET /forward-auth HTTP/1.1\r\nHost: h\r\n"+body+"\r\n\r\n")
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || answer.StatusCode != http.StatusForbidden || !answer.Close || time.Since(start) != 0 {
				t.Errorf("%s: %+v after %v: %v", body, answer, time.Since(start), err)
			}
		}
	})
}

// A request whose message does not arrive ends; its connection stays.
func TestRun_endsRequestsWithoutAMessage(t *testing.T) {
	onVirtualTime(t, 0, func(t *testing.T, p ports) {
		conn := client(t, p.grpc)
		defer conn.Close()
		start := time.Now()
		slow, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, ratelimitv3.RateLimitService_ShouldRateLimit_FullMethodName)
		if err != nil {
			t.Fatal(err)
		}
		err = slow.RecvMsg(new(ratelimitv3.RateLimitResponse))
		// The policy's timeout is 10 s.
		if got := time.Since(start); status.Code(err) != codes.DeadlineExceeded || got != 15*time.Second {
			t.Errorf("after %v: %v", got, err)
		}
	})
}

// Silent peers take all connections of a port until they have timed out.
func TestRun_servesAfterAFloodOfSilentConnections(t *testing.T) {
	const connections = 10
	onVirtualTime(t, connections, func(t *testing.T, p ports) {
		for what, l := range map[string]*bufconn.Listener{"gRPC": p.grpc, "HTTP": p.http, "API": p.api} {
			start := time.Now()
			for range connections {
				defer dial(t, l).Close()
			}
			if waited := time.Since(start); waited != 0 {
				t.Errorf("%s: the flood waited for %v", what, waited)
			}
			held(t, l, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "")
			if waited := time.Since(start); waited != 5*time.Second {
				t.Errorf("%s: the next peer waited for %v", what, waited)
			}
		}
	})
}

// Probes have a port that proxies and programs do not fill.
func TestRun_answersProbesUnderAFlood(t *testing.T) {
	const connections = 10
	onVirtualTime(t, connections, func(t *testing.T, p ports) {
		for range 2 * connections {
			for _, l := range []*bufconn.Listener{p.grpc, p.http, p.api} {
				go func() {
					if conn, err := l.Dial(); err == nil {
						_, _ = io.Copy(io.Discard, conn)
						_ = conn.Close()
					}
				}()
			}
		}
		synctest.Wait()
		start, probe := time.Now(), dial(t, p.health)
		defer probe.Close()
		if _, err := io.WriteString(probe, "GET /livez HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(probe)
		if waited := time.Since(start); waited != 0 || !strings.HasPrefix(string(answer), "HTTP/1.1 200 ") {
			t.Errorf("after %v: %s %v", waited, answer, err)
		}
		if got := held(t, p.health, "GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", ""); got != 0 {
			t.Errorf("another path: held for %v", got)
		}
		time.Sleep(time.Minute) // virtual: the flood ends
	})
}

// block returns the header block of a POST.
func block(path, kind string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "https"}, {":path", path}, {":authority", "h"}, {"content-type", kind}, {"te", "trailers"}} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	return b.Bytes()
}

// A frames sends frames: at once, or one after another.
type frames func(*http2.Framer) error

// heldOverTLS returns how long a port keeps the connection of a peer that sends first at once, and then drip at an interval. The peer
// answers no ping. ended is when the first request ended; 0 if it did not.
func heldOverTLS(t *testing.T, l *bufconn.Listener, first, drip frames, interval time.Duration) (held, ended time.Duration) {
	t.Helper()
	start := time.Now()
	conn := tls.Client(dial(t, l), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f, stopped := http2.NewFramer(conn, conn), make(chan struct{})
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = conn.Close()
		<-stopped
	}()
	go func() {
		defer close(stopped)
		err := f.WriteSettingsAck()
		if err == nil {
			err = first(f)
		}
		for drip != nil && err == nil {
			time.Sleep(interval)
			err = drip(f)
		}
	}()
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return time.Since(start), ended
		}
		if h := frame.Header(); h.StreamID == 1 && ended == 0 && (h.Type == http2.FrameRSTStream || h.Flags.Has(http2.FlagHeadersEndStream)) {
			ended = time.Since(start)
		}
	}
}

// Slow frames of HTTP/2 hold a connection no longer than an idle one, and a request no longer than any slow one.
func TestRun_disconnectsPeersWithSlowFramesOverTLS(t *testing.T) {
	const (
		grpcPath, grpcKind = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", "application/grpc"
		apiPath, apiKind   = "/v1/decide", "application/json"
	)
	none := func(*http2.Framer) error { return nil }
	ping := func(f *http2.Framer) error { return f.WritePing(false, [8]byte{}) }
	headers := func(path, kind string) frames {
		return func(f *http2.Framer) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(path, kind), EndHeaders: true})
		}
	}
	part := func(path, kind string) frames {
		return func(f *http2.Framer) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(path, kind)[:4]})
		}
	}
	more := func(f *http2.Framer) error { return f.WriteContinuation(1, false, nil) }
	body := func(f *http2.Framer) error { return f.WriteData(1, false, []byte{0}) }
	onVirtualTimeWith(t, 0, true, func(t *testing.T, p ports) {
		for _, c := range []struct {
			what        string
			port        *bufconn.Listener
			first, drip frames
			interval    time.Duration
			held, ended time.Duration // at most
		}{
			{"gRPC, slow headers", p.grpc, part(grpcPath, grpcKind), more, time.Second, 66 * time.Second, 0},
			{"gRPC, a header frame a minute", p.grpc, part(grpcPath, grpcKind), more, time.Minute, 66 * time.Second, 0},
			{"gRPC, a slow body", p.grpc, headers(grpcPath, grpcKind), body, 4 * time.Second, 6 * time.Minute, 16 * time.Second},
			{"gRPC, a ping a minute", p.grpc, none, ping, time.Minute - time.Second, 6 * time.Minute, 0},
			{"HTTP, slow headers", p.http, part("/forward-auth", "text/plain"), more, time.Second, 6 * time.Minute, 0},
			{"HTTP, a header frame a minute", p.http, part("/forward-auth", "text/plain"), more, time.Minute, 6 * time.Minute, 0},
			{"HTTP, a ping a minute", p.http, none, ping, time.Minute, 6 * time.Minute, 0},
			{"API, a slow body", p.api, headers(apiPath, apiKind), body, time.Second, 6 * time.Minute, 6 * time.Second},
			{"API, a body frame a minute", p.api, headers(apiPath, apiKind), body, time.Minute, 6 * time.Minute, 6 * time.Second},
		} {
			held, ended := heldOverTLS(t, c.port, c.first, c.drip, c.interval)
			t.Logf("%s: held for %v, the request ended after %v", c.what, held, ended)
			if held > c.held || ended > c.ended || c.ended > 0 && ended == 0 {
				t.Errorf("%s: held for %v, want at most %v; the request ended after %v, want at most %v", c.what, held, c.held, ended, c.ended)
			}
		}
	})
}

// A gRPC peer that sends 10,000 requests a second and reads no answer is disconnected, before the server has read many of them.
func TestRun_disconnectsGRPCPeersThatDoNotRead(t *testing.T) {
	onVirtualTime(t, 0, func(t *testing.T, p ports) {
		before := runtime.NumGoroutine()
		conn, start := dial(t, p.grpc), time.Now()
		defer conn.Close()
		if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
			t.Fatal(err)
		}
		f := http2.NewFramer(conn, nil)
		err := f.WriteSettings()
		sent, request := 0, block("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", "application/grpc")
		for id := uint32(1); err == nil && id < 200_000; id += 2 {
			sent++
			err = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: request, EndHeaders: true})
			if err == nil {
				err = f.WriteData(id, true, make([]byte, 5)) // an empty message
			}
			if sent%100 == 0 {
				time.Sleep(10 * time.Millisecond) // virtual: 10,000 requests a second
			}
		}
		took := time.Since(start)
		t.Logf("the server read %d requests in %v", sent, took)
		if err == nil || sent > 20_000 || took > 10*time.Second {
			t.Errorf("the server read %d requests in %v: %v", sent, took, err)
		}
		if grown := runtime.NumGoroutine() - before; grown > 300 {
			t.Errorf("%d goroutines more", grown)
		}
	})
}

// A peer opens a new connection once its first one is old, and no request fails.
func TestRun_limitsTheAgeOfConnections(t *testing.T) {
	onVirtualTime(t, 0, func(t *testing.T, p ports) {
		var connections atomic.Int64
		conn, err := grpc.NewClient("passthrough:memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				connections.Add(1)
				return p.grpc.DialContext(ctx)
			}))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var requests sync.WaitGroup
		for range 72 { // 6 minutes, with one or two requests in flight at any time
			requests.Go(func() {
				s, err := conn.NewStream(t.Context(), &grpc.StreamDesc{}, ratelimitv3.RateLimitService_ShouldRateLimit_FullMethodName)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(7 * time.Second)
				if err := s.SendMsg(&ratelimitv3.RateLimitRequest{Domain: "edge", Descriptors: []*commonv3.RateLimitDescriptor{{}}}); err != nil {
					t.Error(err)
				}
				if err := s.CloseSend(); err != nil {
					t.Error(err)
				}
				if err := s.RecvMsg(new(ratelimitv3.RateLimitResponse)); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(5 * time.Second)
		}
		requests.Wait()
		if n := connections.Load(); n != 2 {
			t.Errorf("%d connections", n)
		}
	})
}

// An HTTP/2 peer that sends requests and reads no answer is disconnected in seconds.
func TestRun_disconnectsHTTP2PeersThatDoNotRead(t *testing.T) {
	onVirtualTimeWith(t, 0, true, func(t *testing.T, p ports) {
		for _, c := range []struct {
			what, path string
			port       *bufconn.Listener
		}{{"HTTP", "/forward-auth", p.http}, {"API", "/v1/decide", p.api}} {
			for _, every := range []time.Duration{0, time.Second} {
				held := heldUnread(t, c.port, block(c.path, "application/json"), every)
				t.Logf("%s, a request each %v: held for %v", c.what, every, held)
				if held > 20*time.Second {
					t.Errorf("%s, a request each %v: held for %v", c.what, every, held)
				}
			}
		}
	})
}

// heldUnread returns how long a port keeps the connection of a peer that sends requests at an interval, and stops to read after the
// handshake.
func heldUnread(t *testing.T, l *bufconn.Listener, request []byte, every time.Duration) time.Duration {
	t.Helper()
	start := time.Now()
	conn := tls.Client(dial(t, l), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	defer conn.Close()
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f := http2.NewFramer(conn, nil)
	err := f.WriteSettings()
	for id := uint32(1); err == nil && time.Since(start) < 2*time.Hour; id += 2 {
		err = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: request, EndHeaders: true, EndStream: true})
		time.Sleep(every) // virtual
	}
	return time.Since(start)
}

// A request costs no ping, which the peer would have to answer.
func TestRun_answersWithoutAPing(t *testing.T) {
	onVirtualTime(t, 0, func(t *testing.T, p ports) {
		conn := dial(t, p.grpc)
		defer conn.Close()
		if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
			t.Fatal(err)
		}
		f := http2.NewFramer(conn, conn)
		request := block("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", "application/grpc")
		for _, err := range []error{
			f.WriteSettings(),
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: request, EndHeaders: true}),
			f.WriteData(1, true, make([]byte, 5)), // an empty message
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				t.Fatal(err)
			}
			if h := frame.Header(); h.Type == http2.FramePing {
				t.Error("got a ping")
			} else if h.StreamID == 1 && h.Flags.Has(http2.FlagHeadersEndStream) {
				return
			}
		}
	})
}

// A message may be larger than the window.
func TestRun_readsALargeMessage(t *testing.T) {
	onVirtualTime(t, 0, func(t *testing.T, p ports) {
		conn := client(t, p.grpc)
		defer conn.Close()
		got, err := ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(t.Context(), &ratelimitv3.RateLimitRequest{
			Domain: strings.Repeat("d", maxMessage-window), Descriptors: []*commonv3.RateLimitDescriptor{{}},
		})
		if err != nil || got.OverallCode != ratelimitv3.RateLimitResponse_OK {
			t.Errorf("got %v %v", got, err)
		}
	})
}
