package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrUnknown is the error of a value whose digest is not in the file.
var ErrUnknown = errors.New("the value is not known")

// Digests verifies API keys by a file of their SHA-256 digests. Each line is `<sha256 in 64 hexadecimal digits> [name]`; a
// line that begins with # is a comment. The subject holds the name, or the first 32 digits if there is none. Several keys
// may share a name, so that a client can change its key without a gap.
//
//	printf %s "$KEY" | sha256sum
//
// Keys must be random, of 128 bits at least: a digest does not protect a value that can be guessed.
//
// A [Reader] that has Digests as its Verify reads the file again within 2 s after a change. Replace the file by renaming
// another over it, so that no reader sees half of it. Digests is safe for concurrent use.
type Digests struct {
	file
	names atomic.Pointer[map[[sha256.Size]byte]string]
}

// NewDigests reads a file of at most 16 MiB.
func NewDigests(path string) (*Digests, error) {
	d := &Digests{}
	d.file = file{path: path, most: maxFile, apply: d.parse}
	if err := d.load(); err != nil {
		return nil, fmt.Errorf("read digests: %w", err)
	}
	return d, nil
}

// Verify returns the name of a value whose digest is in the file; else ErrUnknown.
func (d *Digests) Verify(_ context.Context, value string) (string, error) {
	digest := sha256.Sum256([]byte(value))
	name, ok := (*d.names.Load())[digest]
	if !ok {
		return "", ErrUnknown
	}
	if name == "" {
		name = hex.EncodeToString(digest[:16])
	}
	return name, nil
}

// claimed is the digest: the key itself is a secret, and an unknown one may be the real one of another service.
func (d *Digests) claimed(value string) string {
	digest := sha256.Sum256([]byte(value))
	return hex.EncodeToString(digest[:16])
}

func (d *Digests) parse(content []byte) error {
	const maxDigestName = 128
	names := map[[sha256.Size]byte]string{}
	err := eachLine(d.path, content, func(fields []string) error {
		digest, err := hex.DecodeString(fields[0])
		if err != nil || len(digest) != sha256.Size {
			return errors.New("the digest must be 64 hexadecimal digits")
		}
		if len(fields) > 2 {
			return errors.New("the name must not have spaces")
		}
		key, name := [sha256.Size]byte(digest), ""
		if len(fields) == 2 {
			name = fields[1]
		}
		if !readable(name) || len(name) > maxDigestName {
			return fmt.Errorf("the name must have at most %d printable bytes", maxDigestName)
		}
		if _, ok := names[key]; ok {
			return errors.New("duplicate digest")
		}
		names[key] = name
		return nil
	})
	if err != nil {
		return err
	}
	if len(names) == 0 { // a file that is being written, more likely than one that refuses all
		return fmt.Errorf("%s: no digests", d.path)
	}
	d.names.Store(&names)
	return nil
}
