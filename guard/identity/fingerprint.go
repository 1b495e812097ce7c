package identity

import "strings"

// splitFingerprint returns the parts of fp:<challenge>:<stable hash>. It reports false unless both are set and have no colon.
func splitFingerprint(value string) (challenge, stable string, ok bool) {
	rest, ok := strings.CutPrefix(value, "fp:")
	if !ok {
		return "", "", false
	}
	challenge, stable, _ = strings.Cut(rest, ":")
	return challenge, stable, challenge != "" && stable != "" && !strings.Contains(stable, ":")
}

// stableHash returns the stable hash of a fingerprint. It returns a value of another form as a whole, such as an IPv6 address,
// which has colons, too.
func stableHash(value string) string {
	if _, stable, ok := splitFingerprint(value); ok {
		return stable
	}
	return value
}
