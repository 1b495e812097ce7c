package serve_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/serve"
)

// forward asks about a request as Caddy does, with further header lines.
func forward(t *testing.T, addr, lines string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	// The server may answer before it has read everything.
	go fmt.Fprintf(conn, "GET /forward-auth HTTP/1.1\r\nHost: limits\r\nX-Forwarded-For: 192.0.2.1\r\n"+
		"X-Forwarded-Method: GET\r\nX-Forwarded-Host: h\r\nX-Forwarded-Uri: /\r\n%s\r\n", lines)
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRun_answersForwardAuth(t *testing.T) {
	p := start(t, embedded.New(embedded.Options{}).Client(), serve.Options{ReadTimeout: 200 * time.Millisecond})
	p.await(t, grpc_health_v1.HealthCheckResponse_SERVING)
	addr := strings.TrimPrefix(p.web, "http://")
	for _, c := range []struct {
		what, lines string
		want        int
	}{
		{"1 MiB in one header", "X-Padding: " + strings.Repeat("a", 1<<20) + "\r\n", 431},
		{"1 MiB in many headers", strings.Repeat("X-Padding: "+strings.Repeat("a", 1000)+"\r\n", 1<<10), 431},
		{"a header with a line break", "X-Padding: a\rb\r\n", 400},
		{"text that is not UTF-8", "X-Padding: \xff\xfe\r\n", 204},
		{"a second X-Forwarded-Uri", "X-Forwarded-Uri: /free\r\n", 400},
		{"a wrong X-Forwarded-For", "X-Forwarded-For: \xff\r\n", 204},
		{"the third", "", 429},
	} {
		if r := forward(t, addr, c.lines); r.StatusCode != c.want {
			t.Errorf("%s: %s, want %d", c.what, r.Status, c.want)
		}
	}

	// A peer that does not finish its request, or does not begin, loses its connection.
	for at, begin := range map[string]string{addr: "GET /forward-auth HTTP/1.1\r\nX-Slow: ", p.grpc: "PRI * HT"} {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, begin)
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s keeps the connection of a slow peer", at)
		}
	}

	// Without the peer among the trusted proxies, the headers are forged.
	if err := os.WriteFile(p.file, []byte(strings.Replace(limits, "[127.0.0.1]", "[192.0.2.9]", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); forward(t, addr, "").StatusCode != http.StatusForbidden; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a peer that is no longer trusted is not refused")
		}
	}
}
