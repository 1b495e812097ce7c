package faults

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
)

// A report is what a fault came to.
type report struct {
	Calls    int
	Answered int
	Calm     int                    // calls since the last that failed
	Failed   map[string]int         // by class: "nothing ran: OOM", "outcome unknown: timeout"
	Errors   []error                // the first of each class
	Silence  time.Duration          // the longest time without any answer
	Slowest  time.Duration          // the longest call
	Stall    time.Duration          // the latest that the machine woke a goroutine which only sleeps
	Trouble  time.Duration          // from the first failed call to the last
	Modes    map[mode]time.Duration // the same, to the last in that mode

	Accounts  int              // subjects that were called, in each library
	Overshoot map[string]int64 // what was admitted above the limits, by kind
	Worst     float64          // the most that one subject was admitted, in times its limit
	Lost      map[string]int64 // what was answered as admitted and no server holds at the end, by kind
	Unsettled int64            // micros that a server counts as reserved after a caller cancelled or settled them
	problems  []string         // contradictions that no destroyed state explains
}

// classify gives an error its class, and what it proves.
func classify(err error) (string, outcome) {
	class, out := "", nothing
	switch {
	case errors.Is(err, fcall.ErrOutcomeUnknown):
		class, out = "outcome unknown", unknown
	case errors.Is(err, fcall.ErrReply):
		class, out = "unreadable reply", unknown
	case errors.Is(err, fcall.ErrNoPermission):
		class = "refused"
	case errors.Is(err, fcall.ErrNotLoaded):
		class = "not loaded"
	case errors.Is(err, fcall.ErrUnavailable):
		class = "nothing ran"
	default:
		class = "unexpected" // an argument, the state of a key: no fault of a server may cause it
	}
	if why := cause(err); why != "" {
		class += ": " + why
	}
	return class, out
}

func cause(err error) string {
	var unavailable *fcall.UnavailableError
	var lost *fcall.OutcomeError
	var script *fcall.ScriptError
	var timeout net.Error
	switch {
	case errors.As(err, &unavailable) && unavailable.Code != "":
		return unavailable.Code
	case errors.As(err, &lost) && lost.Code != "":
		return lost.Code
	case errors.As(err, &script):
		return "in the function"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.Is(err, fcall.ErrUnavailable), errors.Is(err, fcall.ErrOutcomeUnknown):
		return "connection"
	case errors.Is(err, fcall.ErrNotLoaded):
		return ""
	}
	return err.Error()
}

func (r report) clone() report {
	r.Failed, r.Overshoot, r.Lost = maps.Clone(r.Failed), maps.Clone(r.Overshoot), maps.Clone(r.Lost)
	r.Errors, r.Modes = slices.Clone(r.Errors), maps.Clone(r.Modes)
	return r
}

// String is the report on one line.
func (r report) String() string {
	text := fmt.Sprintf("%d calls, %d failed", r.Calls, r.Calls-r.Answered)
	if len(r.Failed) > 0 {
		text += " (" + counts(r.Failed) + ")"
	}
	if r.Trouble > 0 {
		text += fmt.Sprintf(" within %v:", r.Trouble.Round(time.Millisecond))
		for _, m := range slices.Sorted(maps.Keys(r.Modes)) {
			text += fmt.Sprintf(" %s %v", m, r.Modes[m].Round(time.Millisecond))
		}
	}
	text += fmt.Sprintf("; %v without an answer, slowest call %v, slowest waking %v; %d accounts",
		r.Silence.Round(time.Millisecond), r.Slowest.Round(time.Millisecond), r.Stall.Round(time.Millisecond), r.Accounts)
	if len(r.Overshoot) > 0 {
		text += fmt.Sprintf("; overshoot %s, one subject %.2f times its limit", counts(r.Overshoot), r.Worst)
	}
	if len(r.Lost) > 0 {
		text += "; lost " + counts(r.Lost)
	}
	if r.Unsettled > 0 {
		text += fmt.Sprintf("; %d micros unsettled again", r.Unsettled)
	}
	return text
}

func counts[N int | int64](m map[string]N) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprint(m[name], " ", name))
	}
	return strings.Join(parts, ", ")
}

// nothingDestroyed fails unless every limit held exactly and every admission that was answered is on the server.
func (r report) nothingDestroyed(t *testing.T) {
	t.Helper()
	r.possible(t)
	if len(r.Overshoot) > 0 || len(r.Lost) > 0 || r.Unsettled > 0 {
		t.Errorf("nothing was destroyed on a server, and yet: %s", r)
	}
}

// destroyed fails if a subject was admitted more than its limit once more for each time that its state was destroyed.
func (r report) destroyed(t *testing.T, times int) {
	t.Helper()
	r.possible(t)
	if r.Worst > float64(1+times) {
		t.Errorf("state was destroyed %d times: %s", times, r)
	}
}

// none fails if a call failed.
func (r report) none(t *testing.T) {
	t.Helper()
	if len(r.Failed) > 0 {
		t.Errorf("calls failed: %s: %v", r, r.Errors)
	}
}

// only fails if a call failed in another way than the classes.
func (r report) only(t *testing.T, classes ...string) {
	t.Helper()
	for class := range r.Failed {
		if !slices.Contains(classes, class) {
			t.Errorf("calls failed otherwise than %q: %s: %v", classes, r, r.Errors)
			return
		}
	}
}

// within fails if a call took longer than its deadline, and the machine is not why: between its deadline and its return a
// call is woken several times, and each may be as late as that of a goroutine which only sleeps (a call was up to 9 times as
// late on two busy cores). A client whose own timeouts of seconds take the place of the deadline is later than that.
func (r report) within(t *testing.T, deadline time.Duration) {
	t.Helper()
	if r.Slowest > deadline+500*time.Millisecond+10*r.Stall {
		t.Errorf("a call with a deadline of %v took %v, where a sleeper was woken at most %v late", deadline, r.Slowest, r.Stall)
	}
}

func (r report) possible(t *testing.T) {
	t.Helper()
	for _, problem := range r.problems {
		t.Error(problem)
	}
	for class := range r.Failed {
		if strings.HasPrefix(class, "unexpected") {
			t.Errorf("calls failed in a way that no fault explains: %s", class)
		}
	}
}

// Every row of docs/reference/faults.md leads to tests that are there, and every test here has a row.
func TestTable_isOfTestsThatAreThere(t *testing.T) {
	const page = "../../../docs/reference/faults.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	link := regexp.MustCompile(`\[(Test\w+)\]\(([^)]+_test\.go)\)`)
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| fault |") {
			continue
		}
		links := link.FindAllStringSubmatch(line, -1)
		if len(links) == 0 || strings.Count(line, "|") != 6 {
			t.Errorf("a row without a test, or not of five columns: %s", line)
		}
		for _, m := range links {
			named[m[1]] = true
			if !tests(t, filepath.Join(filepath.Dir(page), m[2]))[m[1]] {
				t.Errorf("%s has no %s", m[2], m[1])
			}
		}
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		for name := range tests(t, file) {
			if name != "TestMain" && name != t.Name() && !named[name] {
				t.Errorf("%s of %s has no row in docs/reference/faults.md", name, file)
			}
		}
	}
}

// tests are the test functions of a file.
func tests(t *testing.T, file string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
			found[f.Name.Name] = true
		}
	}
	return found
}
