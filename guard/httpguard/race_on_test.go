//go:build race

package httpguard_test

// subjects are fewer under the race detector, where each takes milliseconds.
const subjects = 5000
