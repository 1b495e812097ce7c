package grpcguard_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/grpcguard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

func Example() {
	limits, err := policy.Parse("limits.yaml", []byte(`
version: 1
timeout: 10s
endpoints:
  - name: chat
    match: ["/chat.Chat/*"]
    limits:
      - {name: minute, by: ip, limit: 1, window: 1m}
`))
	if err != nil {
		log.Fatal(err)
	}
	rdb := embedded.New(embedded.Options{Clock: embedded.NewManualClock(engines.Start)}).Client()
	g, err := guard.New(rdb, limits, guard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	i, err := grpcguard.New(g, grpcguard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(i.Unary), grpc.StreamInterceptor(i.Stream))
	defer server.Stop()

	// A server calls the interceptor like this.
	ctx := peer.NewContext(context.Background(), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(203, 0, 113, 7)}})
	for range 2 {
		_, err := i.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/chat.Chat/Say"}, func(context.Context, any) (any, error) { return "hello", nil })
		fmt.Printf("%v: %q\n", status.Code(err), status.Convert(err).Message())
	}
	// Output:
	// OK: ""
	// ResourceExhausted: "too many requests; try again in 1m0s"
}
