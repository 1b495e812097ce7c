package main

import (
	"context"
	"net"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
)

// An emptyService answers at once.
type emptyService struct {
	ratelimitv3.UnimplementedRateLimitServiceServer
}

func (emptyService) ShouldRateLimit(_ context.Context, r *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	return &ratelimitv3.RateLimitResponse{
		OverallCode: ratelimitv3.RateLimitResponse_OK,
		Statuses:    make([]*ratelimitv3.RateLimitResponse_DescriptorStatus, 0, len(r.Descriptors)),
	}, nil
}

// serveEmpty is the process of an emptyService.
func serveEmpty(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	ratelimitv3.RegisterRateLimitServiceServer(s, emptyService{})
	return s.Serve(l)
}
