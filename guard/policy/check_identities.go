package policy

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/guard/identity"
)

// checkIdentities finds identities without a source or with several, and values that are neither claimed nor verified.
func (p *Policy) checkIdentities(found *problems) {
	fingerprint := ""
	for _, name := range slices.Sorted(maps.Keys(p.Identities)) {
		id := p.Identities[name]
		at := identityPath(name)
		p.checkIdentity(at, name, &id, found)
		if id.Fingerprint != "" && fingerprint != "" {
			found.add(at+".fingerprint", "must be the only fingerprint: identity %s has one, too", fingerprint)
		} else if id.Fingerprint != "" {
			fingerprint = name
		}
	}
	p.checkTokens(found)
}

func identityPath(name string) string { return structPath("identities", name) }

func (p *Policy) checkIdentity(at, name string, id *Identity, found *problems) {
	if name == ByAll {
		found.add(at, "cannot be defined: all is reserved for global limits")
		return
	}
	if name == ByIP {
		if id.ForwardedHeader != "" && len(id.TrustedProxies) == 0 {
			found.add(at+".forwarded_header", "has no effect while trusted_proxies is empty")
		}
	} else if len(id.TrustedProxies) > 0 {
		found.add(at+".trusted_proxies", "must be in identities.ip, for all address identities")
	}
	if name != ByIP && id.ForwardedHeader != "" {
		found.add(at+".forwarded_header", "must be in identities.ip, for all address identities")
	}
	if strings.EqualFold(id.ForwardedHeader, "Forwarded") {
		found.add(at+".forwarded_header", "must be in the form of X-Forwarded-For, which Forwarded (RFC 7239) is not: name X-Forwarded-For, and let the proxy set it")
	}
	sources, source := id.Sources(), id.Source()
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
	if name == ByClient && len(id.OneOf) > 0 {
		found.add(at+".one_of", "must not be in client, which limits count")
	}
	checkHeader(at, id, found)
	checkOptions(at, source, id, found)
	p.checkFirst(at, name, id, found)
}

