package engines

import "testing"

// Beside starts a program, not an engine, for as long as a test runs. It ends with the test's process, too. The channel is closed
// when it has ended, and output is the last that it has written.
func Beside(t testing.TB, program string, args ...string) (ended <-chan struct{}, output func() string) {
	t.Helper()
	c, err := startChild(program, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	return c.died, c.output.String
}
