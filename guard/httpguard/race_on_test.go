//go:build race

package httpguard_test

const (
	// subjects are fewer under the race detector, where each takes milliseconds.
	subjects = 5000
	// mostAllocations are more, as it takes some itself.
	mostAllocations = 30
)
