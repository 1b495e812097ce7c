package envoyguard

import (
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// unreadable is the domain of a request that cannot be read. A valid request has UTF-8 in its domain.
const unreadable = "\xff"

// maxParts is the most descriptors and entries of a request together. An empty one has 2 bytes on the wire and 190 in memory.
const maxParts = 1000

// ServerOption returns an option that a server with a RateLimitService needs. It passes unreadable requests to the service, which refuses
// them. Without it gRPC fails requests whose text is not UTF-8, and Envoy lets them pass.
func ServerOption() grpc.ServerOption {
	return grpc.ForceServerCodecV2(codec{encoding.GetCodecV2(proto.Name)})
}

type codec struct{ encoding.CodecV2 }

// Unmarshal reads a message. A request that it cannot read, or that has too many parts, has the domain unreadable.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	r, ok := v.(*ratelimitv3.RateLimitRequest)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	if !fewParts(data) || c.CodecV2.Unmarshal(data, v) != nil {
		r.Reset()
		r.Domain = unreadable
	}
	return nil
}

// fewParts reports whether a request has at most maxParts.
func fewParts(data mem.BufferSlice) bool {
	if data.Len() <= 2*maxParts {
		return true
	}
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	left := maxParts
	const descriptors, entries = 2, 1 // the numbers of their fields
	each(whole.ReadOnlyData(), descriptors, func(descriptor []byte) bool {
		left--
		each(descriptor, entries, func([]byte) bool {
			left--
			return left >= 0
		})
		return left >= 0
	})
	return left >= 0
}

// each calls do with each message that a field of a message has, until it returns false or the message cannot be read.
func each(message []byte, field protowire.Number, do func([]byte) bool) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return
		}
		if number == field && kind == protowire.BytesType {
			if value, _ := protowire.ConsumeBytes(message); !do(value) {
				return
			}
		}
		message = message[n:]
	}
}
