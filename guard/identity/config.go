package identity

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// A Config says who a request is. The zero Config names it by its peer's address.
type Config struct {
	// From are the sources in the order in which they are asked; IP, which every request has, can only be the last.
	// Defaults to Custom where there is a Func, then IP.
	From []Source
	// FingerprintHeader brings a fingerprint. Defaults to X-Fingerprint.
	FingerprintHeader string
	// Verifier verifies fingerprints; one that it refuses is none, and the next source is asked. Defaults to believing all.
	Verifier Verifier
	// APIKeyHeader brings an API key. Defaults to X-API-Key.
	APIKeyHeader string
	// PlainKeys makes the subject key=<key>, readable in Redis and in logs. Defaults to false: a hash of the key.
	PlainKeys bool
	// TrustedProxies are the peers whose IPHeader is believed. Defaults to none.
	TrustedProxies []netip.Prefix
	// IPHeader is where proxies add whom they heard: Forwarded in the form of RFC 7239, any other in that of
	// X-Forwarded-For. Defaults to X-Forwarded-For.
	IPHeader string
	// IPv6Prefix is how many bits of an IPv6 address are one client, 1 to 128. Defaults to 64.
	IPv6Prefix int
	// Func is the source Custom; ErrNone leaves a request to the next source, another error is Identify's. Defaults to none.
	Func func(*http.Request) (Identity, error)
}

// An Identifier tells who requests are. It is safe for concurrent use.
type Identifier struct {
	config    Config
	forwarded bool // IPHeader is Forwarded
}

// New checks a config.
func New(config Config) (*Identifier, error) {
	c := config
	c.From = slices.Clone(c.From)
	c.TrustedProxies = slices.Clone(c.TrustedProxies)
	if len(c.From) == 0 {
		if c.Func != nil {
			c.From = append(c.From, Custom)
		}
		c.From = append(c.From, IP)
	}
	if c.IPv6Prefix == 0 {
		c.IPv6Prefix = 64
	}
	if c.IPv6Prefix < 1 || c.IPv6Prefix > 128 {
		return nil, fmt.Errorf("identity: IPv6Prefix must be 1 to 128, got %d", c.IPv6Prefix)
	}
	for _, header := range []struct {
		name   *string
		absent string
	}{{&c.FingerprintHeader, "X-Fingerprint"}, {&c.APIKeyHeader, "X-API-Key"}, {&c.IPHeader, "X-Forwarded-For"}} {
		if *header.name == "" {
			*header.name = header.absent
		}
		*header.name = http.CanonicalHeaderKey(*header.name)
	}
	for i, p := range c.TrustedProxies {
		if !p.IsValid() {
			return nil, fmt.Errorf("identity: TrustedProxies[%d] is no prefix", i)
		}
		c.TrustedProxies[i] = unmap(p).Masked()
	}
	if err := c.checkFrom(); err != nil {
		return nil, err
	}
	return &Identifier{config: c, forwarded: strings.EqualFold(c.IPHeader, "Forwarded")}, nil
}

func (c *Config) checkFrom() error {
	for i, source := range c.From {
		switch {
		case !slices.Contains([]Source{Fingerprint, APIKey, IP, Custom}, source):
			return fmt.Errorf("identity: From[%d] must be fingerprint, api_key, ip or custom, got %q", i, source)
		case slices.Contains(c.From[:i], source):
			return fmt.Errorf("identity: From[%d] is there twice: %s", i, source)
		case source == IP && i < len(c.From)-1:
			return fmt.Errorf("identity: From[%d] must be the last: every request has an address", i)
		case source == Custom && c.Func == nil:
			return fmt.Errorf("identity: From[%d] has no Func", i)
		}
	}
	return nil
}

// unmap is the IPv4 prefix that an IPv6 one maps, or the prefix itself.
func unmap(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}
