package guard_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
)

func Example() {
	ctx, server := context.Background(), embedded.New(embedded.Options{})
	defer server.Close()
	client, err := guard.New(server, fcall.Options{})
	if err != nil {
		panic(err)
	}
	limits := guard.PackLimit(guard.Limit{Name: "minute", Kind: guard.LimitKindSlidingLog, Limit: 2, Window: time.Minute})
	for range 3 {
		r, err := client.Admit(ctx, guard.AdmitParams{Subject: "user=42", Limits: limits})
		if err != nil {
			panic(err)
		}
		fmt.Println(r.Allowed, r.Reason, r.Limits[0].Remaining)
	}
	// Output:
	// true none 1
	// true none 0
	// false limit 0
}
