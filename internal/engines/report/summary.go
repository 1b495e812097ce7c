package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

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
		fmt.Fprintf(r.out, "report: %s: %v\n", pkg, err)
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
