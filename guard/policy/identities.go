package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// By selects the subject that a limit counts: one identity, or a combination of several.
type By []string

// The names that need no definition.
const (
	ByAll    = "all"    // all requests together
	ByClient = "client" // ip, unless the policy defines it
	ByIP     = "ip"     // the client's address
)

// Global reports whether a limit by b counts all requests together.
func (b By) Global() bool { return len(b) == 1 && b[0] == ByAll }

// An Identity is one answer to "who is this?" and has exactly one source. Package identity reads it from requests.
type Identity struct {
	// IPv4Prefix is the number of bits of an IPv4 address that make a subject, 1 to 32. It makes this an address identity. Defaults to 32.
	IPv4Prefix int `yaml:"ipv4_prefix" policy:"1..32"`
	// IPv6Prefix is the number of bits of an IPv6 address that make a subject, 1 to 128; above 64, one client may have many. It makes this
	// an address identity. Defaults to 64.
	IPv6Prefix int `yaml:"ipv6_prefix" policy:"1..128"`
	// TrustedProxies are the addresses or prefixes of the proxies whose forwarded header guard trusts, at most 1024; unix stands for each
	// peer on a Unix socket. Only in ip; it applies to all address identities. Defaults to none: the peer is the client.
	TrustedProxies []string `yaml:"trusted_proxies" policy:"items=0..1024,is=proxy"`
	// ForwardedHeader is the header to which trusted proxies add the address of their peer: X-Forwarded-For, Forwarded (RFC 7239), or
	// another in the form of X-Forwarded-For. Only in ip. Defaults to X-Forwarded-For.
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
	Certificate identity.CertificatePart `yaml:"certificate"`
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
	Fold identity.Fold `yaml:"fold"`
	// Verify is the proof of a header, cookie, query or fingerprint. Required for these unless claimed is true.
	Verify *Verify `yaml:"verify"`
	// Claimed marks a value of a header, cookie, query, fingerprint or func that clients choose. A limit by a claimed identity can be an
	// additional limit, never the only one. Defaults to false.
	Claimed bool `yaml:"claimed"`
}

// JWT is a claim of a signed token. A JWT without Keys is another claim of the same token as the policy's other JWTs. It
// takes omitted values from them, so they must agree.
type JWT = identity.JWT

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

// OfAddress reports whether an identity is the client's address or a prefix of it, which every request has.
func (p *Policy) OfAddress(name string) bool {
	id, defined := p.Identities[name]
	return name == ByIP || defined && id.source() == "" && (id.IPv4Prefix != 0 || id.IPv6Prefix != 0)
}

// source returns the key of an identity's source, or "" for an address identity.
func (id *Identity) source() string {
	if names := id.sources(); len(names) > 0 {
		return names[0]
	}
	return ""
}

