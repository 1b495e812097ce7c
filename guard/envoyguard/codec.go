package envoyguard

import (
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// unreadable is the domain of a request that cannot be read. A valid request has UTF-8 in its domain.
const unreadable = "\xff"

// ServerOption returns an option that a server with a RateLimitService needs. It passes unreadable requests to the service, which refuses
// them. Without it gRPC fails requests whose text is not UTF-8, and Envoy lets them pass.
func ServerOption() grpc.ServerOption {
	return grpc.ForceServerCodecV2(codec{encoding.GetCodecV2(proto.Name)})
}

type codec struct{ encoding.CodecV2 }

// Unmarshal reads a message. A request that it cannot read has the domain unreadable.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	r, ok := v.(*ratelimitv3.RateLimitRequest)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	if c.CodecV2.Unmarshal(data, v) != nil {
		r.Reset()
		r.Domain = unreadable
	}
	return nil
}
