package serve_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"sync/atomic"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/serve"
)

// A peer that resets each request at once, which does not count against its open streams, gets no more than 256 handlers.
func TestRun_boundsRequestsThatArePromptlyReset(t *testing.T) {
	var now, most atomic.Int64
	release := make(chan struct{})
	p := start(t, embedded.New(embedded.Options{}).Client(), serve.Options{Guard: guard.Options{Hooks: []guard.Hooks{{
		Deciding: func(ctx context.Context, _ *guard.Request) context.Context {
			n := now.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			<-release
			now.Add(-1)
			return ctx
		},
	}}}})
	p.await(t, grpc_health_v1.HealthCheckResponse_SERVING)
	conn, err := net.Dial("tcp", p.grpc)
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
	message, err := proto.Marshal(&ratelimitv3.RateLimitRequest{
		Domain:      "edge",
		Descriptors: []*commonv3.RateLimitDescriptor{{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "generic_key", Value: "total"}}}},
	})
	if err != nil {
		return
	}
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		return
	}
	framer := http2.NewFramer(conn, conn)
	_ = framer.WriteSettings()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := range n {
		block.Reset()
		for _, f := range [][2]string{
			{":method", "POST"},
			{":scheme", "http"},
			{":path", "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"},
			{":authority", "limits"},
			{"content-type", "application/grpc"},
			{"te", "trailers"},
		} {
			_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		id := uint32(2*i + 1)
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true})
		_ = framer.WriteData(id, true, body)
		if framer.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			return // the server does not read on, and the test has ended
		}
	}
}
