// Package redissuite_test runs the test suite of Redis 7.0.15 against the embedded engine. The suite itself is not part of this project.
package redissuite_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
)

// folder names an unpacked source tree of Redis 7.0.15: its tests/ and, in src/, redis-cli and redis-benchmark. The suite writes to tests/tmp.
const folder = "RLFUNC_REDIS_SUITE"

// onlyUnits names those of units to run, separated by blanks; all by default.
const onlyUnits = "RLFUNC_REDIS_UNITS"

// units are those whose commands are here: unit/sort, unit/geo and unit/type/stream-cgroups are not among them.
var units = []string{
	"unit/type/string", "unit/type/incr", "unit/expire", "unit/type/hash", "unit/type/set", "unit/type/list", "unit/type/zset",
	"unit/type/list-2", "unit/type/list-3", "unit/type/stream", "unit/introspection-2",
	"unit/functions", "unit/scripting", "unit/scan", "unit/keyspace", "unit/multi",
}

// limit is for one unit; stalled, in seconds, is how long the suite waits for the end of a test.
const (
	limit   = 15 * time.Minute
	stalled = "120"
)

func TestRedisSuite_passes(t *testing.T) {
	dir := os.Getenv(folder)
	if dir == "" {
		t.Skipf("THE TEST SUITE OF REDIS DOES NOT RUN: %s names no source tree of Redis 7.0.15 (make redis-suite SUITE=/path)", folder)
	}
	tclsh, err := exec.LookPath("tclsh")
	if err != nil {
		t.Fatalf("find tclsh: %v: install tcl", err)
	}
	skips := readSkips(t, "skip.txt")
	only := os.Getenv(onlyUnits)
	for _, unit := range units {
		if only != "" && !slices.Contains(strings.Fields(only), unit) {
			continue
		}
		t.Run(strings.TrimPrefix(unit, "unit/"), func(t *testing.T) { run(t, tclsh, dir, unit, skips) })
	}
}

func run(t *testing.T, tclsh, dir, unit string, skips []skip) {
	server := embedded.New(embedded.Options{UndeclaredKeys: true}) // as Redis outside of a cluster
	defer func() { _ = server.Close() }()
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(addr.String())

	args := []string{"tests/test_helper.tcl", "--host", host, "--port", port, "--durable", "--ignore-digest", "--ignore-encoding", "--timeout", stalled}
	var patterns, tags, lines []string
	for _, s := range skips {
		switch {
		case s.line && s.unit == unit:
			lines = append(lines, s.name)
		case s.tag && (s.unit == "" || s.unit == unit):
			tags = append(tags, "-"+s.name)
		case s.unit == unit && !s.command && !s.line:
			patterns = append(patterns, s.name)
		}
	}
	args = append(args, "--single", without(t, dir, unit, lines))
	if len(tags) > 0 {
		args = append(args, "--tags", strings.Join(tags, " "))
	}
	if len(patterns) > 0 {
		file := filepath.Join(t.TempDir(), "skip")
		if err := os.WriteFile(file, []byte(strings.Join(patterns, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--skipfile", file)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, tclsh, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TERM=dumb") // no colours
	out, err := cmd.CombinedOutput()
	r := readResult(string(out))
	lacking := 0
	for _, failure := range r.failed {
		first, _, _ := strings.Cut(failure, "\n")
		inTest := strings.Contains(first, " in tests/") // outside of tests, one command that is missing ends all tests after it
		if m := absent.FindStringSubmatch(failure); m != nil && inTest && slices.ContainsFunc(skips, func(s skip) bool { return s.command && s.name == strings.ToLower(m[1]) }) {
			lacking++
			continue
		}
		t.Error(failure)
	}
	t.Logf("%s: %d ok, %d failed, %d for want of a command, %d skipped by name, %d by tag", unit, r.ok, len(r.failed)-lacking, lacking, len(r.skipped), r.ignored)
	if !r.ended || r.ok == 0 {
		t.Errorf("the unit did not end: %v\n%s", err, out[max(len(out)-4000, 0):])
	}
	for _, pattern := range patterns {
		name, isPattern := strings.CutPrefix(pattern, "/")
		if !isPattern {
			name = "^" + regexp.QuoteMeta(name) + "$"
		}
		if !slices.ContainsFunc(r.skipped, regexp.MustCompile(name).MatchString) {
			t.Errorf("skip.txt: no test of %s is called %q", unit, pattern)
		}
	}
}

// without returns the name of a copy of a unit that has none of these lines.
func without(t *testing.T, dir, unit string, lines []string) string {
	if len(lines) == 0 {
		return unit
	}
	text, err := os.ReadFile(filepath.Join(dir, "tests", unit+".tcl"))
	if err != nil {
		t.Fatal(err)
	}
	left := string(text)
	for _, line := range lines {
		if !strings.Contains(left, line+"\n") {
			t.Errorf("skip.txt: %s has no line %q", unit, line)
		}
		left = strings.ReplaceAll(left, line+"\n", "\n")
	}
	name := "tmp/" + filepath.Base(unit)
	if err := os.WriteFile(filepath.Join(dir, "tests", name+".tcl"), []byte(left), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// absent is how the engine says which command it lacks.
var absent = regexp.MustCompile(`the embedded engine has no '([^']*)'`)

// A result is what a unit of the suite printed.
type result struct {
	ok, ignored     int
	skipped, failed []string // names, and for failures the lines that say how
	ended           bool
}

var mark = regexp.MustCompile(`^\[([a-zA-Z]+|\d+/\d+ done)\]: (.*)`)

func readResult(out string) (r result) {
	before, _, ended := strings.Cut(out, "The End")
	r.ended = ended
	failing := false
	for line := range strings.Lines(before) {
		m := mark.FindStringSubmatch(line)
		if m == nil {
			if failing {
				r.failed[len(r.failed)-1] += line
			}
			continue
		}
		failing = false
		switch m[1] {
		case "ok":
			r.ok++
		case "skip":
			r.skipped = append(r.skipped, m[2])
		case "ignore":
			r.ignored++
		case "err", "exception", "TIMEOUT":
			failing = true
			r.failed = append(r.failed, line)
		}
	}
	return r
}

// A skip is a test, all tests with a tag or a line outside of them that does not run, or a command for want of which a test may fail.
type skip struct {
	unit    string // empty: all
	name    string
	tag     bool
	command bool
	line    bool
}

// readSkips reads blocks of lines: "# reason" first, then "unit: name of a test", "unit: tag name", "unit: line text" or, for all units,
// "tag name" or "command name".
func readSkips(t *testing.T, file string) []skip {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []skip
	reason := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "":
			reason = false
			continue
		case strings.HasPrefix(line, "# "):
			reason = true
			continue
		case !reason:
			t.Fatalf("%s: %q has no reason above it", file, line)
		}
		unit, name, found := strings.Cut(line, ": ")
		if !found {
			unit, name = "", line
		}
		name, tag := strings.CutPrefix(name, "tag ")
		name, command := strings.CutPrefix(name, "command ")
		name, outside := strings.CutPrefix(name, "line ")
		if unit == "" && !tag && !command {
			t.Fatalf("%s: %q is neither \"unit: name\" nor \"tag name\" nor \"command name\"", file, line)
		}
		all = append(all, skip{unit: unit, name: name, tag: tag, command: command, line: outside})
	}
	return all
}
