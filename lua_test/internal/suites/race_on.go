//go:build race

package suites

// Slow reports whether the race detector runs, which makes everything some ten times slower.
const Slow = true
