//go:build race

package identity

// raced is true under the race detector, where sync.Pool drops some objects.
const raced = true
