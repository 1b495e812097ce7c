//go:build race

package httpguard_test

const (
	// subjects is smaller under the race detector, where each takes milliseconds.
	subjects = 5000
	// mostAllocations includes the allocations of the race detector.
	mostAllocations = 30
)
