package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	hashMark     = '~' // begins a hash, and never a printable value
	maxValue     = 256 // bytes of a subject's value
	maxReceipt   = 224 // bound of library guard
	maxChallenge = 128 // bound of library challenge
)

// Value returns the text of a raw value in a subject: user=42 is "user=" + Value("42").
//
// A printable value of at most 256 bytes stays the same, except that + and % become %2B and %25: + joins the subjects of a
// combination. Any other value becomes ~ and the first 128 bits of its SHA-256 in hexadecimal digits. That applies to longer
// values, those that begin with ~, invalid UTF-8, and control, format, bidirectional or invisible characters. So two values
// share a subject only if their hashes collide. Letters that look alike stay different.
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
	if text[0] == hashMark {
		return len(text) == 33 && strings.Trim(text[1:], "0123456789abcdef") == ""
	}
	return Value(unescape.Replace(text)) == text
}

var unescape = strings.NewReplacer("%2B", "+", "%25", "%")

// appendValue appends Value(raw).
func appendValue(to []byte, raw string) []byte {
	if !isPlain(raw, maxValue) {
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

// shorten returns a printable value of at most some bytes unchanged, and the hash of any other. "" stays "".
func shorten(raw string, most int) string {
	if raw == "" || isPlain(raw, most) {
		return raw
	}
	return string(appendHash(nil, raw))
}

func isPlain(raw string, most int) bool {
	return raw != "" && len(raw) <= most && raw[0] != hashMark && printable(raw)
}

func appendHash(to []byte, raw string) []byte {
	sum := sha256.Sum256([]byte(raw))
	return hex.AppendEncode(append(to, hashMark), sum[:16])
}
