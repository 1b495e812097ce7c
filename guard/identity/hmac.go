package identity

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/internal/reload"
)

const (
	minSecret = 32   // bytes, the size of the hash (RFC 2104, 3)
	maxKeyID  = 32   // bytes
	maxHash   = 128  // bytes
	maxSigned = 1024 // bytes of a signed fingerprint
)

// Errors of HMAC.Verify.
var (
	ErrSignature = errors.New("the fingerprint is not signed by a known key")
	ErrExpired   = errors.New("the fingerprint has expired")
)

// An HMACKey signs fingerprints.
type HMACKey struct {
	ID     string // 1 to 32 of the characters A-Z a-z 0-9 _ -; public: each signed fingerprint contains it
	Secret []byte // at least 32 random bytes
}

// An HMAC signs and verifies fingerprints of the form fp:<challenge>:<hash>.<expiry>.<key ID>.<signature>. The expiry is in
// Unix seconds; the signature is HMAC-SHA256 of <hash>.<expiry>.<key ID>.<challenge> in unpadded base64url.
//
// The first key signs, and all keys verify. To rotate keys, add the new key after the old one in all processes, then move it
// to the front. Remove the old key when its last fingerprint has expired. An HMAC is safe for concurrent use.
type HMAC struct {
	file *reload.Files // nil unless created by NewHMACFile
	keys atomic.Pointer[[]HMACKey]
	now  func() time.Time
}

// NewHMAC returns an HMAC with 1 to 16 keys.
func NewHMAC(keys ...HMACKey) (*HMAC, error) {
	h := &HMAC{now: time.Now}
	if err := h.set(keys); err != nil {
		return nil, err
	}
	return h, nil
}

// Sign returns a fingerprint that is valid until expires. The challenge has 1 to 128 printable bytes without a colon, the hash
// 1 to 128 of the characters A-Z a-z 0-9 _ -.
func (h *HMAC) Sign(challenge, hash string, expires time.Time) (string, error) {
	if !isWord(hash, maxHash) {
		return "", fmt.Errorf("the hash must be 1 to %d of the characters A-Z a-z 0-9 _ -", maxHash)
	}
	if !isPlain(challenge, maxChallenge) || strings.Contains(challenge, ":") {
		return "", fmt.Errorf("the challenge must be 1 to %d printable bytes without a colon, and not begin with ~", maxChallenge)
	}
	if expires.Unix() < 0 {
		return "", errors.New("the expiry must not be before 1970")
	}
	key := (*h.keys.Load())[0]
	expiry := strconv.FormatInt(expires.Unix(), 10)
	signature := base64.RawURLEncoding.EncodeToString(key.sign(hash, expiry, challenge))
	return "fp:" + challenge + ":" + hash + "." + expiry + "." + key.ID + "." + signature, nil
}

// Verify returns the hash of a signed fingerprint, ErrSignature or ErrExpired.
func (h *HMAC) Verify(_ context.Context, value string) (string, error) {
	if len(value) > maxSigned {
		return "", ErrSignature
	}
	challenge, signed, ok := splitFingerprint(value)
	hash, rest, ok2 := strings.Cut(signed, ".")
	expiry, rest, ok3 := strings.Cut(rest, ".")
	id, text, ok4 := strings.Cut(rest, ".")
	if !ok || !ok2 || !ok3 || !ok4 || !isWord(hash, maxHash) || strings.ContainsAny(text, "\r\n") {
		return "", ErrSignature
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return "", ErrSignature
	}
	key, ok := h.key(id)
	if !ok || !hmac.Equal(signature, key.sign(hash, expiry, challenge)) {
		return "", ErrSignature
	}
	expires, err := strconv.ParseInt(expiry, 10, 64)
	if err != nil || h.now().Unix() >= expires {
		return "", ErrExpired
	}
	return hash, nil
}

func (h *HMAC) key(id string) (HMACKey, bool) {
	for _, key := range *h.keys.Load() {
		if key.ID == id {
			return key, true
		}
	}
	return HMACKey{}, false
}

// sign returns the signature. The signed text is unambiguous: only its last part, the challenge, may have a dot.
func (k HMACKey) sign(hash, expiry, challenge string) []byte {
	mac := hmac.New(sha256.New, k.Secret)
	mac.Write([]byte(hash + "." + expiry + "." + k.ID + "." + challenge))
	return mac.Sum(nil)
}

func isWord(s string, most int) bool {
	for i := range len(s) {
		if c := s[i]; !isAlnum(c) && c != '_' && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= most
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

const maxHMACKeys = 16

// NewHMACFile returns an HMAC with the keys of a file. Each line is `<key ID> <secret in hexadecimal digits>`, the signing
// key first; a line that begins with # is a comment.
//
//	echo "k1 $(openssl rand -hex 32)"
//
// A [Reader] with the HMAC as Verify reloads the file within 2 s after a change.
func NewHMACFile(path string) (*HMAC, error) {
	h := &HMAC{now: time.Now}
	h.file = reload.File(path, maxFile, func(content []byte) error { return h.parse(path, content) })
	if err := h.file.Load(); err != nil {
		return nil, fmt.Errorf("read HMAC keys: %w", err)
	}
	return h, nil
}

func (h *HMAC) files() *reload.Files { return h.file }

func (h *HMAC) parse(path string, content []byte) error {
	var keys []HMACKey
	err := eachLine(path, content, func(fields []string) error {
		if len(fields) != 2 {
			return errors.New("the line must be a key ID and a secret")
		}
		secret, err := hex.DecodeString(fields[1])
		if err != nil {
			return errors.New("the secret must be hexadecimal digits")
		}
		key := HMACKey{ID: fields[0], Secret: secret}
		if err := key.check(keys); err != nil {
			return err
		}
		keys = append(keys, key)
		return nil
	})
	if err != nil {
		return err
	}
	if err := h.set(keys); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (h *HMAC) set(keys []HMACKey) error {
	if len(keys) < 1 || len(keys) > maxHMACKeys {
		return fmt.Errorf("an HMAC must have 1 to %d keys, got %d", maxHMACKeys, len(keys))
	}
	keys = slices.Clone(keys)
	for i := range keys {
		if err := keys[i].check(keys[:i]); err != nil {
			return fmt.Errorf("key %d: %w", i, err)
		}
		keys[i].Secret = bytes.Clone(keys[i].Secret)
	}
	h.keys.Store(&keys)
	return nil
}

func (k HMACKey) check(earlier []HMACKey) error {
	if !isWord(k.ID, maxKeyID) {
		return fmt.Errorf("the key ID must be 1 to %d of the characters A-Z a-z 0-9 _ -", maxKeyID)
	}
	if len(k.Secret) < minSecret {
		return fmt.Errorf("the secret must have at least %d bytes, got %d", minSecret, len(k.Secret))
	}
	for _, other := range earlier {
		if other.ID == k.ID {
			return fmt.Errorf("duplicate key ID %s", k.ID)
		}
		if bytes.Equal(other.Secret, k.Secret) {
			return fmt.Errorf("keys %s and %s have the same secret", other.ID, k.ID)
		}
	}
	return nil
}
