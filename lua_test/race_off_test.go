//go:build !race

package luatest_test

// slow says that the race detector makes everything some ten times slower.
const slow = false
