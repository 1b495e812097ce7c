package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/serve"
)

// Bad requests of one connection fail alone.
func TestRun_answersBadGRPC(t *testing.T) {
	p := start(t, embedded.New(embedded.Options{}).Client(), serve.Options{})
	p.await(t, grpc_health_v1.HealthCheckResponse_SERVING)
	large := total()
	large.Domain = strings.Repeat("a", 5<<20)
	_, err := p.client.ShouldRateLimit(t.Context(), large)
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a message of 5 MiB: %v", err)
	}
	err = p.conn.Invoke(t.Context(), "/envoy.service.ratelimit.v2.RateLimitService/ShouldRateLimit", total(), new(ratelimitv3.RateLimitResponse))
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("a method that does not exist: %v", err)
	}
	_, err = p.client.ShouldRateLimit(metadata.AppendToOutgoingContext(t.Context(), "x-bin", "\xff\xfe"), total())
	if err != nil {
		t.Errorf("binary metadata: %v", err)
	}
	if r, err := p.ask(t.Context()); err != nil || r.OverallCode != ratelimitv3.RateLimitResponse_OK {
		t.Errorf("the second of two: %v %v", r, err)
	}
}

// Metadata that is not UTF-8 is not a free pass, and pings of proxies do not end the connection.
func TestRun_answersOddHTTP2(t *testing.T) {
	p := start(t, embedded.New(embedded.Options{}).Client(), serve.Options{})
	p.await(t, grpc_health_v1.HealthCheckResponse_SERVING)
	conn, err := net.Dial("tcp", p.grpc)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	odd := newPeer(conn)
	const pings = 10
	for i := range byte(pings) {
		_ = odd.WritePing(false, [8]byte{i})
	}
	odd.ask(1, hpack.HeaderField{Name: "x-client", Value: "\xff\xfe"})
	acknowledged := 0
	for {
		f, err := odd.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		switch f := f.(type) {
		case *http2.GoAwayFrame:
			t.Fatalf("the connection ends after %d pings: %v", acknowledged, f.ErrCode)
		case *http2.PingFrame:
			if f.IsAck() {
				acknowledged++
			}
		case *http2.MetaHeadersFrame:
			if !f.StreamEnded() {
				continue
			}
			if got := f.Fields[0]; got.Name != "grpc-status" || got.Value != "0" || acknowledged != pings {
				t.Errorf("after %d of %d pings: %v", acknowledged, pings, f.Fields)
			}
			if r, err := p.ask(t.Context()); err != nil || r.OverallCode != ratelimitv3.RateLimitResponse_OK {
				t.Errorf("the second of two: %v %v", r, err)
			}
			if r, err := p.ask(t.Context()); err != nil || r.OverallCode != ratelimitv3.RateLimitResponse_OVER_LIMIT {
				t.Errorf("the third of two: %v %v", r, err)
			}
			return
		}
	}
}

// exchange sends text to a port and returns the status of the answer.
func exchange(t *testing.T, address, text string) int {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go io.WriteString(conn, text) // the server may answer before it has read everything
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode
}

