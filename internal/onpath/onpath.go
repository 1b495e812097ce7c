// Package onpath says what a test finds on its machine: programs, time, and the race detector.
package onpath

import (
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"testing"
)

// Program returns the path of a program. Without it the test is skipped, and fails in CI.
func Program(t testing.TB, name string) string {
	t.Helper()
	Looked()
	path, err := exec.LookPath(name)
	if err != nil {
		Lacking(t, "%s is not on PATH", name)
	}
	Used()
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

// Full skips a test that takes long for what it finds, unless the run is a full one. make quick and make test are -short.
func Full(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: takes long; make test-all runs it")
	}
}

// Raced reports whether the race detector runs: everything is some ten times slower, and sync.Pool drops objects.
func Raced() bool {
	build, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(build.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" })
}

// Looked keeps go test from using a cached result on a machine that has other programs and servers than it had then. Go repeats a test if a
// variable that it reads has changed, and .ci/test sets this one to what the machine has.
func Looked() { os.Getenv("RLFUNC_TEST_MACHINE") }

// Used keeps go test from using a cached result of a test that ran a program or a server, of whose files Go knows nothing.
func Used() { os.Getenv("RLFUNC_TEST_RUN") }
