package serve

import (
	"bytes"
	"crypto/tls"
	"io"
	"runtime"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/test/bufconn"
)

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
