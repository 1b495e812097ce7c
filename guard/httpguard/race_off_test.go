//go:build !race

package httpguard_test

const (
	subjects        = 30_000
	mostAllocations = 24
)
