package serve

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"golang.org/x/net/http2"
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
