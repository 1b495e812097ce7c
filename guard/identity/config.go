package identity

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
)

// A Config is one named identity. It has exactly one source: Address, Header, Cookie, Query, Path, Fingerprint, JWT,
// Certificate or Func. Package policy makes it of a policy, and checks it.
type Config struct {
	// Name begins the identity's subjects, such as user in user=42. It has 1 to 32 of the characters a-z 0-9 _ -. Required.
	Name string

	// Address makes the client's address the identity: that of the peer, or of the client behind trusted proxies. A request over
	// a Unix socket has none, but behind a proxy that TrustUnix trusts. Defaults to false.
	Address bool
	// IPv4Prefix is the number of bits of an IPv4 address that make a subject, 1 to 32. Defaults to 32.
	IPv4Prefix int
	// IPv6Prefix is the number of bits of an IPv6 address that make a subject, 1 to 128. Defaults to 64.
	IPv6Prefix int

	// Header is the name of a header that holds the identity. A comma-separated list in one line is one value. That of Authorization is
	// what follows the scheme. Defaults to none.
	Header string
	// Cookie is the name of a cookie that holds the identity, without its quotes and escapes. Defaults to none.
	Cookie string
	// Query is the name of a query parameter that holds the identity. Defaults to none.
	Query string
	// Path is the name of a wildcard in the endpoint's pattern. Defaults to none.
	Path string
	// Fingerprint is the name of a header that holds fp:<challenge>:<stable hash>. The identity is the stable hash, or the
	// whole value if it has another form. Defaults to none.
	Fingerprint string
	// JWT reads a claim of a signed token. Defaults to none.
	JWT *JWT
	// Certificate reads a part of the client certificate that the server verified. Defaults to none.
	Certificate CertificatePart
	// Func reads the identity with the service's own code. Defaults to none.
	Func Func

	// OneOf are the values of a JWT's claim that count, the first one best, at most 32. The claim may be a list, and then the identity is the
	// first of them that the list has. Defaults to none: any value counts, and a claim that is a list counts as missing.
	OneOf []string
	// Fold says which values of Header, Cookie, Query, Path, JWT or Func are one subject. Defaults to FoldNone.
	Fold Fold
	// Verify verifies the values of Header, Cookie, Query or Fingerprint. Defaults to none: the identity is claimed.
	Verify Verifier
}

// A Func returns the value of an identity. ErrNone or an empty value means that the request lacks the identity; any other
// error fails the request. A Func must be safe for concurrent use.
type Func func(*http.Request) (value string, err error)

// A Verifier verifies values. Verify returns the value for the subject, or an error if value is not genuine. After any error,
// the request lacks the identity. Verify must be safe for concurrent use. [Digests] and [HMAC] are verifiers.
type Verifier interface {
	Verify(ctx context.Context, value string) (subject string, err error)
}

const maxIdentities = 16

// complete returns the config with defaults and canonical names.
func (c Config) complete() Config {
	c.IPv4Prefix, c.IPv6Prefix = cmp.Or(c.IPv4Prefix, 32), cmp.Or(c.IPv6Prefix, 64)
	c.Header, c.Fingerprint = http.CanonicalHeaderKey(c.Header), http.CanonicalHeaderKey(c.Fingerprint)
	c.OneOf = slices.Clone(c.OneOf)
	if c.JWT != nil {
		c.JWT = new(c.JWT.complete())
	}
	return c
}

// CheckHeader returns why a header is no source of identities.
func CheckHeader(name string) error {
	switch http.CanonicalHeaderKey(name) {
	case "Host":
		return errors.New("must not be Host: match the host in an endpoint's pattern")
	case "Cookie":
		return errors.New("must not be Cookie: name the cookie as a source of its own")
	}
	return nil
}
