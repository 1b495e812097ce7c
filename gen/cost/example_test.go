package cost_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
)

func Example() {
	ctx, server := context.Background(), embedded.New(embedded.Options{})
	defer server.Close()
	client, err := cost.New(server, fcall.Options{})
	if err != nil {
		panic(err)
	}
	hourly := cost.PackBudget(cost.Budget{Budget: 1_000_000, Window: time.Hour})
	reserved, err := client.Reserve(ctx, cost.ReserveParams{Subject: "tenant=7", Receipt: "request-1", Estimate: 300_000, Budgets: hourly})
	if err != nil {
		panic(err)
	}
	settled, err := client.Settle(ctx, cost.SettleParams{Subject: "tenant=7", Receipt: "request-1", Actual: 120_000, Budgets: hourly})
	if err != nil {
		panic(err)
	}
	fmt.Println(reserved.Allowed, int64(reserved.Budgets[0].Remaining), settled.Outcome, int64(settled.Budgets[0].Spent))
	// Output: true 700000 settled 120000
}
