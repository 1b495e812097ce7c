package policy

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/rlfunc/rlfunc/guard/identity"
)

// Identifier tells who requests are as the policy says. The verifier is for verify: hmac, where it must be given; with verify: none it
// must be nil.
func (id Identity) Identifier(verifier identity.Verifier) (*identity.Identifier, error) {
	id = id.complete()
	if wants := id.Fingerprint.Verify == VerifyHMAC; wants != (verifier != nil) {
		if wants {
			return nil, errors.New("identity.fingerprint.verify is hmac, and no verifier is given")
		}
		return nil, errors.New("a verifier is given, and identity.fingerprint.verify is none")
	}
	c := identity.Config{
		FingerprintHeader: id.Fingerprint.Header,
		Verifier:          verifier,
		APIKeyHeader:      id.APIKey.Header,
		PlainKeys:         id.APIKey.Plain,
		TrustedProxies:    make([]netip.Prefix, len(id.IP.TrustedProxies)),
		IPHeader:          id.IP.Header,
		IPv6Prefix:        id.IP.IPv6Prefix,
	}
	for _, source := range id.From {
		c.From = append(c.From, identity.Source(source))
	}
	for i, text := range id.IP.TrustedProxies {
		p, err := parsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("identity.ip.trusted_proxies[%d]: %w, got %s", i, err, quote(text))
		}
		c.TrustedProxies[i] = p
	}
	return identity.New(c)
}
