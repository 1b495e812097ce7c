package fcall

import "crypto/rand"

// NewToken returns a token that nobody can guess and that never comes twice: 26 characters of base 32, at least 128 bits
// from the system's random source. It is safe for concurrent use.
func NewToken() string { return rand.Text() }
