package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rlfunc/rlfunc/guard/identity"
)

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
	for i, text := range ip.TrustedProxies {
		prefix, err := parsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("identities.ip.trusted_proxies[%d]: %w, got %s", i, err, quote(text))
		}
		o.TrustedProxies = append(o.TrustedProxies, prefix)
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
		Certificate: identity.CertificatePart(id.Certificate),
	}
	if address {
		c.Address, c.IPv4Prefix, c.IPv6Prefix = true, id.IPv4Prefix, id.IPv6Prefix
	}
	if t := id.JWT; t != nil {
		c.JWT = &identity.JWT{Claim: t.Claim, Keys: t.Keys, Issuer: t.Issuer, Audience: t.Audience, Header: t.Header, Cookie: t.Cookie, Leeway: t.Leeway}
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
