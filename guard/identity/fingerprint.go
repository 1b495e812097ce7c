package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// A Verifier says whose a fingerprint is. Verify gets what the header holds and returns the stable hash, or an error for
// one that is not to be believed. It must be safe for concurrent use.
type Verifier interface {
	Verify(ctx context.Context, value string) (stable string, err error)
}

// fingerprint reads `fp:<challenge>:<stable hash>`; anything else is a bucket as it stands, an IPv6 address for example,
// and never cut at a colon.
func (id *Identifier) fingerprint(r *http.Request) (Identity, error) {
	value := only(r, id.config.FingerprintHeader)
	if value == "" {
		return Identity{}, ErrNone
	}
	challenge, stable, ok := split(value)
	if !ok {
		stable = value
	}
	if id.config.Verifier != nil {
		verified, err := id.config.Verifier.Verify(r.Context(), value)
		if err != nil || verified == "" {
			return Identity{}, ErrNone
		}
		stable = verified
	}
	found := Identity{Subject: "fp=" + fold(stable, maxValue)}
	if ok {
		found.Receipt, found.Challenge = fold(value, maxReceipt), fold(challenge, maxChallenge)
	}
	return found, nil
}

// split takes a fingerprint apart that has both parts, and no colon in either.
func split(value string) (challenge, stable string, ok bool) {
	rest, ok := strings.CutPrefix(value, "fp:")
	if !ok {
		return "", "", false
	}
	challenge, stable, _ = strings.Cut(rest, ":")
	return challenge, stable, challenge != "" && stable != "" && !strings.Contains(stable, ":")
}

// apiKey hashes the key: a subject can be read in Redis, and a key is a secret.
func (id *Identifier) apiKey(r *http.Request) (Identity, error) {
	key := only(r, id.config.APIKeyHeader)
	if key == "" {
		return Identity{}, ErrNone
	}
	if id.config.PlainKeys {
		return Identity{Subject: "key=" + fold(key, maxValue)}, nil
	}
	const mark = "key="
	var text [len(mark) + 32]byte
	copy(text[:], mark)
	sum := sha256.Sum256([]byte(key))
	hex.Encode(text[len(mark):], sum[:16])
	return Identity{Subject: string(text[:])}, nil
}
