package ratelimit_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

func Example() {
	ctx, server := context.Background(), embedded.New(embedded.Options{})
	defer server.Close()
	limits, err := ratelimit.New(server, fcall.Options{})
	if err != nil {
		panic(err)
	}
	for range 3 {
		r, err := limits.GCRA(ctx, ratelimit.GCRAParams{Subject: "user=42", Limit: 2, Period: time.Minute})
		if err != nil {
			panic(err)
		}
		fmt.Println(r.Allowed, r.Remaining)
	}
	// Output:
	// true 1
	// true 0
	// false 0
}
