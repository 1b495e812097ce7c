package guard_test

import (
	"context"
	"fmt"
	"log"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// exampleRedis returns a client of an embedded server whose clock stands still.
func exampleRedis() *redis.Client {
	return embedded.New(embedded.Options{Clock: embedded.NewManualClock(moment)}).Client()
}

func examplePolicy(yaml string) *policy.Policy {
	p, err := policy.Parse("limits.yaml", []byte(yaml))
	if err != nil {
		log.Fatal(err)
	}
	return p
}

func Example() {
	limits := examplePolicy(`
version: 1
timeout: 10s
endpoints:
  - name: chat
    limits:
      - {name: minute, by: ip, limit: 2, window: 1m}
`)
	g, err := guard.New(exampleRedis(), limits, guard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	for range 3 {
		d, err := g.Decide(context.Background(), guard.Request{Endpoint: "chat", Subjects: []string{"ip=203.0.113.7"}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(d.Allowed, d.Reason, d.Limits[0].Remaining, d.RetryAfter)
	}
	// Output:
	// true  1 0s
	// true  0 0s
	// false limit 0 1m0s
}

const exampleBudget = `
version: 1
timeout: 10s
budgets: [{name: day, by: ip, budget: 1.00, window: 24h}]
endpoints:
  - name: chat
    cost: {estimate: 0.40, hold: 10m}
    unbounded: true
`

// A request reserves its estimate. Settle replaces it by the actual cost.
func ExampleCharge_Settle() {
	g, err := guard.New(exampleRedis(), examplePolicy(exampleBudget), guard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	ctx, r := context.Background(), guard.Request{Endpoint: "chat", Subjects: []string{"ip=203.0.113.7"}}
	d, err := g.Decide(ctx, r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("reserved", d.Charge.Reserved().Money)
	if err := d.Charge.Settle(ctx, 150_000); err != nil {
		log.Fatal(err)
	}
	d, err = g.Decide(ctx, r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("spent and reserved", d.Budgets[0].Spent)
	// Output:
	// reserved 0.400000
	// spent and reserved 0.550000
}

// A job keeps its place while it runs, however long that is, and stops if the place is lost.
func ExampleCharge_Keep() {
	limits := examplePolicy(`
version: 1
timeout: 10s
endpoints:
  - name: export
    limits:
      - {name: exports, kind: concurrency, limit: 1, lease: 30s}
`)
	g, err := guard.New(exampleRedis(), limits, guard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	export := func(work func(ctx context.Context)) {
		d, err := g.Decide(context.Background(), guard.Request{Endpoint: "export", Subjects: []string{"ip=203.0.113.7"}})
		if err != nil {
			log.Fatal(err)
		}
		if !d.Allowed {
			fmt.Println("refused; try again in", d.RetryAfter)
			return
		}
		lost := d.Charge.Keep()
		defer d.Charge.End(context.Background(), guard.End{})
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			select {
			case <-lost:
				cancel()
			case <-ctx.Done():
			}
		}()
		work(ctx)
	}
	export(func(context.Context) {
		fmt.Println("exporting")
		export(func(context.Context) { fmt.Println("two at the same time") })
	})
	// Output:
	// exporting
	// refused; try again in 1s
}

// Explain returns which limits count a request. It charges nothing.
func ExampleGuard_Explain() {
	limits := examplePolicy(`
version: 1
endpoints:
  - name: chat
    limits:
      - {name: minute, by: ip, limit: 10, window: 1m}
      - {name: all, by: all, kind: gcra, limit: 1000, window: 1s}
`)
	g, err := guard.New(exampleRedis(), limits, guard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	e, err := g.Explain(guard.Request{Endpoint: "chat", Subjects: []string{"ip=203.0.113.7"}})
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range e.Limits {
		fmt.Printf("%s counts %s: %d in %v\n", l.Name, l.Subject, l.Limit, l.Window)
	}
	// Output:
	// minute counts ip=203.0.113.7: 10 in 1m0s
	// all counts global/chat/all: 1000 in 1s
}
