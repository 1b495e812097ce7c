// Command scale simulates what comes after one machine: many processes with a global limit and limits of subjects, on the shards of a
// cluster, with and without prefetch.
//
// The simulation has its own clock, and one seed gives one result. It sizes batches by the code of package prefetch. Its latencies are
// those of latency.txt, which -measure writes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
)

func main() {
	seed := flag.Uint64("seed", 1, "the simulation's random `number`")
	url := flag.String("measure", "", "measure latencies on the server of this `URL`, and print them for latency.txt")
	flag.Parse()
	var err error
	if *url != "" {
		err = measure(context.Background(), os.Stdout, *url)
	} else {
		var t table
		if t, err = tableOf(*seed); err == nil {
			fmt.Print(t.text())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}