// checkHeader finds headers that have a key of their own, or hold a secret.
func checkHeader(at string, id *Identity, found *problems) {
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

// checkOptions finds options that the source does not have, and a value that is neither claimed nor verified, or both.
func checkOptions(at, source string, id *Identity, found *problems) {
	verifiable := []string{"header", "cookie", "query", "fingerprint"}
	for _, option := range []struct {
		key     string
		given   bool
		sources []string
	}{
		{"verify", id.Verify != nil, verifiable},
		{"claimed", id.Claimed, []string{"header", "cookie", "query", "path", "fingerprint", "func"}},
		{"one_of", len(id.OneOf) > 0, []string{"jwt"}},
		{"fold", id.Fold != identity.FoldNone, []string{"header", "cookie", "query", "path", "jwt", "func"}},
	} {
		if option.given && !slices.Contains(option.sources, source) {
			found.add(at+"."+option.key, "applies only to a %s", either(option.sources))
		}
	}
	chosen := source == "path" || slices.Contains(verifiable, source)
	switch {
	case id.Verify != nil && id.Claimed:
		found.add(at+".claimed", "cannot be combined with verify: a value is either claimed or verified")
	case source == "path" && !id.Claimed:
		found.add(at, "requires claimed: true, because clients choose the path")
	case chosen && !id.Claimed && id.Verify == nil:
		found.add(at, "requires verify or claimed: true, because clients choose the %s", source)
	}
	if id.Verify != nil && slices.Contains(verifiable, source) {
		checkVerify(at+".verify", source, id.Verify, found)
	}
	for i, value := range id.OneOf {
		if slices.Contains(id.OneOf[:i], value) {
			found.add(fmt.Sprintf("%s.one_of[%d]", at, i), "duplicate value %s", value)
		}
	}
	if len(id.OneOf) > 0 && id.Fold != identity.FoldNone {
		found.add(at+".fold", "cannot be combined with one_of, whose values are exact")
	}
}

func checkVerify(at, source string, v *Verify, found *problems) {
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
func (p *Policy) checkFirst(at, name string, id *Identity, found *problems) {
	for i, one := range id.First {
		at := fmt.Sprintf("%s.first[%d]", at, i)
		switch wrong := p.notSourced(one); {
		case !is("identity", one): // reported by bounds
		case one == name:
			found.add(at, "must be an identity with a source of its own, got %s", quote(one))
		case wrong != "":
			found.add(at, "%s", wrong)
		case slices.Contains(id.First[:i], one):
			found.add(at, "duplicate identity %s", one)
		case len(p.Identities[one].OneOf) > 0:
			found.add(at, "must not be %s: %s", one, onlyPlan)
		case p.OfAddress(one) && i < len(id.First)-1:
			found.add(at, "must be last: every request has an address, so later identities are never used")
		}
	}
}

const onlyPlan = "it has one_of, so it names the plan of a client, and not the client"

// checkTokens finds tokens without keys that the policy's other tokens could not complete.
func (p *Policy) checkTokens(found *problems) {
	keyed := map[JWT]bool{}
	for _, id := range p.Identities {
		if id.JWT != nil && id.JWT.Keys != "" {
			token := *id.JWT
			token.Claim = ""
			keyed[token] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Identities)) {
		id := p.Identities[name]
		if id.JWT == nil {
			continue
		}
		at := identityPath(name) + ".jwt"
		switch {
		case id.JWT.Keys != "":
			if err := identity.CheckKeys(id.JWT.Keys); err != nil {
				found.add(at+".keys", "%s", err)
			}
		case len(keyed) == 0:
			found.add(at+".keys", "is required in one jwt of the policy")
		case len(keyed) > 1:
			found.add(at+".keys", "is required, because the other tokens differ in more than their claim")
		}
		if id.JWT.Cookie != "" && id.JWT.Header != "" {
			found.add(at+".cookie", "cannot be combined with header: a token has one source")
		}
	}
}

// wildcard finds the name of each wildcard in a pattern: id of /chat/{id}, path of /files/{path...}.
var wildcard = regexp.MustCompile(`\{([^{}.$]+)(\.\.\.)?\}`)

// wildcards returns the names of all wildcards in the endpoints' patterns. It returns nil if an endpoint has no patterns,
// because its requests may then have any path value.
func wildcards(endpoints []Endpoint) map[string]bool {
	if len(endpoints) == 0 {
		return nil
	}
	names := map[string]bool{}
	for i := range endpoints {
		if len(endpoints[i].Match) == 0 {
			return nil
		}
		for _, pattern := range endpoints[i].Match {
			for _, match := range wildcard.FindAllStringSubmatch(pattern, -1) {
				names[match[1]] = true
			}
		}
	}
	return names
}

// checkBys finds identities that are not defined, and those that no request can have.
func (p *Policy) checkBys(found *problems) {
	values := wildcards(p.Endpoints)
	for i := range p.Limits {
		p.checkBy(fmt.Sprintf("limits[%d]", i), p.Limits[i].By, true, values, found)
	}
	for i := range p.Budgets {
		p.checkBy(fmt.Sprintf("budgets[%d]", i), p.Budgets[i].By, true, values, found)
	}
	for i := range p.Blocks {
		p.checkBy(fmt.Sprintf("blocks[%d]", i), p.Blocks[i].By, false, values, found)
	}
	for i := range p.Endpoints {
		e, at := &p.Endpoints[i], fmt.Sprintf("endpoints[%d]", i)
		values := wildcards(p.Endpoints[i : i+1])
		for j := range e.Limits {
			p.checkBy(fmt.Sprintf("%s.limits[%d]", at, j), e.Limits[j].By, true, values, found)
		}
		if e.Challenge != nil {
			p.checkBy(at+".challenge", e.Challenge.By, false, values, found)
		}
	}
}

// checkBy checks a by against the identities and the wildcards of its endpoints.
func (p *Policy) checkBy(at string, by By, global bool, values map[string]bool, found *problems) {
	for i, name := range by {
		at := at + ".by"
		if len(by) > 1 {
			at = fmt.Sprintf("%s[%d]", at, i)
		}
		_, defined := p.Identities[name]
		switch {
		case !is("identity", name): // reported by bounds
		case name == ByAll && !global:
			found.add(at, "must be an identity, not all")
		case name == ByAll && len(by) > 1:
			found.add(at, "must be the only entry: all counts every request together")
		case name == ByAll:
		case !defined && name != ByIP && name != ByClient:
			names := p.names()
			if global {
				names = append(names, ByAll)
			}
			found.add(at, "%s", unknownIdentity(name, names))
		case slices.Contains(by[:i], name):
			found.add(at, "duplicate identity %s", name)
		case len(p.Identities[name].OneOf) > 0:
			found.add(at, "must not be %s: %s", name, onlyPlan)
		default:
			if path := p.missingWildcard(name, values); path != "" {
				found.add(at, "never applies: identity %s needs the wildcard {%s}, which no pattern in match has", name, path)
			}
		}
	}
}

// missingWildcard returns the wildcard that an identity needs and no pattern has, or "" if some request may have the identity.
func (p *Policy) missingWildcard(name string, values map[string]bool) string {
	first := ""
	for _, one := range p.Alternatives(name) {
		id := p.Identities[one]
		if id.Path == "" || values == nil || values[id.Path] {
			return ""
		}
		first = cmp.Or(first, id.Path)
	}
	return first
}

// checkReceipt finds an idempotency header that also identifies the client: all its requests would share one ID.
func (p *Policy) checkReceipt(at string, e *Endpoint, found *problems) {
	if e.Idempotency == nil {
		return
	}
	for _, name := range p.names() {
		id := p.Identities[name]
		headers := []string{id.Header, id.Fingerprint}
		if id.JWT != nil {
			headers = append(headers, id.JWT.Header)
			if id.JWT.Header == "" && id.JWT.Cookie == "" {
				headers = append(headers, "Authorization")
			}
		}
		if slices.ContainsFunc(headers, func(h string) bool { return h != "" && strings.EqualFold(h, e.Idempotency.Header) }) {
			found.add(at+".idempotency.header", "must not be the header of identity %s: all requests of a client would have the same ID", name)
			return
		}
	}
}

const boundIt = "add a limit with by: ip or by: all, or set unbounded: true"

// checkBounded finds an endpoint that a request could pass without being counted by a verified identity or a global limit. It assumes
// that a limit that could not be read counts every request.
func (p *Policy) checkBounded(at string, e *Endpoint, isBad func(path string) bool, found *problems) {
	if e.Unbounded {
		return
	}
	var reasons []string
	for _, from := range []struct {
		at     string
		limits []Limit
	}{{at + ".limits", e.Limits}, {"limits", p.Limits}} {
		if isBad(from.at) {
			return
		}
		for i := range from.limits {
			l := &from.limits[i]
			reason := p.uncounted(l.By, l.Name, p.hasNoSource)
			if l.Shadow {
				reason = l.Name + " is a shadow limit"
			}
			if reason == "" || isBad(fmt.Sprintf("%s[%d].by", from.at, i)) {
				return
			}
			reasons = append(reasons, reason)
		}
	}
	if b := p.BlockOf(e); b != nil && b.Attempts == CountAll {
		reason := p.uncounted(b.By, b.Name, p.hasNoSource)
		if reason == "" || isBad("blocks") {
			return
		}
		reasons = append(reasons, reason)
	}
	if len(reasons) == 0 {
		found.add(at, "%s has no limit: %s", quote(e.Name), boundIt)
		return
	}
	found.add(at, "no limit of %s counts every request: %s; %s", quote(e.Name), strings.Join(reasons, ", "), boundIt)
}

// hasNoSource reports whether every request has an identity, which is then an address. An identity that is not defined or has no source
// is another check's problem.
func (p *Policy) hasNoSource(identity string) bool {
	id := p.Identities[identity]
	return id.Source() == ""
}

// uncounted returns why a limit by these identities skips some requests or counts them by a claimed identity; "" if it does not. always
// reports whether every request has an identity.
func (p *Policy) uncounted(by By, limit string, always func(identity string) bool) string {
	if len(by) == 0 {
		by = By{ByClient}
	}
	for _, name := range by {
		all := p.Alternatives(name)
		for _, one := range all {
			if p.Identities[one].Claimed {
				return fmt.Sprintf("%s uses the claimed identity %s", limit, one)
			}
		}
		if name != ByAll && !slices.ContainsFunc(all, always) {
			return fmt.Sprintf("%s skips requests without %s", limit, name)
		}
	}
	return ""
}
