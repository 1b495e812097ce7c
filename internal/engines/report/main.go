// Command report prints, from the file that RLFUNC_ENGINE_REPORT named, one block that says which engines the tests
// ran on and which they did not. It exits 1 if an engine that RLFUNC_REQUIRE_ENGINES names was used by no test.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/internal/engines"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: report FILE")
		os.Exit(1)
	}
	lines, err := read(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	required := strings.FieldsFunc(os.Getenv("RLFUNC_REQUIRE_ENGINES"), func(r rune) bool { return r == ',' || r == ' ' })
	if !write(os.Stdout, summarize(lines), required) {
		os.Exit(1)
	}
}

// read returns the lines of a report. No file means that no test used an engine.
func read(path string) ([]engines.Line, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []engines.Line
	for in := bufio.NewScanner(f); in.Scan(); {
		var l engines.Line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// engine is what all processes of a run say about one engine.
type engine struct {
	name, version, how string
	tests, packages    int
	reasons            []string // why a process did not use it
}

func summarize(lines []engines.Line) []engine {
	var all []engine
	for _, l := range lines {
		i := slices.IndexFunc(all, func(e engine) bool { return e.name == l.Engine })
		if i < 0 {
			i = len(all)
			all = append(all, engine{name: l.Engine})
		}
		e := &all[i]
		if l.Reason == "" {
			e.version, e.how = l.Version, l.How
			e.tests += l.Tests
			if l.Tests > 0 {
				e.packages++
			}
		} else if !slices.Contains(e.reasons, l.Reason) {
			e.reasons = append(e.reasons, l.Reason)
		}
	}
	return all
}

// write prints the block. It returns false if a required engine was used by no test.
func write(w io.Writer, all []engine, required []string) bool {
	fmt.Fprintln(w, "engines that the tests ran on:")
	for _, e := range all {
		if e.tests > 0 {
			fmt.Fprintf(w, "  %-26s %-14s %s in %s (%s)\n",
				e.name, e.version, plural(e.tests, "test"), plural(e.packages, "package"), e.how)
		}
	}
	fmt.Fprintln(w, "engines that they did not run on:")
	none := true
	for _, e := range all {
		switch {
		case len(e.reasons) > 0 && e.tests > 0:
			fmt.Fprintf(w, "  %-26s NOT IN EVERY PACKAGE: %s\n", e.name, strings.Join(e.reasons, "; "))
		case len(e.reasons) > 0:
			fmt.Fprintf(w, "  %-26s NOT RUN: %s\n", e.name, strings.Join(e.reasons, "; "))
		case e.tests == 0:
			fmt.Fprintf(w, "  %-26s NOT RUN: it was reached, but no test used it\n", e.name)
		default:
			continue
		}
		none = false
	}
	ok := true
	for _, name := range required {
		if !slices.ContainsFunc(all, func(e engine) bool { return e.name == name && e.tests > 0 }) {
			fmt.Fprintf(w, "  %-26s REQUIRED, and no test used it\n", name)
			ok, none = false, false
		}
	}
	if none {
		fmt.Fprintln(w, "  none")
	}
	return ok
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
