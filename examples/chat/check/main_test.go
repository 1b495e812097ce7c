// Package check drives examples/chat from outside: the program itself, a Redis of its own, a real HTTP client. make example-check runs it.
package check

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/internal/engines"
)

// checked counts what was held against what was expected.
var checked atomic.Int64

// TestMain ends with one line for people and scripts.
func TestMain(m *testing.M) {
	began := time.Now()
	code := engines.Wrap(m).Run()
	verdict := "PASS"
	switch {
	case code != 0:
		verdict = "FAIL"
	case checked.Load() == 0:
		verdict = "SKIPPED"
	}
	fmt.Printf("example-check: %s (%d checks in %.1f s)\n", verdict, checked.Load(), time.Since(began).Seconds())
	os.Exit(code)
}

// equal is one check.
func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	checked.Add(1)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
		return
	}
	t.Logf("%s: %v", what, got)
}

// await polls for what a real clock, or another process, brings about.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	checked.Add(1)
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain for 20 s: %s", what)
		}
	}
	t.Log(what)
}
