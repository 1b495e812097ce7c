package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// printed returns what report prints for output lines of go test -json: "package test action output".
func printed(t *testing.T, required []string, events ...event) (text string, ok bool) {
	t.Helper()
	var in strings.Builder
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	var out strings.Builder
	r := newRun(&out, false)
	if err := r.read(strings.NewReader(in.String())); err != nil {
		t.Fatal(err)
	}
	ok = r.summarize(required, map[string]string{"redis-server": "redis-server", "node": "nodejs"}) && r.failed == 0
	return out.String(), ok
}

func out(pkg, test, text string) event { return event{"output", pkg, test, text} }

func TestReport_printsFailuresAndSaysWhatDidNotRun(t *testing.T) {
	text, ok := printed(
		t, []string{"embedded"},
		out("a", "TestGood", "=== RUN   TestGood\n"), out("a", "TestGood", "    a_test.go:1: quiet\n"), event{"pass", "a", "TestGood", ""},
		out("a", "TestBad", "=== RUN   TestBad\n"), out("a", "TestBad", "    a_test.go:2: wrong\n"), out("a", "TestBad", "--- FAIL: TestBad (0.00s)\n"), event{"fail", "a", "TestBad", ""},
		out("a", "TestNode", "    x.go:1: SKIPPED: node is not on PATH\n"), event{"skip", "a", "TestNode", ""},
		out("a", "", `engines-report: {"engine":"embedded","version":"Redis 8.0.0","how":"in the process","tests":3}`+"\n"),
		out("a", "", `engines-report: {"engine":"redis-8","tests":0,"reason":"make test-all runs on it"}`+"\n"),
		out("a", "", "FAIL\n"), out("a", "", "FAIL\ta\t0.10s\n"), event{"fail", "a", "", ""},
		out("b", "", `engines-report: {"engine":"embedded","version":"Redis 8.0.0","how":"in the process","tests":4}`+"\n"),
		out("b", "", "PASS\n"), out("b", "", "ok  \tb\t(cached)\n"), event{"pass", "b", "", ""},
		out("c", "TestEnds", "panic: at once\n"), out("c", "", "FAIL\tc\t0.01s\n"), event{"fail", "c", "", ""},
		out("r", "TestGood", "WARNING: DATA RACE\n"), out("r", "TestGood", "  r.go:1\n"), event{"pass", "r", "TestGood", ""}, out("r", "", "FAIL\tr\t0.01s\n"), event{"fail", "r", "", ""},
		event{"build-output", "", "", "d.go:1: undefined: x\n"}, out("d", "", "FAIL\td [build failed]\n"), event{"fail", "d", "", ""},
	)
	if ok {
		t.Error("it reports success")
	}
	want := `    a_test.go:2: wrong
--- FAIL: TestBad (0.00s)
FAIL
FAIL	a	0.10s
ok  	b	(cached)
panic: at once
FAIL	c	0.01s
WARNING: DATA RACE
  r.go:1
FAIL	r	0.01s
d.go:1: undefined: x
FAIL	d [build failed]

Servers that the tests ran on:
  embedded                   Redis 8.0.0    7 tests in 2 packages (in the process)
Servers that they did not run on (make test-all runs on all that this machine can start, and make images gets their images):
  redis-8                    make test-all runs on it
Tests that were skipped:
     1  node is not on PATH
To run more of them on Debian or Ubuntu: sudo apt-get install nodejs
Packages that have not changed, with the results of an earlier run (cached): 1
2 passed, 4 failed, 1 skipped
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

func TestReport_missingRequiredEngineFails(t *testing.T) {
	text, ok := printed(t, []string{"redis-7.0"}, out("a", "", "ok  \ta\t0.10s\n"))
	if ok || !strings.Contains(text, "redis-7.0                  REQUIRED, and no test used it\n") {
		t.Errorf("ok %t:\n%s", ok, text)
	}
}
