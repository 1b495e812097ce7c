// Command grpc guards a gRPC server.
package main

import (
	"log"
	"net"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/grpcguard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:8080")
	must(err)
	log.Fatal(server("limits.yaml", "127.0.0.1:6379").Serve(l))
}

// server returns the server on which a service registers its methods.
func server(file, redisAddr string) *grpc.Server {
	limits, err := policy.Load(file)
	must(err)
	g, err := guard.New(redis.NewClient(&redis.Options{Addr: redisAddr, ContextTimeoutEnabled: true}), limits, guard.Options{})
	must(err)
	i, err := grpcguard.New(g, grpcguard.Options{})
	must(err)
	return grpc.NewServer(grpc.ChainUnaryInterceptor(i.Unary), grpc.ChainStreamInterceptor(i.Stream))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
