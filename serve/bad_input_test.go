package serve_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rlfunc/rlfunc/embedded"
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
	decide := func(body string) string {
		return "POST /v1/decide HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + body
	}
	for _, c := range []struct {
		what, address, text string
		want                int
	}{
		{"1 MiB of headers for metrics", web, "GET /metrics HTTP/1.1\r\nHost: h\r\n" + large + "\r\n", 431},
		{"1 MiB of headers for the API", api, "POST /v1/decide HTTP/1.1\r\nHost: h\r\n" + large + "\r\n", 431},
		{"a path of 1 MiB", web, "GET /" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: h\r\n\r\n", 431},
		{"a path that is not UTF-8", web, "GET /\xff HTTP/1.1\r\nHost: h\r\n\r\n", 404},
		{"an operation that is not UTF-8", api, "POST /v1/\xff HTTP/1.1\r\nHost: h\r\n\r\n", 404},
		{"an original path that is not UTF-8", web, "GET /forward-auth HTTP/1.1\r\nHost: h\r\n" + client + "X-Forwarded-Uri: /\xff\r\n\r\n", 204},
		{"HTTP/2 without TLS", web, http2.ClientPreface, 400},
		{"two lengths", api, "POST /v1/decide HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}", 400},
		{"a wrong chunk", api, decide("zz\r\n"), 400},
		{"JSON that is not UTF-8", api, decide("18\r\n{\"endpoint\": \"total\xff\xff\"}\r\n0\r\n\r\n"), 400},
		{"a body of 1 MiB", api, decide("100000\r\n" + strings.Repeat(" ", 1<<20) + "\r\n0\r\n\r\n"), 413},
		{"a body for forward-auth", web, "POST /forward-auth HTTP/1.1\r\nHost: h\r\n" + client + "X-Forwarded-Uri: /\r\nContent-Length: 1000000000\r\n\r\n", 204},
		{"the third request", web, "GET /forward-auth HTTP/1.1\r\nHost: h\r\n" + client + "X-Forwarded-Uri: /\r\n\r\n", 429},
	} {
		if got := exchange(t, c.address, c.text); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}
