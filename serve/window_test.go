package serve

import (
	"io"
	"strings"
	"testing"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"golang.org/x/net/http2"
)

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
