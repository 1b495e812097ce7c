package serve

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/tap"
)

// endSlowRequests returns an option that ends gRPC requests that take longer than within returns. Otherwise a request whose message does not
// arrive would wait for it as long as its connection lasts.
func endSlowRequests(within func() time.Duration) grpc.ServerOption {
	return grpc.InTapHandle(func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if info.FullMethodName == grpc_health_v1.Health_Watch_FullMethodName {
			return ctx, nil
		}
		bound := within()
		if due, ok := ctx.Deadline(); ok && time.Until(due) <= bound {
			return ctx, nil
		}
		bounded, cancel := context.WithTimeout(ctx, bound)
		_ = cancel // gRPC cancels ctx when the request ends, which stops the timer
		return bounded, nil
	})
}
