package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// An Identity is one answer to "who is this?", as a policy defines it, and has exactly one source. Package policy checks it.
type Identity struct {
	// IPv4Prefix is the number of bits of an IPv4 address that make a subject, 1 to 32. It makes this an address identity. Defaults to 32.
	IPv4Prefix int `yaml:"ipv4_prefix" policy:"1..32"`
	// IPv6Prefix is the number of bits of an IPv6 address that make a subject, 1 to 128; above 64, one client may have many. It makes this
	// an address identity. Defaults to 64.
	IPv6Prefix int `yaml:"ipv6_prefix" policy:"1..128"`
	// TrustedProxies are the addresses or prefixes of the proxies whose forwarded header guard trusts, at most 1024; unix stands for each
	// peer on a Unix socket. Only in ip; it applies to all address identities. Defaults to none: the peer is the client.
	TrustedProxies []string `yaml:"trusted_proxies" policy:"items=0..1024,is=proxy"`
	// ForwardedHeader is the header to which trusted proxies add the address of their peer, in the form of X-Forwarded-For. Only in ip. Defaults to X-Forwarded-For.
	ForwardedHeader string `yaml:"forwarded_header" policy:"is=header"`
	// Header is the name of a header, or of a gRPC metadata key. Defaults to none.
	Header string `yaml:"header" policy:"is=header"`
	// Cookie is the name of a cookie, whose value is unquoted and decoded. Defaults to none.
	Cookie string `yaml:"cookie" policy:"is=header"`
	// Query is the name of a query parameter: 1 to 64 of A-Z a-z 0-9 _ - . : /. Defaults to none.
	Query string `yaml:"query" policy:"is=parameter"`
	// Path is the name of a wildcard in the endpoint's pattern, such as tenant in /t/{tenant}/search. It is always claimed. Defaults to
	// none.
	Path string `yaml:"path" policy:"is=parameter"`
	// Fingerprint is the name of a header that holds `fp:<challenge>:<stable hash>`; the subject is the stable hash. At most one identity of
	// a policy has it. Defaults to none.
	Fingerprint string `yaml:"fingerprint" policy:"is=header"`
	// JWT is a claim of a signed token. Defaults to none.
	JWT *JWT `yaml:"jwt"`
	// Certificate is a part of a client certificate that the server has verified. Defaults to none.
	Certificate CertificatePart `yaml:"certificate"`
	// Func reads the identity with a func of the service that has its name. Defaults to false.
	Func bool `yaml:"func"`
	// First lists at most 16 other identities; this identity is the first that the request has. One of the address must be the last.
	// Defaults to none.
	First []string `yaml:"first" policy:"items=0..16,is=identity"`
	// OneOf are the at most 32 values of a jwt's claim that count, the first one best. The claim may be a list, such as the roles of a user,
	// and then the identity is the first of them in this order that the list has. It can name a plan, but no limit counts by it. Defaults to
	// none: any value counts, and a claim that is a list counts as missing.
	OneOf []string `yaml:"one_of" policy:"items=0..32,is=name"`
	// Fold says which spellings of a header, cookie, query, path, jwt or func are one subject: nfc, email or case. Defaults to none: each is
	// its own.
	Fold Fold `yaml:"fold"`
	// Verify is the proof of a header, cookie, query or fingerprint. Required for these unless claimed is true.
	Verify *Verify `yaml:"verify"`
	// Claimed marks a value of a header, cookie, query, fingerprint or func that clients choose. A limit by a claimed identity can be an
	// additional limit, never the only one. Defaults to false.
	Claimed bool `yaml:"claimed"`
}

// Verify is the proof of a value. Exactly one key is set.
type Verify struct {
	// SHA256File is a file of lines `<SHA-256 in hexadecimal> [name]` that lists the digests of known values. The subject is the name. In
	// the header Authorization, the value is the key without its scheme. Defaults to none.
	SHA256File string `yaml:"sha256_file" policy:"is=path"`
	// HMACFile is a file of lines `<key ID> <secret in hexadecimal>` with the keys that sign fingerprints. Defaults to none.
	HMACFile string `yaml:"hmac_file" policy:"is=path"`
	// Func verifies the value with a Verifier of the service that has the identity's name. Defaults to false.
	Func bool `yaml:"func"`
}

// IP is the identity that every policy has: the client's address.
const IP = "ip"

// IsAddress reports whether an identity of some name is the client's address or a prefix of it.
func (id *Identity) IsAddress(name string) bool {
	return name == IP || id.Source() == "" && (id.IPv4Prefix != 0 || id.IPv6Prefix != 0)
}

// Source returns the key of an identity's source, or "" for an address identity.
func (id *Identity) Source() string {
	if names := id.Sources(); len(names) > 0 {
		return names[0]
	}
	return ""
}

