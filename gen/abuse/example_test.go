package abuse_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
)

func Example() {
	ctx, server := context.Background(), embedded.New(embedded.Options{})
	defer server.Close()
	client, err := abuse.New(server, fcall.Options{})
	if err != nil {
		panic(err)
	}
	tiers := []abuse.AttemptTiers{{Threshold: 3, Window: time.Minute, Block: time.Hour}}
	for range 4 {
		r, err := client.Attempt(ctx, abuse.AttemptParams{Subject: "ip=203.0.113.7", Tiers: abuse.PackAttemptTiers(tiers...)})
		if err != nil {
			panic(err)
		}
		fmt.Println(r.Allowed, r.Reason)
	}
	// Output:
	// true none
	// true none
	// false tier
	// false blocked
}
