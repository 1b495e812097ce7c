package telemetry

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// subject returns the form of a subject in spans and records, such as "ip=203....#8f3a90c1d2e4": its identity, at most the first
// four bytes and a third of the value, and 48 bits of a keyed hash. Without the key, a reader of logs cannot find an address by
// trying all of them. For a combination it returns the first identity and the hash of the whole. "" stays "".
func (t *Telemetry) subject(s string) string {
	if s == "" {
		return ""
	}
	mac := hmac.New(sha256.New, t.key)
	mac.Write([]byte(s))
	hash := hex.EncodeToString(mac.Sum(nil)[:6])
	s, _, _ = strings.Cut(s, "+")
	identity := ""
	if i := strings.IndexByte(s, '='); i > 0 && isIdentity(s[:i]) {
		identity, s = s[:i+1], s[i+1:]
	}
	return strings.ToValidUTF8(identity+s[:min(4, len(s)/3)], "?") + "...#" + hash
}

// isIdentity reports whether text has the characters of an identity's name.
func isIdentity(text string) bool {
	const most = 32
	return len(text) <= most && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}