func (id *Identity) sources() []string {
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

// Alternatives returns the identities that an identity is the first of, or the identity itself if it has its own source.
func (p *Policy) Alternatives(name string) []string {
	if id, defined := p.Identities[name]; defined && len(id.First) > 0 {
		return id.First
	} else if !defined && name == ByClient {
		return []string{ByIP}
	}
	return []string{name}
}

// Counts reports whether a limit or budget by these identities counts a subject, which may be a combination.
func (p *Policy) Counts(by By, subject string) bool {
	parts := strings.Split(subject, "+")
	if len(parts) != len(by) || by.Global() {
		return false
	}
	for i, part := range parts {
		name, _, _ := strings.Cut(part, "=")
		if !slices.Contains(p.Alternatives(by[i]), name) {
			return false
		}
	}
	return true
}

// Verified reports whether clients cannot choose the value of an identity.
func (p *Policy) Verified(name string) bool {
	for _, one := range p.Alternatives(name) {
		if id := p.Identities[one]; id.Claimed {
			return false
		}
	}
	return true
}

// names returns the names of all identities, sorted.
func (p *Policy) names() []string {
	names := map[string]bool{ByIP: true, ByClient: true}
	for name := range p.Identities {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// sourced returns the names of the identities with a source of their own, sorted: those that subjects begin with.
func (p *Policy) sourced() []string {
	return slices.DeleteFunc(p.names(), func(name string) bool { return !p.isSourced(name) })
}

// Undefined returns the first identity of subjects that the policy does not define, or "". No limit counts such a subject.
func (p *Policy) Undefined(subjects []string) string {
	for _, s := range subjects {
		name, _, _ := strings.Cut(s, "=")
		if id, defined := p.Identities[name]; name != ByIP && !p.isAccount(name) && (!defined || len(id.First) > 0) {
			return name
		}
	}
	return ""
}

// isSourced reports whether an identity has a source of its own: it is not the first of others.
func (p *Policy) isSourced(name string) bool {
	alternatives := p.Alternatives(name)
	return len(alternatives) == 1 && alternatives[0] == name
}

// unknownIdentity says that no identity has a name, and which one was meant or which there are.
func unknownIdentity(name string, known []string) string {
	end := spelling.DidYouMean(name, known)
	if end == "" {
		end = " (identities: " + strings.Join(known, ", ") + ")"
	}
	return "unknown identity " + quote(name) + end
}

// notSourced returns why a name is not that of an identity with a source of its own, or "".
func (p *Policy) notSourced(name string) string {
	_, defined := p.Identities[name]
	switch {
	case name == ByAll:
		return "must be an identity, not all"
	case !defined && name != ByIP && name != ByClient:
		return unknownIdentity(name, p.sourced())
	case !p.isSourced(name):
		return "must be an identity with a source of its own, got " + quote(name)
	}
	return ""
}

// Subject returns the subject of IDENTITY=VALUE in the form that requests have: ip=203.0.113.7 for ip=::ffff:203.0.113.7, ip=2001:db8::/64 for
// ip=2001:db8::1, user=a%2Bb for user=a+b, user=ada for user=Ada if the identity folds case. A subject in that form stays the same. Of a
// secret, such as an API key, VALUE is what identifies it.
func (p *Policy) Subject(text string) (string, error) {
	name, value, named := strings.Cut(text, "=")
	id, defined := p.Identities[name]
	switch {
	case !named || value == "":
		return "", errors.New("must be IDENTITY=VALUE")
	case !defined && name != ByIP && name != ByClient && !p.isAccount(name):
		return "", fmt.Errorf("must be of an identity of the policy%s", spelling.DidYouMean(name, p.sourced()))
	case !p.isSourced(name):
		return "", fmt.Errorf("must begin with %s, which identity %s is the first of", either(p.Alternatives(name)), name)
	case p.OfAddress(name):
		address, ok := identity.AddressValue(value, cmp.Or(id.IPv4Prefix, defaultIPv4Prefix), cmp.Or(id.IPv6Prefix, defaultIPv6Prefix))
		if !ok {
			return "", errors.New("must have an address")
		}
		return name + "=" + address, nil
	}
	return name + "=" + id.Fold.Canonical(value), nil
}

// Code holds the service's own code for identities, by identity name. It must match the policy exactly.
type Code struct {
	// Funcs read the identities with func: true. Defaults to none.
	Funcs map[string]identity.Func
	// Verifiers check the values of the identities with verify: {func: true}. Defaults to none.
	Verifiers map[string]identity.Verifier
}

// Reader returns a reader of the policy's identities. Its Close stops background work, such as refreshing keys.
func (p *Policy) Reader(code Code, o identity.Options) (*identity.Reader, error) {
	all := p.completeIdentities()
	ip := all[ByIP]
	o.ForwardedHeader = ip.ForwardedHeader
	var err error
	if o.TrustedProxies, o.TrustUnix, err = ParseProxies(ip.TrustedProxies); err != nil {
		return nil, fmt.Errorf("identities.ip.trusted_proxies: %w", err)
	}
	var configs []identity.Config
	for _, name := range slices.Sorted(maps.Keys(all)) {
		id := all[name]
		if len(id.First) > 0 {
			continue
		}
		c, err := id.config(name, p.OfAddress(name), code)
		if err != nil {
			return nil, fmt.Errorf("identities.%s: %w", name, err)
		}
		configs = append(configs, c)
	}
	if err := code.checkUnused(all); err != nil {
		return nil, err
	}
	return identity.New(o, configs...)
}

func (id *Identity) config(name string, address bool, code Code) (identity.Config, error) {
	c := identity.Config{
		Name: name, Header: id.Header, Cookie: id.Cookie, Query: id.Query, Path: id.Path, Fingerprint: id.Fingerprint,
		JWT: id.JWT, Certificate: id.Certificate, OneOf: id.OneOf, Fold: id.Fold,
	}
	if address {
		c.Address, c.IPv4Prefix, c.IPv6Prefix = true, id.IPv4Prefix, id.IPv6Prefix
	}
	if id.Func {
		if c.Func = code.Funcs[name]; c.Func == nil {
			return c, fmt.Errorf("func is true, but the service registers none: set Funcs[%q]", name)
		}
	}
	var err error
	switch v := id.Verify; {
	case v == nil:
	case v.SHA256File != "":
		c.Verify, err = identity.NewDigests(v.SHA256File)
	case v.HMACFile != "":
		c.Verify, err = identity.NewHMACFile(v.HMACFile)
	default:
		if c.Verify = code.Verifiers[name]; c.Verify == nil {
			err = fmt.Errorf("verify.func is true, but the service registers no verifier: set Verifiers[%q]", name)
		}
	}
	return c, err
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
