package identity

import (
	"context"
	"net/http"
)

// A Config is one named identity. It has exactly one source: Address, Header, Cookie, Query, Path, Fingerprint, JWT,
// Certificate or Func.
type Config struct {
	// Name begins the identity's subjects: user of user=42. It has 1 to 32 of the characters a-z 0-9 _ -.
	Name string

	// Address makes the client's address the identity: of the peer, or of the client behind trusted proxies. A request over
	// a Unix socket has none.
	Address bool
	// IPv4Prefix is how many bits of an IPv4 address are one client, 1 to 32. Defaults to 32.
	IPv4Prefix int
	// IPv6Prefix is how many bits of an IPv6 address are one client, 1 to 128. Defaults to 64.
	IPv6Prefix int

	// Header is the name of a header that holds the identity. A comma list in one line is one value.
	Header string
	// Cookie is the name of a cookie that holds the identity.
	Cookie string
	// Query is the name of a parameter of the URL that holds the identity.
	Query string
	// Path is the name of a wildcard in the endpoint's pattern.
	Path string
	// Fingerprint is the name of a header that holds fp:<challenge>:<stable hash>. The identity is the stable hash, or the
	// whole value if it has another form.
	Fingerprint string
	// JWT reads a claim of a signed token.
	JWT *JWT
	// Certificate reads a part of the client certificate that the server verified.
	Certificate CertificatePart
	// Func is the service's own code.
	Func Func

	// Verify verifies the values of Header, Cookie, Query or Fingerprint. Defaults to none: the identity is claimed.
	Verify Verifier
}

// A Func returns the value of an identity. ErrNone and an empty value mean that the request lacks the identity; any other
// error fails the request. It must be safe for concurrent use.
type Func func(*http.Request) (value string, err error)

// A Verifier verifies values. Verify returns what the subject holds, or an error if the value is not genuine. The
// request then lacks the identity, whatever the error is. Verify must be safe for concurrent use.
//
// [Digests] and [HMAC] are verifiers.
type Verifier interface {
	Verify(ctx context.Context, value string) (subject string, err error)
}

// Verified reports whether a client cannot choose the value of the identity.
func (c *Config) Verified() bool {
	return c.Address || c.JWT != nil || c.Certificate != "" || c.Func != nil || c.Verify != nil
}
