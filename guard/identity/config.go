package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// A Config is one named identity. It has exactly one source: Address, Header, Cookie, Query, Path, Fingerprint, JWT,
// Certificate or Func.
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

const (
	maxIdentities = 16
	maxOneOf      = 32
	maxSourceName = 256 // bytes of the name of a header, cookie, parameter, wildcard or claim
)

var validName = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)

// complete checks identities and returns them with defaults and canonical names.
func complete(identities []Config) ([]Config, error) {
	if len(identities) > maxIdentities {
		return nil, fmt.Errorf("identity: must have at most %d identities, got %d", maxIdentities, len(identities))
	}
	done := slices.Clone(identities)
	fingerprint := ""
	for i := range done {
		c := &done[i]
		if !validName.MatchString(c.Name) {
			return nil, fmt.Errorf("identity: name of identity %d must be 1 to 32 of the characters a-z 0-9 _ -, got %q", i, c.Name)
		}
		if slices.ContainsFunc(done[:i], func(other Config) bool { return other.Name == c.Name }) {
			return nil, fmt.Errorf("identity %s: duplicate name", c.Name)
		}
		if err := c.complete(); err != nil {
			return nil, fmt.Errorf("identity %s: %w", c.Name, err)
		}
		if c.Fingerprint != "" {
			if fingerprint != "" {
				return nil, fmt.Errorf("identity %s: must be the only fingerprint: identity %s has one, too", c.Name, fingerprint)
			}
			fingerprint = c.Name
		}
	}
	return done, nil
}

func (c *Config) complete() error {
	source, err := c.source()
	if err != nil {
		return err
	}
	for _, option := range []struct {
		given         bool
		name, sources string
	}{
		{c.Verify != nil, "Verify applies", "Header, Cookie, Query and Fingerprint"},
		{c.IPv4Prefix != 0 || c.IPv6Prefix != 0, "IPv4Prefix and IPv6Prefix apply", "Address"},
		{len(c.OneOf) > 0, "OneOf applies", "JWT"},
		{c.Fold != FoldNone, "Fold applies", "Header, Cookie, Query, Path, JWT and Func"},
	} {
		if option.given && !strings.Contains(option.sources, source) {
			return fmt.Errorf("%s only to %s", option.name, option.sources)
		}
	}
	err = cmp.Or(
		completePrefix(&c.IPv4Prefix, "IPv4Prefix", 32, 32),
		completePrefix(&c.IPv6Prefix, "IPv6Prefix", 64, 128),
		completeHeader(&c.Header, "Header"),
		completeHeader(&c.Fingerprint, "Fingerprint"),
		checkCookie(c.Cookie, "Cookie"),
		checkPrintable(c.Query, "Query"),
		checkPrintable(c.Path, "Path"),
	)
	if err != nil {
		return err
	}
	if c.Verify == nil && IsCredentials(c.Header) {
		return fmt.Errorf("header %s holds a secret: use JWT, or set Verify", c.Header)
	}
	switch c.Certificate {
	case "", CertificateSHA256, CertificateCommonName, CertificateDNS, CertificateURI:
	default:
		return fmt.Errorf("invalid Certificate %q: use sha256, common_name, dns or uri", c.Certificate)
	}
	switch c.Fold {
	case FoldNone, FoldNFC, FoldEmail, FoldCase:
	default:
		return fmt.Errorf("invalid Fold %q: use nfc, email or case", c.Fold)
	}
	if len(c.OneOf) > maxOneOf || slices.Contains(c.OneOf, "") {
		return fmt.Errorf("OneOf must have at most %d values, and none that is empty, got %.80q", maxOneOf, c.OneOf)
	}
	if len(c.OneOf) > 0 && c.Fold != FoldNone {
		return errors.New("OneOf and Fold cannot be combined: its values are exact")
	}
	if c.JWT != nil {
		token := *c.JWT
		c.JWT, c.OneOf = &token, slices.Clone(c.OneOf)
		return token.complete()
	}
	return nil
}

// source returns the name of the source.
func (c *Config) source() (string, error) {
	var sources []string
	for _, source := range []struct {
		name string
		set  bool
	}{
		{"Address", c.Address},
		{"Header", c.Header != ""},
		{"Cookie", c.Cookie != ""},
		{"Query", c.Query != ""},
		{"Path", c.Path != ""},
		{"Fingerprint", c.Fingerprint != ""},
		{"JWT", c.JWT != nil},
		{"Certificate", c.Certificate != ""},
		{"Func", c.Func != nil},
	} {
		if source.set {
			sources = append(sources, source.name)
		}
	}
	switch len(sources) {
	case 0:
		return "", errors.New("has no source: set Address, Header, Cookie, Query, Path, Fingerprint, JWT, Certificate or Func")
	case 1:
		return sources[0], nil
	}
	return "", fmt.Errorf("must have one source, got %s", strings.Join(sources, " and "))
}

// completeHeader checks the name of a header and makes it canonical.
func completeHeader(name *string, field string) error {
	if *name == "" {
		return nil
	}
	if len(*name) > maxSourceName || !isToken(*name) {
		return fmt.Errorf("%s must be a header name, got %.40q", field, *name)
	}
	*name = http.CanonicalHeaderKey(*name)
	if err := CheckHeader(*name); err != nil {
		return fmt.Errorf("%s %w", field, err)
	}
	return nil
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

func checkCookie(name, field string) error {
	if name != "" && (len(name) > maxSourceName || !isToken(name)) {
		return fmt.Errorf("%s must be a cookie name, got %.40q", field, name)
	}
	return nil
}

func checkPrintable(name, field string) error {
	if len(name) > maxSourceName || !printable(name) {
		return fmt.Errorf("%s must have at most %d printable bytes, got %.40q", field, maxSourceName, name)
	}
	return nil
}

func completePrefix(bits *int, field string, byDefault, most int) error {
	*bits = cmp.Or(*bits, byDefault)
	if *bits < 1 || *bits > most {
		return fmt.Errorf("%s must be 1 to %d, got %d", field, most, *bits)
	}
	return nil
}
