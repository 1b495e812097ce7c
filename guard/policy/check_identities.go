package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkIdentities finds identities of no source or of several, and values that are neither claimed nor verified.
func (p *Policy) checkIdentities(found *problems) {
	fingerprint := ""
	for _, name := range slices.Sorted(maps.Keys(p.Identities)) {
		id := p.Identities[name]
		at := identityPath(name)
		id.check(at, name, p, found)
		if id.Fingerprint != "" && fingerprint != "" {
			found.add(at+".fingerprint", "is the second fingerprint: only one identity can be one, and %s is", fingerprint)
		} else if id.Fingerprint != "" {
			fingerprint = name
		}
	}
	p.checkTokens(found)
}

func identityPath(name string) string { return structPath("identities", name) }

func (id *Identity) check(at, name string, p *Policy, found *problems) {
	if name == ByAll {
		found.add(at, "cannot be defined: all is every request together")
		return
	}
	if name == ByIP {
		id.checkProxies(at, found)
	} else if len(id.TrustedProxies) > 0 {
		found.add(at+".trusted_proxies", "must be in identities.ip, for all identities of the address")
	}
	if name != ByIP && id.ForwardedHeader != "" {
		found.add(at+".forwarded_header", "must be in identities.ip, for all identities of the address")
	}
	sources := id.sources()
	source := id.source()
	isAddress := p.address(name)
	switch {
	case len(sources) > 1:
		found.add(at, "must have one source, got %s", strings.Join(sources, " and "))
		return
	case name == ByIP && source != "":
		found.add(at+"."+source, "must not be in ip, which is the client's address: define another identity")
		return
	case !isAddress && source == "":
		found.add(at, "must have a source: ipv4_prefix, ipv6_prefix, header, cookie, query, path, fingerprint, jwt, certificate, func or first")
		return
	case !isAddress && (id.IPv4Prefix != 0 || id.IPv6Prefix != 0):
		found.add(at, "must have one source, got a prefix of the address and %s", source)
	}
	id.checkHeader(at, found)
	id.checkProof(at, source, found)
	id.checkFirst(at, name, p, found)
}

// checkProxies finds proxies that are never believed, and those that let a client choose its address.
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

// checkHeader finds headers that hold no value of their own, or a secret.
func (id *Identity) checkHeader(at string, found *problems) {
	headers := map[string]string{"header": id.Header, "fingerprint": id.Fingerprint}
	if id.JWT != nil {
		headers["jwt.header"] = id.JWT.Header
	}
	for _, key := range slices.Sorted(maps.Keys(headers)) {
		switch name := strings.ToLower(headers[key]); {
		case name == "host":
			found.add(at+"."+key, "must not be Host: match the host in an endpoint's pattern")
		case name == "cookie":
			found.add(at+"."+key, "must not be Cookie: name one of the cookies with cookie")
		case (name == "authorization" || name == "proxy-authorization") && key == "header" && id.Verify == nil:
			found.add(at+"."+key, "holds a secret: use jwt, or verify it")
		}
	}
}

// checkProof finds a value that is neither claimed nor verified, or both.
func (id *Identity) checkProof(at, source string, found *problems) {
	verifiable := slices.Contains([]string{"header", "cookie", "query", "fingerprint"}, source)
	switch {
	case id.Verify != nil && !verifiable:
		found.add(at+".verify", "is for a header, cookie, query or fingerprint")
	case id.Verify != nil:
		id.Verify.check(at+".verify", source, found)
		if id.Claimed {
			found.add(at+".claimed", "must not be with verify: a value is claimed or verified")
		}
	case id.Claimed && !verifiable && source != "path" && source != "func":
		found.add(at+".claimed", "is for a header, cookie, query, path, fingerprint or func")
	case !id.Claimed && verifiable:
		found.add(at, "must have verify or claimed: true, because a client chooses its %s", source)
	case !id.Claimed && source == "path":
		found.add(at, "must have claimed: true, because a client chooses its path")
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
		found.add(at, "must have one of sha256_file, hmac_file and func, got %d", ways)
	case v.HMACFile != "" && source != "fingerprint":
		found.add(at+".hmac_file", "is for a fingerprint: verify a %s with sha256_file or func", source)
	}
}

// checkFirst finds alternatives that no request has, or that are never read.
func (id *Identity) checkFirst(at, name string, p *Policy, found *problems) {
	for i, one := range id.First {
		at := fmt.Sprintf("%s.first[%d]", at, i)
		other, defined := p.Identities[one]
		switch {
		case checkIdentity(one) != "": // said already
		case one == ByAll:
			found.add(at, "must be an identity, not all")
		case one == name || defined && len(other.First) > 0 || one == ByClient && !defined:
			found.add(at, "must be an identity with a source of its own, got %s", quote(one))
		case !defined && one != ByIP:
			found.add(at, "unknown identity %s%s", quote(one), didYouMean(one, p.sourced()))
		case slices.Contains(id.First[:i], one):
			found.add(at, "is there twice: %s", one)
		case p.address(one) && i < len(id.First)-1:
			found.add(at, "must be the last: every request has an address, so what follows is never read")
		}
	}
}
