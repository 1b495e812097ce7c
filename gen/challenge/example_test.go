package challenge_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
)

func Example() {
	ctx, server := context.Background(), embedded.New(embedded.Options{})
	defer server.Close()
	client, err := challenge.New(server, fcall.Options{})
	if err != nil {
		panic(err)
	}
	issued, err := client.Issue(ctx, challenge.IssueParams{Subject: "user=42", Token: fcall.NewToken(), TTL: 5 * time.Minute})
	if err != nil {
		panic(err)
	}
	for range 2 {
		r, err := client.Consume(ctx, challenge.ConsumeParams{Subject: "user=42", Token: issued.Token})
		if err != nil {
			panic(err)
		}
		fmt.Println(r.Outcome)
	}
	// Output:
	// consumed
	// replayed
}
