package fcall

import "crypto/rand"

// NewToken returns an unguessable, unique token: 26 characters of base 32, with at least 128 bits from the system's random
// source. It is safe for concurrent use.
func NewToken() string { return rand.Text() }
