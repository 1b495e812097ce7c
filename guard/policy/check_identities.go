package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// checkIdentities finds identities without a source or with several, and values that are neither claimed nor verified.
func (p *Policy) checkIdentities(found *problems) {
	fingerprint := ""
	for _, name := range slices.Sorted(maps.Keys(p.Identities)) {
		id := p.Identities[name]
		at := identityPath(name)
		id.check(at, name, p, found)
		if id.Fingerprint != "" && fingerprint != "" {
			found.add(at+".fingerprint", "must be the only fingerprint: identity %s has one, too", fingerprint)
		} else if id.Fingerprint != "" {
			fingerprint = name
		}
	}
	p.checkTokens(found)
}

func identityPath(name string) string { return structPath("identities", name) }

func (id *Identity) check(at, name string, p *Policy, found *problems) {
	if name == ByAll {
		found.add(at, "cannot be defined: all is reserved for global limits")
		return
	}
	if name == ByIP {
		id.checkProxies(at, found)
	} else if len(id.TrustedProxies) > 0 {
		found.add(at+".trusted_proxies", "must be in identities.ip, for all address identities")
	}
	if name != ByIP && id.ForwardedHeader != "" {
		found.add(at+".forwarded_header", "must be in identities.ip, for all address identities")
	}
	sources := id.sources()
	source := id.source()
	isAddress := p.OfAddress(name)
	switch {
	case len(sources) > 1:
		found.add(at, "must have one source, got %s", strings.Join(sources, " and "))
		return
	case name == ByIP && source != "":
		found.add(at+"."+source, "must not be in ip, which is always the client's address: define another identity")
		return
	case !isAddress && source == "":
		found.add(at, "must have a source: ipv4_prefix, ipv6_prefix, header, cookie, query, path, fingerprint, jwt, certificate, func or first")
		return
	case !isAddress && (id.IPv4Prefix != 0 || id.IPv6Prefix != 0):
		found.add(at, "must have one source, got an address prefix and %s", source)
	}
	id.checkHeader(at, found)
	id.checkProof(at, source, found)
	id.checkFirst(at, name, p, found)
}

// checkProxies finds a header that guard never reads, and proxies that let a client choose its address.
func (id *Identity) checkProxies(at string, found *problems) {
	if id.ForwardedHeader != "" && len(id.TrustedProxies) == 0 {
		found.add(at+".forwarded_header", "has no effect while trusted_proxies is empty")
	}
	for i, text := range id.TrustedProxies {
		if prefix, err := parsePrefix(text); err == nil && prefix.Bits() == 0 {
			found.add(fmt.Sprintf("%s.trusted_proxies[%d]", at, i), "trusts every peer, so each client can choose its address: list the networks of your proxies")
		}
	}
}

// checkHeader finds headers that have a key of their own, or hold a secret.
func (id *Identity) checkHeader(at string, found *problems) {
	headers := map[string]string{"header": id.Header, "fingerprint": id.Fingerprint}
	if id.JWT != nil {
		headers["jwt.header"] = id.JWT.Header
	}
	for _, key := range slices.Sorted(maps.Keys(headers)) {
		if err := identity.CheckHeader(headers[key]); err != nil {
			found.add(at+"."+key, "%s", err)
		} else if identity.IsCredentials(headers[key]) && key == "header" && id.Verify == nil {
			found.add(at+"."+key, "holds a secret: use jwt, or add verify")
		}
	}
}

// checkProof finds a value that is neither claimed nor verified, and one that is both.
func (id *Identity) checkProof(at, source string, found *problems) {
	verifiable := slices.Contains([]string{"header", "cookie", "query", "fingerprint"}, source)
	switch {
	case id.Verify != nil && !verifiable:
		found.add(at+".verify", "applies only to a header, cookie, query or fingerprint")
	case id.Verify != nil:
		id.Verify.check(at+".verify", source, found)
		if id.Claimed {
			found.add(at+".claimed", "cannot be combined with verify: a value is either claimed or verified")
		}
	case id.Claimed && !verifiable && source != "path" && source != "func":
		found.add(at+".claimed", "applies only to a header, cookie, query, path, fingerprint or func")
	case !id.Claimed && verifiable:
		found.add(at, "requires verify or claimed: true, because clients choose the %s", source)
	case !id.Claimed && source == "path":
		found.add(at, "requires claimed: true, because clients choose the path")
	}
}

func (v *Verify) check(at, source string, found *problems) {
	ways := 0
	for _, given := range []bool{v.SHA256File != "", v.HMACFile != "", v.Func} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		found.add(at, "must have exactly one of sha256_file, hmac_file and func, got %d", ways)
	case v.HMACFile != "" && source != "fingerprint":
		found.add(at+".hmac_file", "applies only to a fingerprint: verify a %s with sha256_file or func", source)
	}
}

// checkFirst finds alternatives that no request has, and those that are never used.
func (id *Identity) checkFirst(at, name string, p *Policy, found *problems) {
	for i, one := range id.First {
		at := fmt.Sprintf("%s.first[%d]", at, i)
		other, defined := p.Identities[one]
		switch {
		case checkIdentity(one) != "": // reported by bounds
		case one == ByAll:
			found.add(at, "must be an identity, not all")
		case one == name || defined && len(other.First) > 0 || one == ByClient && !defined:
			found.add(at, "must be an identity with a source of its own, got %s", quote(one))
		case !defined && one != ByIP:
			found.add(at, "unknown identity %s%s", quote(one), spelling.DidYouMean(one, p.sourced()))
		case slices.Contains(id.First[:i], one):
			found.add(at, "duplicate identity %s", one)
		case p.OfAddress(one) && i < len(id.First)-1:
			found.add(at, "must be last: every request has an address, so later identities are never used")
		}
	}
}
