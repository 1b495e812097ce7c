package serve_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"
)

// A peer speaks HTTP/2 as no gRPC client does.
type peer struct {
	*http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
}

func newPeer(conn net.Conn) *peer {
	_, _ = io.WriteString(conn, http2.ClientPreface) // a broken connection fails the test later
	p := &peer{Framer: http2.NewFramer(conn, conn)}
	p.encoder = hpack.NewEncoder(&p.block)
	p.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = p.WriteSettings()
	return p
}

// ask sends a request of the limit total, with more header fields.
func (p *peer) ask(id uint32, more ...hpack.HeaderField) {
	p.block.Reset()
	for _, f := range append([]hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: ratelimitv3.RateLimitService_ShouldRateLimit_FullMethodName},
		{Name: ":authority", Value: "limits"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
	}, more...) {
		_ = p.encoder.WriteField(f)
	}
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.block.Bytes(), EndHeaders: true})
	message, _ := proto.Marshal(total())
	_ = p.WriteData(id, true, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...))
}

// total returns a request of the limit total.
func total() *ratelimitv3.RateLimitRequest {
	return &ratelimitv3.RateLimitRequest{
		Domain:      "edge",
		Descriptors: []*commonv3.RateLimitDescriptor{{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "generic_key", Value: "total"}}}},
	}
}
