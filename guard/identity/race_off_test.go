//go:build !race

package identity

const raced = false
