package policy

import (
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

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
			if !isKeys(id.JWT.Keys) {
				found.add(at+".keys", "must be a file or an https URL without a password")
			}
		case len(keyed) == 0:
			found.add(at+".keys", "is required in one jwt of the policy")
		case len(keyed) > 1:
			found.add(at+".keys", "is required, because the other tokens differ in more than their claim")
		}
		if id.JWT.Header != "" && id.JWT.Cookie != "" {
			found.add(at+".cookie", "cannot be combined with header: a token has one source")
		}
	}
}

// isKeys reports whether text is a file, or a URL whose response cannot be forged on the way: https, or http on loopback.
func isKeys(text string) bool {
	if !strings.Contains(text, "://") {
		return true
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	loopback := u.Hostname() == "localhost" || err == nil && addr.IsLoopback()
	return u.Scheme == "https" || u.Scheme == "http" && loopback
}
