// Package onpath finds the programs that tests run.
package onpath

import (
	"os"
	"os/exec"
	"testing"
)

// Program returns the path of a program. Without it the test is skipped, and fails in CI.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Lacking(t, "%s is not on PATH", name)
	}
	return path
}

// Lacking skips a test because this machine lacks something. In CI, which installs everything, the test fails.
func Lacking(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf("SKIPPED: "+format, args...)
}
