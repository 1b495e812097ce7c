package doctor_test

import (
	"context"
	"fmt"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/loader"
	"github.com/rlfunc/rlfunc/loader/doctor"
)

func ExampleDiagnose() {
	client := embedded.New(embedded.Options{}) // or the client of loader.ParseURL("redis://...")
	defer client.Close()

	found, err := doctor.Diagnose(context.Background(), loader.NewTarget(client), ratelimit.Library)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("nodes:", found.Nodes, "problems:", found.Count(doctor.Problem))
	for _, f := range found.Findings {
		if f.Severity == doctor.Problem {
			fmt.Println(f.Text)
			fmt.Println("fix:", f.Fix)
		}
	}
	// Output:
	// nodes: 1 problems: 1
	// ratelimit_v1 is missing: calls find no function
	// fix: rlfunc deploy
}

// Of finds the known faults of a version without asking a server.
func ExampleOf() {
	for _, fault := range doctor.Of(loader.Server{Kind: "Valkey", Version: "9.1.2"}) {
		fmt.Println(fault.ID)
	}
	// Output: load-log-crash
}