// Sources returns the keys of all sources that an identity has; it must have one.
func (id *Identity) Sources() []string {
	var names []string
	for _, s := range []struct {
		name  string
		given bool
	}{
		{"header", id.Header != ""},
		{"cookie", id.Cookie != ""},
		{"query", id.Query != ""},
		{"path", id.Path != ""},
		{"fingerprint", id.Fingerprint != ""},
		{"jwt", id.JWT != nil},
		{"certificate", id.Certificate != ""},
		{"func", id.Func},
		{"first", len(id.First) > 0},
	} {
		if s.given {
			names = append(names, s.name)
		}
	}
	return names
}

// A Func returns the value of an identity. ErrNone or an empty value means that the request lacks the identity; any other
// error fails the request. A Func must be safe for concurrent use.
type Func func(*http.Request) (value string, err error)

// A Verifier verifies values. Verify returns the value for the subject, or an error if value is not genuine. After any error,
// the request lacks the identity. Verify must be safe for concurrent use. [Digests] and [HMAC] are verifiers.
type Verifier interface {
	Verify(ctx context.Context, value string) (subject string, err error)
}

// Code holds the service's own code for identities, by identity name. It must match the policy exactly.
type Code struct {
	// Funcs read the identities with func: true. Defaults to none.
	Funcs map[string]Func
	// Verifiers check the values of the identities with verify: {func: true}. Defaults to none.
	Verifiers map[string]Verifier
}

// checkUnused finds code that the policy does not use: its author may take a value for verified that is not.
func (c *Code) checkUnused(all map[string]Identity) error {
	for _, name := range slices.Sorted(maps.Keys(c.Funcs)) {
		if !all[name].Func {
			return fmt.Errorf("identities.%s: the service registers a func, but the policy does not set func: true", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Verifiers)) {
		if v := all[name].Verify; v == nil || !v.Func {
			return fmt.Errorf("identities.%s: the service registers a verifier, but the policy does not set verify: {func: true}", name)
		}
	}
	return nil
}

const maxIdentities = 16

// Complete returns identities with ip, with all defaults, and with the settings of the token with keys in the other tokens.
func Complete(identities map[string]Identity) map[string]Identity {
	all := map[string]Identity{IP: {}}
	maps.Copy(all, identities)
	var token JWT
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if t := all[name].JWT; t != nil && t.Keys != "" && token.Keys == "" {
			token = *t
		}
	}
	for name, id := range all {
		if t := id.JWT; t != nil && t.Keys == "" {
			id.JWT = new(t.like(token))
		}
		all[name] = id.complete(name)
	}
	return all
}

// like returns a token that takes what it omits from another.
func (j JWT) like(other JWT) JWT {
	if j.Header == "" && j.Cookie == "" {
		j.Header, j.Cookie = other.Header, other.Cookie
	}
	j.Keys, j.Issuer, j.Audience = other.Keys, cmp.Or(j.Issuer, other.Issuer), cmp.Or(j.Audience, other.Audience)
	return j
}

const (
	defaultIPv4Prefix = 32
	defaultIPv6Prefix = 64
	defaultForwarded  = "X-Forwarded-For"
)

// complete returns an identity of a name with defaults and canonical names.
func (id Identity) complete(name string) Identity {
	if id.IsAddress(name) {
		id.IPv4Prefix, id.IPv6Prefix = cmp.Or(id.IPv4Prefix, defaultIPv4Prefix), cmp.Or(id.IPv6Prefix, defaultIPv6Prefix)
	}
	if len(id.TrustedProxies) > 0 {
		id.ForwardedHeader = http.CanonicalHeaderKey(cmp.Or(id.ForwardedHeader, defaultForwarded))
	}
	id.Header, id.Fingerprint = http.CanonicalHeaderKey(id.Header), http.CanonicalHeaderKey(id.Fingerprint)
	if id.JWT != nil {
		id.JWT = new(id.JWT.complete())
	}
	return id
}

// code returns the service's own func of an identity, or the verifier of its values, which may be a file.
func (id *Identity) code(name string, code Code) (read Func, verify Verifier, err error) {
	if id.Func {
		if read = code.Funcs[name]; read == nil {
			return nil, nil, fmt.Errorf("func is true, but the service registers none: set Funcs[%q]", name)
		}
	}
	switch v := id.Verify; {
	case v == nil:
	case v.SHA256File != "":
		verify, err = NewDigests(v.SHA256File)
	case v.HMACFile != "":
		verify, err = NewHMACFile(v.HMACFile)
	default:
		if verify = code.Verifiers[name]; verify == nil {
			err = fmt.Errorf("verify.func is true, but the service registers no verifier: set Verifiers[%q]", name)
		}
	}
	return read, verify, err
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
