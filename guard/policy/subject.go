package policy

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// Subject returns the subject of IDENTITY=VALUE in the form that requests have: ip=203.0.113.7 for ip=::ffff:203.0.113.7, ip=2001:db8::/64 for
// ip=2001:db8::1, user=a%2Bb for user=a+b. A subject in that form stays the same. Of a secret, such as an API key, VALUE is what identifies it.
func (p *Policy) Subject(text string) (string, error) {
	name, value, named := strings.Cut(text, "=")
	id, defined := p.Identities[name]
	switch {
	case !named || value == "":
		return "", errors.New("must be IDENTITY=VALUE")
	case !defined && name != ByIP && name != ByClient:
		return "", fmt.Errorf("must be of an identity of the policy%s", spelling.DidYouMean(name, p.sourced()))
	case !p.isSourced(name):
		return "", fmt.Errorf("must begin with %s, which identity %s is the first of", either(p.Alternatives(name)), name)
	case p.OfAddress(name):
		address, ok := identity.AddressValue(value, cmp.Or(id.IPv4Prefix, DefaultIPv4Prefix), cmp.Or(id.IPv6Prefix, DefaultIPv6Prefix))
		if !ok {
			return "", errors.New("must have an address")
		}
		return name + "=" + address, nil
	case !identity.IsValue(value):
		value = identity.Value(value)
	}
	return name + "=" + value, nil
}
