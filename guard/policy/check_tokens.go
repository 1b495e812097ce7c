package policy

import (
	"maps"
	"slices"

	"github.com/rlfunc/rlfunc/guard/identity"
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
			if err := identity.CheckKeys(id.JWT.Keys); err != nil {
				found.add(at+".keys", "%s", err)
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
