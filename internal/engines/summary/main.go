// Command summary reads the events of go test -json. It prints what go test prints, and then what the tests ran on, what they did not run on or
// without, and how to get it. It exits 1 if a test failed, or if no test used an engine that RLFUNC_REQUIRE_ENGINES names.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
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
		fmt.Fprintln(os.Stderr, "summary:", err)
		os.Exit(1)
	}
	required := strings.FieldsFunc(os.Getenv("RLFUNC_REQUIRE_ENGINES"), func(r rune) bool { return r == ',' || r == ' ' })
	packages, err := readPackages(*programs)
	if err != nil {
		fmt.Fprintln(os.Stderr, "summary:", err)
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

// enginesPrefix is that of internal/engines, which this program does not import: it would take a minute to compile.
const enginesPrefix = "engines-report: "

// An engine is what all packages say about one engine.
type engine struct {
	name, version, how string
	tests              int
	packages           map[string]bool
	reasons            []string // why a package did not use it
}

func (r *run) addEngine(pkg, text string) {
	var l struct {
		Engine, Version, How, Reason string
		Tests                        int
	}
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		fmt.Fprintf(r.out, "summary: %s: %v\n", pkg, err)
		r.failed++
		return
	}
	i := slices.IndexFunc(r.engines, func(e engine) bool { return e.name == l.Engine })
	if i < 0 {
		i = len(r.engines)
		r.engines = append(r.engines, engine{name: l.Engine, packages: map[string]bool{}})
	}
	e := &r.engines[i]
	switch {
	case l.Tests > 0:
		e.version, e.how = l.Version, l.How
		e.tests += l.Tests
		e.packages[pkg] = true
	case l.Reason != "" && !slices.Contains(e.reasons, l.Reason):
		e.reasons = append(e.reasons, l.Reason)
	}
}

// readPackages reads the Debian package of each program.
func readPackages(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 2 {
			all[words[0]] = words[1]
		}
	}
	return all, nil
}

// summarize prints what ran and what did not. It returns false if no test used a required engine.
func (r *run) summarize(required []string, packages map[string]string) bool {
	fmt.Fprintln(r.out)
	if len(r.engines)+len(required) > 0 {
		fmt.Fprintln(r.out, "Servers that the tests ran on:")
	}
	var left []string
	for _, e := range r.engines {
		if e.tests > 0 {
			fmt.Fprintf(r.out, "  %-26s %-14s %d tests in %d packages (%s)\n", e.name, e.version, e.tests, len(e.packages), e.how)
		}
	}
	ok := true
	for _, name := range required {
		if !slices.ContainsFunc(r.engines, func(e engine) bool { return e.name == name && e.tests > 0 }) {
			fmt.Fprintf(r.out, "  %-26s REQUIRED, and no test used it\n", name)
			ok = false
		}
	}
	for _, e := range r.engines {
		if e.tests == 0 {
			left = append(left, fmt.Sprintf("  %-26s %s\n", e.name, strings.Join(e.reasons, "; ")))
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(r.out, "Servers that they did not run on (make test-all runs on all that this machine can start, and make images gets their images):\n%s", strings.Join(left, ""))
	}
	r.summarizeSkipped(packages)
	if r.cached > 0 {
		fmt.Fprintf(r.out, "Packages that have not changed, with the results of an earlier run (cached): %d\n", r.cached)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
	return ok
}

// summarizeSkipped prints why tests were skipped, and the packages of the programs that this machine lacks.
func (r *run) summarizeSkipped(packages map[string]string) {
	if r.skipped == 0 {
		return
	}
	var install []string
	fmt.Fprintln(r.out, "Tests that were skipped:")
	for _, why := range slices.SortedFunc(maps.Keys(r.reasons), func(a, b string) int {
		if n := r.reasons[b] - r.reasons[a]; n != 0 {
			return n
		}
		return strings.Compare(a, b)
	}) {
		fmt.Fprintf(r.out, "  %4d  %s\n", r.reasons[why], why)
		if program, _, ok := strings.Cut(why, " is not on PATH"); ok && packages[program] != "" {
			install = append(install, packages[program])
		}
	}
	if len(install) > 0 {
		slices.Sort(install)
		fmt.Fprintf(r.out, "To run more of them on Debian or Ubuntu: sudo apt-get install %s\n", strings.Join(slices.Compact(install), " "))
	}
}
