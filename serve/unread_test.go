package serve

import (
	"crypto/tls"
	"io"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/test/bufconn"
)

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
