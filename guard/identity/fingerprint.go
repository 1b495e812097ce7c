package identity

import "strings"

// split returns the parts of fp:<challenge>:<stable hash>; false unless the value has both, and no colon in either.
func split(value string) (challenge, stable string, ok bool) {
	rest, ok := strings.CutPrefix(value, "fp:")
	if !ok {
		return "", "", false
	}
	challenge, stable, _ = strings.Cut(rest, ":")
	return challenge, stable, challenge != "" && stable != "" && !strings.Contains(stable, ":")
}

// stable returns the stable hash of a fingerprint. A value of another form is one as a whole, an IPv6 address for example,
// and never cut at a colon.
func stable(value string) string {
	if _, stable, ok := split(value); ok {
		return stable
	}
	return value
}
