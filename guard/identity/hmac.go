package identity

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	minKey    = 32   // bytes, the size of the hash (RFC 2104, 3)
	maxKeys   = 16   // each is tried
	maxSigned = 1024 // bytes of a signed fingerprint
)

// Why a fingerprint is refused; a caller learns no more.
var (
	ErrSignature = errors.New("the fingerprint is not signed by a known key")
	ErrExpired   = errors.New("the fingerprint has expired")
)

// An HMAC signs fingerprints and verifies them: `fp:<challenge>:<hash>.<expiry>.<signature>`, where expiry is in Unix
// seconds and signature is HMAC-SHA256 of `<hash>.<expiry>.<challenge>` in unpadded base64url. It is safe for concurrent
// use.
type HMAC struct {
	keys [][]byte
	now  func() time.Time
}

// NewHMAC takes 1 to 16 keys of at least 32 bytes. The first one signs and each one verifies: a new key is added behind
// the old one everywhere, then brought to the front, and the old one goes when its last fingerprint has expired.
func NewHMAC(keys ...[]byte) (*HMAC, error) {
	if len(keys) < 1 || len(keys) > maxKeys {
		return nil, fmt.Errorf("an HMAC takes 1 to %d keys, got %d", maxKeys, len(keys))
	}
	h := &HMAC{now: time.Now}
	for i, key := range keys {
		if len(key) < minKey {
			return nil, fmt.Errorf("key %d must have at least %d bytes, got %d", i, minKey, len(key))
		}
		h.keys = append(h.keys, []byte(string(key)))
	}
	return h, nil
}

// Sign makes a fingerprint that holds until expires. The challenge is 1 to 128 bytes without a colon, the hash 1 to 128 of
// A-Z a-z 0-9 _ -.
func (h *HMAC) Sign(challenge, hash string, expires time.Time) (string, error) {
	if !isHash(hash) {
		return "", errors.New("the hash must be 1 to 128 of the characters A-Z a-z 0-9 _ -")
	}
	if challenge == "" || len(challenge) > maxChallenge || strings.Contains(challenge, ":") || !printable(challenge) {
		return "", errors.New("the challenge must be 1 to 128 printable bytes without a colon")
	}
	if expires.Unix() < 0 {
		return "", errors.New("the expiry must not be before 1970")
	}
	expiry := strconv.FormatInt(expires.Unix(), 10)
	signature := base64.RawURLEncoding.EncodeToString(sign(h.keys[0], hash, expiry, challenge))
	return "fp:" + challenge + ":" + hash + "." + expiry + "." + signature, nil
}

// Verify returns the hash of a fingerprint that is signed and has not expired; else ErrSignature or ErrExpired.
func (h *HMAC) Verify(_ context.Context, value string) (string, error) {
	if len(value) > maxSigned {
		return "", ErrSignature
	}
	challenge, signed, ok := split(value)
	hash, rest, ok2 := strings.Cut(signed, ".")
	expiry, text, ok3 := strings.Cut(rest, ".")
	signature, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if !ok || !ok2 || !ok3 || err != nil || !isHash(hash) || strings.ContainsAny(text, "\r\n") {
		return "", ErrSignature
	}
	known := false
	for _, key := range h.keys { // each one, so that time does not tell which
		if hmac.Equal(signature, sign(key, hash, expiry, challenge)) {
			known = true
		}
	}
	if !known {
		return "", ErrSignature
	}
	until, err := strconv.ParseInt(expiry, 10, 64)
	if err != nil || h.now().Unix() >= until {
		return "", ErrExpired
	}
	return hash, nil
}

// sign has no two ways to read what it signs: neither hash nor expiry has a dot.
func sign(key []byte, hash, expiry, challenge string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(hash + "." + expiry + "." + challenge))
	return mac.Sum(nil)
}

func isHash(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for _, c := range []byte(s) {
		if !('0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}
