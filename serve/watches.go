package serve

import (
	"context"

	"google.golang.org/grpc"
)

// endStreams returns an option with which streams, the watches of grpc.health.v1, end when a context does. Otherwise an open watch would
// hold the drain.
func endStreams(ending context.Context) grpc.ServerOption {
	return grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		ctx, cancel := context.WithCancel(s.Context())
		defer cancel()
		defer context.AfterFunc(ending, cancel)()
		return next(srv, stream{s, ctx})
	})
}

type stream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s stream) Context() context.Context { return s.ctx }
