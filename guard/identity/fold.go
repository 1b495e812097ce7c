package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"
)

const (
	foldMark     = '~' // starts a folded value, and no other
	maxValue     = 256 // bytes of a subject's value that stays as it is
	maxReceipt   = 224 // library guard's bound
	maxChallenge = 128 // library challenge's bound
)

// fold returns a value as it stands, nothing for nothing, or `~` and the first 128 bits of its SHA-256 where it is longer than most, looks like
// a folded one, or is no printable UTF-8.
func fold(value string, most int) string {
	if value == "" || len(value) <= most && value[0] != foldMark && printable(value) {
		return value
	}
	var text [1 + 32]byte
	text[0] = foldMark
	sum := sha256.Sum256([]byte(value))
	hex.Encode(text[1:], sum[:16])
	return string(text[:])
}

func printable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == 0x7f {
			return false
		}
	}
	return utf8.ValidString(s)
}
