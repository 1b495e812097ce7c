package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// By selects the subject that a limit counts: one identity, or a combination of several.
type By []string

// The names that need no definition.
const (
	ByAll    = "all"    // all requests together
	ByClient = "client" // ip, unless the policy defines it
	ByIP     = identity.IP
)

// Global reports whether a limit by b counts all requests together.
func (b By) Global() bool { return len(b) == 1 && b[0] == ByAll }

// An Identity is one answer to "who is this?".
type Identity = identity.Identity

// Verify is the proof of a value.
type Verify = identity.Verify

// JWT is a claim of a signed token. A JWT without Keys is another claim of the same token as the policy's other JWTs. It
// takes omitted values from them, so they must agree.
type JWT = identity.JWT

// Code holds the service's own code for identities.
type Code = identity.Code

// OfAddress reports whether an identity is the client's address or a prefix of it, which every request has.
func (p *Policy) OfAddress(name string) bool {
	id, defined := p.Identities[name]
	return (defined || name == ByIP) && id.IsAddress(name)
}

// Alternatives returns the identities that an identity is the first of, or the identity itself if it has its own source.
func (p *Policy) Alternatives(name string) []string {
	if id, defined := p.Identities[name]; defined && len(id.First) > 0 {
		return id.First
	} else if !defined && name == ByClient {
		return []string{ByIP}
	}
	return []string{name}
}

// Counts reports whether a limit or budget by these identities counts a subject, which may be a combination.
func (p *Policy) Counts(by By, subject string) bool {
	parts := strings.Split(subject, "+")
	if len(parts) != len(by) || by.Global() {
		return false
	}
	for i, part := range parts {
		name, _, _ := strings.Cut(part, "=")
		if !slices.Contains(p.Alternatives(by[i]), name) {
			return false
		}
	}
	return true
}

// Verified reports whether clients cannot choose the value of an identity.
func (p *Policy) Verified(name string) bool {
	for _, one := range p.Alternatives(name) {
		if id := p.Identities[one]; id.Claimed {
			return false
		}
	}
	return true
}

// names returns the names of all identities, sorted.
func (p *Policy) names() []string {
	names := map[string]bool{ByIP: true, ByClient: true}
	for name := range p.Identities {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// sourced returns the names of the identities with a source of their own, sorted: those that subjects begin with.
func (p *Policy) sourced() []string {
	return slices.DeleteFunc(p.names(), func(name string) bool { return !p.isSourced(name) })
}

// Undefined returns the first identity of subjects that the policy does not define, or "". No limit counts such a subject.
func (p *Policy) Undefined(subjects []string) string {
	for _, s := range subjects {
		name, _, _ := strings.Cut(s, "=")
		if id, defined := p.Identities[name]; name != ByIP && !p.isAccount(name) && (!defined || len(id.First) > 0) {
			return name
		}
	}
	return ""
}

// isSourced reports whether an identity has a source of its own: it is not the first of others.
func (p *Policy) isSourced(name string) bool {
	alternatives := p.Alternatives(name)
	return len(alternatives) == 1 && alternatives[0] == name
}

// unknownIdentity says that no identity has a name, and which one was meant or which there are.
func unknownIdentity(name string, known []string) string {
	end := spelling.DidYouMean(name, known)
	if end == "" {
		end = " (identities: " + strings.Join(known, ", ") + ")"
	}
	return "unknown identity " + quote(name) + end
}

// notSourced returns why a name is not that of an identity with a source of its own, or "".
func (p *Policy) notSourced(name string) string {
	_, defined := p.Identities[name]
	switch {
	case name == ByAll:
		return "must be an identity, not all"
	case !defined && name != ByIP && name != ByClient:
		return unknownIdentity(name, p.sourced())
	case !p.isSourced(name):
		return "must be an identity with a source of its own, got " + quote(name)
	}
	return ""
}

// Subject returns the subject of IDENTITY=VALUE in the form that requests have: ip=203.0.113.7 for ip=::ffff:203.0.113.7, ip=2001:db8::/64 for
// ip=2001:db8::1, user=a%2Bb for user=a+b, user=ada for user=Ada if the identity folds case. A subject in that form stays the same. Of a
// secret, such as an API key, VALUE is what identifies it.
func (p *Policy) Subject(text string) (string, error) {
	name, value, named := strings.Cut(text, "=")
	id, defined := p.Identities[name]
	switch {
	case !named || value == "":
		return "", errors.New("must be IDENTITY=VALUE")
	case !defined && name != ByIP && name != ByClient && !p.isAccount(name):
		return "", fmt.Errorf("must be of an identity of the policy%s", spelling.DidYouMean(name, p.sourced()))
	case !p.isSourced(name):
		return "", fmt.Errorf("must begin with %s, which identity %s is the first of", either(p.Alternatives(name)), name)
	case p.OfAddress(name):
		address, ok := id.AddressValue(value)
		if !ok {
			return "", errors.New("must have an address")
		}
		return name + "=" + address, nil
	}
	return name + "=" + id.Fold.Canonical(value), nil
}

// Reader returns a reader of the policy's identities. Its Close stops background work, such as refreshing keys.
func (p *Policy) Reader(code Code, o identity.Options) (*identity.Reader, error) {
	return identity.New(identity.Complete(p.Identities), code, o)
}
