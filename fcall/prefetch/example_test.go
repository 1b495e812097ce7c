package prefetch_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/prefetch"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// A limit of all requests of a service, 5,000 a second, costs a call to Redis for up to 100 requests.
func Example() {
	ctx := context.Background()
	server := embedded.New(embedded.Options{}) // in a service: a *redis.Client
	defer server.Close()
	limits, err := ratelimit.New(server, fcall.Options{})
	if err != nil {
		log.Fatal(err)
	}
	all, err := prefetch.GCRA(limits, ratelimit.GCRAParams{Subject: "all", Limit: 5000, Period: time.Second}, prefetch.Options{
		Most: 100, For: 100 * time.Millisecond,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer all.Close() // refunds what is left

	d, err := all.Take(ctx)
	if err != nil {
		log.Fatal(err) // no decision: Redis did not answer
	}
	fmt.Println(d.Allowed)
	// Output: true
}
