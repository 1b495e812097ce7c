package serve_test

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/serve"
)

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
	p := start(t, embedded.New(embedded.Options{}).Client(), serve.Options{TLS: files, Guard: guard.Options{Hooks: []guard.Hooks{{
		Deciding: func(ctx context.Context, _ *guard.Request) context.Context {
			n := now.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			<-release
			now.Add(-1)
			return ctx
		},
	}}}}, grpc.WithTransportCredentials(security))
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
