// Burst draws the pictures of docs/limiters.md: what each limiter admits of the same requests, most of them at the edge
// of a window. Each picture shows a run of the released library on the embedded engine.
//
//	go run ./docs/burst           draw the pictures
//	go run ./docs/burst --check   fail if one differs from a run
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	check := flag.Bool("check", false, "change nothing, and fail if a picture differs from a run")
	dir := flag.String("dir", "docs/burst", "the folder of the pictures")
	flag.Parse()
	if err := draw(context.Background(), *dir, *check); err != nil {
		fmt.Fprintln(os.Stderr, "burst:", err)
		os.Exit(1)
	}
}

// draw writes the pictures into a folder, or compares them with what is there.
func draw(ctx context.Context, dir string, check bool) error {
	runs, err := record(ctx)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if r.Title == "" {
			continue
		}
		picture, err := picture(r)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, r.File+".svg")
		if !check {
			if err := os.WriteFile(file, picture, 0o644); err != nil {
				return err
			}
			continue
		}
		if there, err := os.ReadFile(file); err != nil || !bytes.Equal(there, picture) {
			return fmt.Errorf("%s differs from a run: draw it again with `go run ./docs/burst`", file)
		}
	}
	return nil
}
