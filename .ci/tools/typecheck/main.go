// Command typecheck type-checks the packages of the current directory, with their tests, for the systems given as GOOS/GOARCH.
// It finds what a compiler would refuse without generating code, so that a system takes seconds and not a minute.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"
)

func main() {
	failed := false
	for _, system := range os.Args[1:] {
		goos, goarch, _ := strings.Cut(system, "/")
		start := time.Now()
		loaded, err := packages.Load(&packages.Config{
			Mode:  packages.LoadAllSyntax,
			Env:   append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch),
			Tests: true,
		}, "./...")
		if err != nil {
			fmt.Fprintln(os.Stderr, "typecheck:", err)
			os.Exit(2)
		}
		found := packages.PrintErrors(loaded)
		failed = failed || found > 0
		fmt.Printf("typecheck: %s: %d packages, %d errors, %d s\n", system, len(loaded), found, int(time.Since(start).Seconds()))
	}
	if failed {
		os.Exit(1)
	}
}
