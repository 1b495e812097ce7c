// Burst draws the picture of docs/limiters.md: what each limiter admits of the same requests, most of them at the edge
// of a window. It shows runs of the released libraries on the embedded engine.
//
//	go run ./docs/burst           draw the picture
//	go run ./docs/burst --check   fail if it differs from a run
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
)

func main() {
	check := flag.Bool("check", false, "change nothing, and fail if the picture differs from a run")
	file := flag.String("file", "docs/burst/limiters.svg", "the picture")
	flag.Parse()
	if err := draw(context.Background(), *file, *check); err != nil {
		fmt.Fprintln(os.Stderr, "burst:", err)
		os.Exit(1)
	}
}

// draw writes the picture, or compares it with what is there.
func draw(ctx context.Context, file string, check bool) error {
	runs, err := record(ctx)
	if err != nil {
		return err
	}
	drawn, err := picture(runs)
	if err != nil {
		return err
	}
	if !check {
		return os.WriteFile(file, drawn, 0o644)
	}
	if there, err := os.ReadFile(file); err != nil || !bytes.Equal(there, drawn) {
		return fmt.Errorf("%s differs from a run: draw it again with `go run ./docs/burst`", file)
	}
	return nil
}