func TestRun_answersBadHTTP(t *testing.T) {
	programs := listen(t, "127.0.0.1:0")
	p := start(t, embedded.New(embedded.Options{}).Client(), serve.Options{API: programs})
	p.await(t, grpc_health_v1.HealthCheckResponse_SERVING)
	web, api := strings.TrimPrefix(p.web, "http://"), programs.Addr().String()
	large := "X-Padding: " + strings.Repeat("a", 1<<20) + "\r\n"
	const client = "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Method: GET\r\nX-Forwarded-Host: h\r\n"
	auth := func(lines string) string {
		return "GET /forward-auth HTTP/1.1\r\nHost: h\r\n" + client + "X-Forwarded-Uri: /\r\n" + lines + "\r\n"
	}
	decide := func(body string) string {
		return "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + body
	}
	for _, c := range []struct {
		what, address, text string
		want                int
	}{
		{"1 MiB of headers for metrics", web, "GET /metrics HTTP/1.1\r\nHost: h\r\n" + large + "\r\n", 431},
		{"1 MiB of headers for the API", api, "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\n" + large + "\r\n", 431},
		{"a path of 1 MiB", web, "GET /" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: h\r\n\r\n", 431},
		{"a path that is not UTF-8", web, "GET /\xff HTTP/1.1\r\nHost: h\r\n\r\n", 404},
		{"an operation that is not UTF-8", api, "POST /v1/\xff HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
		{"an original path that is not UTF-8", web, "GET /forward-auth HTTP/1.1\r\nHost: h\r\n" + client + "X-Forwarded-Uri: /\xff\r\n\r\n", 204},
		{"HTTP/2 without TLS", web, http2.ClientPreface, 400},
		{"a name that a page in a browser resolves to this machine", api, "POST /v1/decide HTTP/1.1\r\nHost: attacker.example:80\r\nContent-Length: 0\r\n\r\n", 421},
		{"an address of another machine", api, "POST /v1/decide HTTP/1.1\r\nHost: 192.0.2.1\r\nContent-Length: 0\r\n\r\n", 421},
		{"a loopback address", api, "POST /v1/decide HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 0\r\n\r\n", 415},
		{"two lengths", api, "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}", 400},
		{"a wrong chunk", api, decide("zz\r\n"), 400},
		{"JSON that is not UTF-8", api, decide("18\r\n{\"endpoint\": \"total\xff\xff\"}\r\n0\r\n\r\n"), 400},
		{"a body of 1 MiB", api, decide("100000\r\n" + strings.Repeat(" ", 1<<20) + "\r\n0\r\n\r\n"), 413},
		{"1 MiB in one header", web, auth(large), 431},
		{"1 MiB in many headers", web, auth(strings.Repeat("X-Padding: "+strings.Repeat("a", 1000)+"\r\n", 1<<10)), 431},
		{"a header with a line break", web, auth("X-Padding: a\rb\r\n"), 400},
		{"a second X-Forwarded-Uri", web, auth("X-Forwarded-Uri: /free\r\n"), 400},
		{"a body for forward-auth, and text that is not UTF-8", web, auth("X-Forwarded-For: \xff\r\nX-Padding: \xff\xfe\r\nContent-Length: 1000000000\r\n"), 204},
		{"the third request", web, auth(""), 429},
	} {
		if got := exchange(t, c.address, c.text); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}

// A peer that resets each request at once, which does not count against its open streams, gets no more than 256 handlers.
func TestRun_boundsRequestsThatArePromptlyReset(t *testing.T) {
	t.Run("plain", func(t *testing.T) { boundsResets(t, false) })
	t.Run("TLS", func(t *testing.T) { boundsResets(t, true) })
}

func boundsResets(t *testing.T, encrypted bool) {
	t.Helper()
	var now, most atomic.Int64
	release := make(chan struct{})
	security, connect := insecure.NewCredentials(), net.Dial
	var files *serve.TLS
	if encrypted {
		all := engines.NewCertificates(t)
		files = &serve.TLS{Cert: all.Cert, Key: all.Key}
		config := trusting(t, all, false)
		config.NextProtos = []string{"h2"}
		security = credentials.NewTLS(config)
		connect = func(network, address string) (net.Conn, error) { return tls.Dial(network, address, config) }
	}
	p := start(t, embedded.New(embedded.Options{}).Client(), serve.Options{TLS: files, Guard: guard.Options{Observers: []guard.Observer{
		func(_ context.Context, e guard.Event) {
			if _, ok := e.(guard.Decided); !ok {
				return
			}
			n := now.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			<-release
			now.Add(-1)
		},
	}}}, grpc.WithTransportCredentials(security))
	p.await(t, grpc_health_v1.HealthCheckResponse_SERVING)
	conn, err := connect("tcp", p.grpc)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sent := make(chan struct{})
	go func() {
		reset(conn, 2000)
		close(sent)
	}()
	const handlers = 256
	for deadline := time.Now().Add(20 * time.Second); most.Load() < handlers; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("only %d handlers run", most.Load())
		}
	}
	select { // all is sent, or the server does not read on
	case <-sent:
	case <-time.After(time.Second):
	}
	close(release)
	if _, err := p.ask(t.Context()); err != nil { // another connection is served
		t.Error(err)
	}
	if most.Load() > handlers+1 {
		t.Errorf("%d handlers ran at once", most.Load())
	}
}

// reset opens and resets n requests on a connection.
func reset(conn net.Conn, n int) {
	p := newPeer(conn)
	for i := range n {
		id := uint32(2*i + 1)
		p.ask(id)
		if p.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			return // the server does not read on, and the test has ended
		}
	}
}

// A peer speaks HTTP/2 as no gRPC client does.
type peer struct {
	*http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
}

func newPeer(conn net.Conn) *peer {
	_, _ = io.WriteString(conn, http2.ClientPreface) // a broken connection fails the test later
	p := &peer{Framer: http2.NewFramer(conn, conn)}
	p.encoder = hpack.NewEncoder(&p.block)
	p.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = p.WriteSettings()
	return p
}

// ask sends a request of the limit total, with more header fields.
func (p *peer) ask(id uint32, more ...hpack.HeaderField) {
	p.block.Reset()
	for _, f := range append([]hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: ratelimitv3.RateLimitService_ShouldRateLimit_FullMethodName},
		{Name: ":authority", Value: "limits"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
	}, more...) {
		_ = p.encoder.WriteField(f)
	}
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.block.Bytes(), EndHeaders: true})
	message, _ := proto.Marshal(total())
	_ = p.WriteData(id, true, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...))
}

// total returns a request of the limit total.
func total() *ratelimitv3.RateLimitRequest {
	return &ratelimitv3.RateLimitRequest{
		Domain:      "edge",
		Descriptors: []*commonv3.RateLimitDescriptor{{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "generic_key", Value: "total"}}}},
	}
}
