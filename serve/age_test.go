package serve

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

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
