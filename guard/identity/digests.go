package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/rlfunc/rlfunc/internal/reload"
)

// ErrUnknown means that the digest of a value is not in the file.
var ErrUnknown = errors.New("unknown value")

// ErrNoDigests means that a file of digests is empty. A Reader that reloads it knows no value from then on.
var ErrNoDigests = errors.New("the file has no digests")

// Digests verifies API keys by a file of their SHA-256 digests. Each line is `<sha256 in 64 hexadecimal digits> [name]`; a
// line that begins with # is a comment. The subject holds the name, or the first 32 digits if there is none. Several keys
// can share a name, so that a client can change its key without downtime.
//
//	echo "$(printf %s "$KEY" | sha256sum | cut -d ' ' -f 1) ada" >> keys.txt
//
// The name "-", which sha256sum prints behind the digest of its input, is an error: it would make one client of all such keys.
//
// Keys must have at least 128 random bits: a digest does not protect a value that can be guessed.
//
// A [Reader] with Digests as Verify reloads the file within 2 s after a change. An empty file revokes all keys; one that is
// missing or malformed revokes none. To replace the file atomically, rename another file over it. Digests is safe for concurrent use.
type Digests struct {
	file  *reload.Files
	names atomic.Pointer[map[[sha256.Size]byte]string]
}

// NewDigests reads a file of digests, at most 16 MiB.
func NewDigests(path string) (*Digests, error) {
	d := &Digests{}
	d.file = reload.File(path, maxFile, func(content []byte) error { return d.parse(path, content) })
	if err := d.file.Load(); err != nil {
		return nil, fmt.Errorf("read digests: %w", err)
	}
	return d, nil
}

// Verify returns the name of a value whose digest is in the file, or ErrUnknown.
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

func (d *Digests) files() *reload.Files { return d.file }

func (d *Digests) parse(path string, content []byte) error {
	const maxDigestName = 128
	names := map[[sha256.Size]byte]string{}
	err := eachLine(path, content, func(fields []string) error {
		digest, err := hex.DecodeString(fields[0])
		if err != nil || len(digest) != sha256.Size {
			return errors.New("the digest must be 64 hexadecimal digits")
		}
		if len(fields) > 2 {
			return errors.New("the name must not contain spaces")
		}
		key, name := [sha256.Size]byte(digest), ""
		if len(fields) == 2 {
			name = fields[1]
		}
		if name == "-" || name == "*-" || name == "*stdin" { // all keys that are appended so would be one client
			const format = `%s is no name, but what a hash command prints for its input: ` +
				`write echo "$(printf %%s "$KEY" | sha256sum | cut -d ' ' -f 1) NAME" >> %s`
			return fmt.Errorf(format, name, path)
		}
		if !printable(name) || len(name) > maxDigestName {
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
	d.names.Store(&names)
	if len(names) == 0 {
		return fmt.Errorf("%s: %w", path, ErrNoDigests)
	}
	return nil
}

const (
	maxFile = 16 << 20 // bytes of a file of digests or secrets
	maxLine = 512      // bytes of one of its lines
)

// eachLine calls f with the fields of each line, except empty lines and comments, which begin with #. It returns the first
// error with its line number, and without the line's text, which may be a secret.
func eachLine(path string, content []byte, f func(fields []string) error) error {
	number := 0
	for line := range strings.Lines(string(content)) {
		number++
		err := error(nil)
		if len(line) > maxLine {
			err = fmt.Errorf("longer than %d bytes", maxLine)
		} else if fields := strings.Fields(line); len(fields) > 0 && fields[0][0] != '#' {
			err = f(fields)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
	}
	return nil
}
