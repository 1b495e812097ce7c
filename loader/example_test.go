package loader_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/loader"
)

// A deploy plans and applies; another plan checks.
func ExampleTarget_Apply() {
	ctx := context.Background()
	client := embedded.New(embedded.Options{}) // or the client of ParseURL("redis://...")
	defer client.Close()
	target := loader.NewTarget(client)

	plan, err := target.Plan(ctx, ratelimit.Library)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range plan.Nodes {
		for _, s := range n.Steps {
			fmt.Printf("%s on %s: %s\n", s.Library, n.Addr, s)
		}
	}
	fmt.Println(plan.Summary())

	result, err := target.Apply(ctx, plan, loader.ApplyOptions{})
	if errors.Is(err, loader.ErrChanged) {
		fmt.Println("plan again:", err)
		return
	}
	for _, n := range result.Nodes {
		for _, s := range n.Steps {
			fmt.Println(n.Addr, s.Library, s.Word(), s.Found)
		}
	}

	plan, err = target.Plan(ctx, ratelimit.Library) // the check: every node holds every library
	fmt.Println(plan.Same(), err)
	// Output:
	// ratelimit_v1 on embedded: load 1.0.0
	// 1 to load
	// embedded ratelimit_v1 loaded 1.0.0
	// true <nil>
}

// At its start, a service loads missing libraries and keeps newer minor versions.
func ExampleEnsure() {
	ctx := context.Background()
	client := embedded.New(embedded.Options{})
	defer client.Close()

	result, err := loader.Ensure(ctx, client, ratelimit.Library)
	switch {
	case errors.Is(err, loader.ErrOlder):
		fmt.Println("deploy first:", err)
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Println(result.Nodes[0].Steps[0].Word())
	}
	// Output: loaded
}
