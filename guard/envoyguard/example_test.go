package envoyguard_test

import (
	"context"
	"fmt"
	"log"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/envoyguard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func Example() {
	redis := embedded.New(embedded.Options{})
	defer redis.Close()
	p, err := policy.Parse("limits.yaml", []byte(`
version: 1
timeout: 10s
endpoints:
  - name: login
    limits: [{name: minute, by: ip, limit: 1, window: 1m}]
descriptors:
  - {domain: edge, entries: [{key: remote_address, identity: ip}], endpoint: login}
`))
	if err != nil {
		log.Fatal(err)
	}
	client := redis.Client()
	defer client.Close()
	g, err := guard.New(client, p, guard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	service, err := envoyguard.New(g, envoyguard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(envoyguard.ServerOption()) // Serve it on a listener
	ratelimitv3.RegisterRateLimitServiceServer(server, service)

	// What Envoy sends for a request of a client.
	request := &ratelimitv3.RateLimitRequest{Domain: "edge", Descriptors: []*commonv3.RateLimitDescriptor{{
		Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "remote_address", Value: "203.0.113.7"}},
	}}}
	for range 2 {
		answer, err := service.ShouldRateLimit(context.Background(), request)
		fmt.Println(answer.GetOverallCode(), err)
	}
	// Output:
	// OK <nil>
	// OVER_LIMIT <nil>
}
