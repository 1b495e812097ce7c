package override_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/override"
)

func Example() {
	ctx, server := context.Background(), embedded.New(embedded.Options{})
	defer server.Close()
	client, err := override.New(server, fcall.Options{})
	if err != nil {
		panic(err)
	}
	_, err = client.Set(ctx, override.SetParams{
		Subject: "overrides", Target: "user=42", Effect: override.SetEffectAllow, Duration: time.Hour, By: "ann", Reason: "load test",
	})
	if err != nil {
		panic(err)
	}
	list, err := client.List(ctx, override.ListParams{Subject: "overrides"})
	if err != nil {
		panic(err)
	}
	for _, o := range list.Overrides {
		fmt.Println(o.Subject, o.Effect, o.Reason)
	}
	// Output: user=42 allow load test
}
