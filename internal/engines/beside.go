package engines

import "testing"

// A Process is a program, not an engine, that a test runs.
type Process struct {
	Ended  <-chan struct{} // closed when it has ended
	Output func() string   // the last that it has written
	Kill   func()          // at once, as a crash would
}

// Beside starts a program, not an engine, for as long as a test runs. It ends with the test's process, too.
func Beside(t testing.TB, program string, args ...string) Process {
	t.Helper()
	c, err := startChild(program, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	return Process{Ended: c.died, Output: c.output.String, Kill: c.kill}
}
