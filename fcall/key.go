package fcall

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// A Subject identifies what a key belongs to: a user, an address, a fingerprint. Any bytes are safe. A call with an empty one
// is an ErrArgument.
type Subject string

const (
	maxPlain  = 64  // most bytes of a subject that is its own tag
	foldMark  = '~' // not plain, so no plain subject looks like a hash
	foldBytes = 16
)

// Tag returns the hash tag of a subject's keys, the text between the braces: never empty, at most 64 bytes.
//
// A plain subject, 1 to 64 of the characters A-Z a-z 0-9 - _ . @ + / =, is its own tag. Any other becomes `~` and 32
// hexadecimal digits, the first 128 bits of its SHA-256. `~` is not plain, so two subjects share a tag only if their hashes
// collide.
func Tag(s Subject) string {
	if isPlain(string(s)) {
		return string(s)
	}
	return string(appendTag(nil, s))
}

// appendTag appends Tag(s).
func appendTag(to []byte, s Subject) []byte {
	if isPlain(string(s)) {
		return append(to, s...)
	}
	sum := sha256.Sum256([]byte(s))
	return hex.AppendEncode(append(to, foldMark), sum[:foldBytes])
}

// Key returns `<namespace>:{<tag>}:<suffix>`. All keys of a subject share its tag, and so their hash slot on a cluster. The
// namespace must satisfy CheckNamespace; the suffix is an identifier from a function's header.
func Key(namespace string, subject Subject, suffix string) string {
	return namespace + ":{" + Tag(subject) + "}:" + suffix
}

// KeyOf returns `<namespace>:{<tag>}:<suffix>:<name>`, a key that ends in an argument or in a field of a group's row. tag is a result of Tag.
// name is any text, and is hashed unless it is plain; without one, the key ends in the suffix.
func KeyOf(namespace, tag, suffix, name string) string {
	return namespace + ":{" + tag + "}:" + ended(suffix, name)
}

// ended returns a suffix that ends in a name, if there is one.
func ended(suffix, name string) string {
	if name == "" {
		return suffix
	}
	return suffix + ":" + Tag(Subject(name))
}

// Suffix returns a key's suffix that goes on with a duration, in microseconds, or with a text as KeyOf's does; without one, the suffix alone.
func Suffix[Part time.Duration | string](suffix string, part Part) string {
	switch p := any(part).(type) {
	case time.Duration:
		if p != 0 {
			return suffix + ":" + strconv.FormatInt(ArgDuration(p), 10)
		}
	case string:
		return ended(suffix, p)
	}
	return suffix
}

// CheckNamespace returns an error if namespace cannot begin a key. A namespace is 1 to 64 of the characters A-Z a-z 0-9 _ - .
func CheckNamespace(namespace string) error {
	ok := len(namespace) > 0 && len(namespace) <= maxPlain
	for i := 0; ok && i < len(namespace); i++ {
		c := namespace[i]
		ok = isAlnum(c) || c == '_' || c == '-' || c == '.'
	}
	if !ok {
		return fmt.Errorf("namespace must be 1 to %d of the characters A-Z a-z 0-9 _ - . , got %s", maxPlain, quote(namespace))
	}
	return nil
}

func isPlain(s string) bool {
	if len(s) == 0 || len(s) > maxPlain {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !isPlainByte(s[i]) {
			return false
		}
	}
	return true
}

func isPlainByte(c byte) bool {
	switch c {
	case '-', '_', '.', '@', '+', '/', '=':
		return true
	}
	return isAlnum(c)
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// NewToken returns an unguessable, unique token: 26 characters of base 32, with at least 128 bits from the system's random
// source. It is safe for concurrent use.
func NewToken() string { return rand.Text() }
