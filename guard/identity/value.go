package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	foldMark     = '~' // begins a hash, and no readable value
	maxValue     = 256 // bytes of a subject's value
	maxReceipt   = 224 // bound of library guard
	maxChallenge = 128 // bound of library challenge
)

// Value returns what a subject holds for a raw value: user= and Value("42") is user=42.
//
// A readable value of at most 256 bytes is its own, with + and % written %2B and %25, so that a combination of subjects,
// which + joins, has one reading. Any other becomes ~ and the first 128 bits of its SHA-256 in hexadecimal digits: a longer
// one, one that begins with ~, invalid UTF-8, and one with control, format, bidirectional or invisible characters. So two
// values share a subject only if their hashes collide. Letters that look alike stay different values.
func Value(raw string) string {
	if raw == "" {
		return ""
	}
	return string(appendValue(nil, raw))
}

// IsValue reports whether Value returns text for some raw value.
func IsValue(text string) bool {
	if text == "" {
		return false
	}
	if text[0] == foldMark {
		return len(text) == 33 && strings.Trim(text[1:], "0123456789abcdef") == ""
	}
	return Value(unescape.Replace(text)) == text
}

var unescape = strings.NewReplacer("%2B", "+", "%25", "%")

// appendValue appends Value(raw).
func appendValue(to []byte, raw string) []byte {
	if !keepable(raw, maxValue) {
		return appendHash(to, raw)
	}
	start := len(to)
	for i := range len(raw) {
		switch c := raw[i]; c {
		case '+':
			to = append(to, "%2B"...)
		case '%':
			to = append(to, "%25"...)
		default:
			to = append(to, c)
		}
	}
	if len(to)-start > maxValue {
		return appendHash(to[:start], raw)
	}
	return to
}

// fold returns a readable value of at most some bytes as it is, and the hash of any other. Nothing stays nothing.
func fold(raw string, most int) string {
	if raw == "" || keepable(raw, most) {
		return raw
	}
	return string(appendHash(nil, raw))
}

func keepable(raw string, most int) bool {
	return raw != "" && len(raw) <= most && raw[0] != foldMark && readable(raw)
}

func appendHash(to []byte, raw string) []byte {
	sum := sha256.Sum256([]byte(raw))
	return hex.AppendEncode(append(to, foldMark), sum[:16])
}
