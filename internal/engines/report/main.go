// Command report reads the events of go test -json. It prints what go test prints, and then what the tests ran on, what they did not run on or
// without, and how to get it. It exits 1 if a test failed, or if no test used an engine that RLFUNC_REQUIRE_ENGINES names.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
)

func main() {
	verbose := flag.Bool("v", false, "print all output of the tests")
	programs := flag.String("programs", ".ci/programs", "`file` with the Debian package of each program")
	flag.Parse()
	signal.Ignore(os.Interrupt) // go test ends, and this ends with its events
	r := newRun(os.Stdout, *verbose)
	if err := r.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	required := strings.FieldsFunc(os.Getenv("RLFUNC_REQUIRE_ENGINES"), func(r rune) bool { return r == ',' || r == ' ' })
	packages, err := readPackages(*programs)
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	if ok := r.summarize(required, packages); !ok || r.failed > 0 {
		os.Exit(1)
	}
}

// An event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
}

// A run is what the events have said so far.
type run struct {
	out     io.Writer
	verbose bool
	output  map[test][]string // of tests that have not ended, and of packages, whose name is ""

	passed, failed, skipped int
	failedIn                map[string]bool // packages
	cached                  int             // packages
	reasons                 map[string]int  // tests that were skipped
	engines                 []engine
}

type test struct{ pkg, name string }

func newRun(out io.Writer, verbose bool) *run {
	return &run{out: out, verbose: verbose, output: map[test][]string{}, failedIn: map[string]bool{}, reasons: map[string]int{}}
}

func (r *run) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil {
			r.add(e)
		} else {
			r.out.Write(line) // of the go command itself
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *run) add(e event) {
	t := test{e.Package, e.Test}
	switch e.Action {
	case "output", "build-output":
		if text, ok := strings.CutPrefix(e.Output, enginesPrefix); ok {
			r.addEngine(e.Package, text)
			return
		}
		if r.verbose || e.Action == "build-output" {
			io.WriteString(r.out, e.Output)
		}
		r.output[t] = append(r.output[t], e.Output)
		if e.Test == "" && (strings.HasPrefix(e.Output, "ok  \t") || strings.HasPrefix(e.Output, "FAIL\t")) {
			r.endPackage(e)
		}
	case "pass", "fail", "skip":
		if e.Test != "" {
			r.endTest(e.Action, t)
		}
	}
}

func (r *run) endTest(action string, t test) {
	switch action {
	case "pass":
		r.passed++
		if slices.ContainsFunc(r.output[t], func(line string) bool { return strings.Contains(line, "WARNING: DATA RACE") }) {
			r.print(t) // of a goroutine of a test that has ended: only the process fails
		}
	case "fail":
		r.failed++
		r.failedIn[t.pkg] = true
		r.print(t)
	case "skip":
		r.skipped++
		r.reasons[reason(r.output[t])]++
	}
	delete(r.output, t)
}

// endPackage prints the line of a package, and before it, if it failed, the output of tests that did not end and of what is no test.
func (r *run) endPackage(e event) {
	own := test{e.Package, ""}
	if strings.HasPrefix(e.Output, "FAIL\t") {
		if !r.failedIn[e.Package] { // it does not compile, or its process ended
			r.failed++
		}
		for t := range r.output {
			if t.pkg == e.Package && t.name != "" {
				r.print(t)
				delete(r.output, t)
			}
		}
		r.print(own)
	} else if !r.verbose {
		io.WriteString(r.out, e.Output)
	}
	if strings.Contains(e.Output, "\t(cached)") {
		r.cached++
	}
	delete(r.output, own)
}

// print prints the output of a test as go test does without -v.
func (r *run) print(t test) {
	if r.verbose {
		return // it is there
	}
	for _, line := range r.output[t] {
		if !strings.HasPrefix(line, "=== ") && line != "PASS\n" {
			io.WriteString(r.out, line)
		}
	}
}

// reason returns why a test was skipped.
func reason(output []string) string {
	for _, line := range output {
		if _, why, ok := strings.Cut(line, "SKIPPED: "); ok {
			return strings.TrimSpace(why)
		}
	}
	for _, line := range output {
		// "    file_test.go:12: why"
		if place, why, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.Contains(place, ".go:") {
			return strings.TrimSpace(why)
		}
	}
	return "no reason given"
}
