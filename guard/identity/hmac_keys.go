package identity

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/internal/reload"
)

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
