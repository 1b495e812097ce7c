package policy

import (
	"maps"
	"slices"
	"time"
)

// By names whose requests are counted together: one identity, or several, whose combination is one subject.
type By []string

// The names that a policy always has.
const (
	ByAll    = "all"    // every request
	ByClient = "client" // ip, unless the policy defines it
	ByIP     = "ip"     // the client's address
)

// Global reports whether every request is counted together.
func (b By) Global() bool { return len(b) == 1 && b[0] == ByAll }

// An Identity is one answer to "who is this?", from exactly one source. Package identity reads it.
type Identity struct {
	// IPv4Prefix is how many bits of an IPv4 address are one subject, 1 to 32. It makes this identity one of the address. Defaults to 32.
	IPv4Prefix int `yaml:"ipv4_prefix" policy:"1..32"`
	// IPv6Prefix is how many bits of an IPv6 address are one subject, 1 to 128. It makes this identity one of the address. Defaults to 64.
	IPv6Prefix int `yaml:"ipv6_prefix" policy:"1..128"`
	// TrustedProxies are the addresses or prefixes of the proxies whose header is believed, at most 1024; for ip only, and for all
	// identities of the address. Defaults to none: the peer is the client.
	TrustedProxies []string `yaml:"trusted_proxies" policy:"items=0..1024,is=prefix"`
	// ForwardedHeader is where proxies add the address that they heard: X-Forwarded-For, Forwarded (RFC 7239), or another of the first's
	// form; for ip only. Defaults to X-Forwarded-For.
	ForwardedHeader string `yaml:"forwarded_header" policy:"is=header"`
	// Header is a header, or a metadata key of gRPC.
	Header string `yaml:"header" policy:"is=header"`
	// Cookie is the name of a cookie.
	Cookie string `yaml:"cookie" policy:"is=header"`
	// Query is the name of a query parameter.
	Query string `yaml:"query" policy:"is=parameter"`
	// Path is the name of a wildcard in the endpoint's pattern: tenant of /t/{tenant}/search.
	Path string `yaml:"path" policy:"is=parameter"`
	// Fingerprint is a header that holds fp:<challenge>:<stable hash>; the subject is the stable hash.
	Fingerprint string `yaml:"fingerprint" policy:"is=header"`
	// JWT is a claim of a signed token.
	JWT *JWT `yaml:"jwt"`
	// Certificate is a part of a client certificate that the server has verified.
	Certificate Certificate `yaml:"certificate"`
	// Func says that the service's own code answers, by a func of this identity's name.
	Func bool `yaml:"func"`
	// First are other identities: the first that a request has is this one.
	First []string `yaml:"first" policy:"items=0..16,is=identity"`
	// Verify says how the value of a header, cookie, query or fingerprint is proved. Required there unless it is claimed.
	Verify *Verify `yaml:"verify"`
	// Claimed says that the value is what a client writes, or that a func reads what a client writes: a limit by it is one more, and
	// never the only one. Defaults to false.
	Claimed bool `yaml:"claimed"`
}

// JWT is a claim of a signed token. Without Keys, the token is that of the policy's other JWTs: its Keys, Issuer, Audience, Header or
// Cookie, and Leeway, where this one omits them. The others must agree.
type JWT struct {
	// Claim is a claim whose value is text or a whole number. Required.
	Claim string `yaml:"claim" policy:"required,is=parameter"`
	// Keys is a file or an https URL of a JWKS, or a file with public keys in PEM. Required in one JWT of a policy.
	Keys string `yaml:"keys" policy:"is=path"`
	// Issuer is what iss must be. Defaults to any.
	Issuer string `yaml:"issuer" policy:"is=path"`
	// Audience is what aud must have. Defaults to any.
	Audience string `yaml:"audience" policy:"is=path"`
	// Header brings the token. Defaults to Authorization: Bearer.
	Header string `yaml:"header" policy:"is=header"`
	// Cookie brings the token. Defaults to none.
	Cookie string `yaml:"cookie" policy:"is=header"`
	// Leeway is how far clocks may differ, 1ms to 10m. Defaults to 30s.
	Leeway time.Duration `yaml:"leeway" policy:"1ms..10m"`
}

// Verify says how a value is proved. Exactly one key.
type Verify struct {
	// SHA256File is a file of lines `<SHA-256 in hexadecimal> [name]`: a value whose digest is there is known.
	SHA256File string `yaml:"sha256_file" policy:"is=path"`
	// HMACFile is a file of lines `<key ID> <secret in hexadecimal>` that sign fingerprints.
	HMACFile string `yaml:"hmac_file" policy:"is=path"`
	// Func says that the service's own code verifies, by a Verifier of this identity's name.
	Func bool `yaml:"func"`
}

// address reports whether an identity is a part of the client's address, which every request has.
func (p *Policy) address(name string) bool {
	id, defined := p.Identities[name]
	return name == ByIP || defined && id.source() == "" && (id.IPv4Prefix != 0 || id.IPv6Prefix != 0)
}

// OfAddress reports whether an identity is the client's address, or a prefix of it.
func (p *Policy) OfAddress(name string) bool { return p.address(name) }

// source names the key that says where an identity comes from; "" for one of the address.
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

// Alternatives are the identities, each of one source, of which a request's first is the named one.
func (p *Policy) Alternatives(name string) []string {
	if id, defined := p.Identities[name]; defined && len(id.First) > 0 {
		return id.First
	} else if !defined && name == ByClient {
		return []string{ByIP}
	}
	return []string{name}
}

// Verified reports whether a client cannot choose who it is by an identity.
func (p *Policy) Verified(name string) bool {
	for _, one := range p.Alternatives(name) {
		if id := p.Identities[one]; id.Claimed {
			return false
		}
	}
	return true
}

// names are those of all identities that limits may name, sorted.
func (p *Policy) names() []string {
	names := map[string]bool{ByIP: true, ByClient: true}
	for name := range p.Identities {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// sourced are the names of the identities that subjects begin with, sorted.
func (p *Policy) sourced() []string {
	return slices.DeleteFunc(p.names(), func(name string) bool { return !p.isSourced(name) })
}

// isSourced reports whether an identity has a source of its own: it is not the first of others.
func (p *Policy) isSourced(name string) bool {
	alternatives := p.Alternatives(name)
	return len(alternatives) == 1 && alternatives[0] == name
}
