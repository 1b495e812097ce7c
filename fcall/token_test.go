package fcall

import (
	"regexp"
	"testing"
)

// base32Text matches at least 128 bits at 5 bits per character.
var base32Text = regexp.MustCompile(`^[A-Z2-7]{26,128}$`)

func TestNewToken_has128BitsAndNeverRepeats(t *testing.T) {
	const tokens = 10_000
	seen := map[string]bool{}
	for range tokens {
		token := NewToken()
		if !base32Text.MatchString(token) {
			t.Fatalf("token %q is shorter than 128 bits, or no base 32", token)
		}
		seen[token] = true
	}
	if len(seen) != tokens {
		t.Errorf("%d tokens, %d of them different", tokens, len(seen))
	}
}

// A constant character has no entropy.
func TestNewToken_everyCharacterVaries(t *testing.T) {
	first, varies := NewToken(), map[int]bool{}
	for range 200 {
		for i, c := range NewToken() {
			if byte(c) != first[i] {
				varies[i] = true
			}
		}
	}
	if len(varies) != len(first) {
		t.Errorf("%d of %d characters vary", len(varies), len(first))
	}
}
