//go:build race

package identity

// raced means that sync.Pool drops what it is given now and then.
const raced = true
