//go:build !race

package httpguard_test

const (
	subjects        = 100_000
	mostAllocations = 24
)
