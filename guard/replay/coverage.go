package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/wire"
)

// A coverage maps the lines of a log to identities of the policy. A line has one identity: its user, or else its address.
type coverage struct {
	policy  *policy.Policy
	user    string // identity of a line's user; "" if users do not count
	address string // identity of a line's address
}

// newCoverage returns the identities of a complete policy that a log has.
func newCoverage(p *policy.Policy, by Subject) coverage {
	w := coverage{policy: p, address: policy.ByIP}
	client := p.Alternatives(policy.ByClient)
	if i := slices.IndexFunc(client, p.OfAddress); i >= 0 {
		w.address = client[i]
	}
	if by != ByUser {
		return w
	}
	w.user = "user"
	if i := slices.IndexFunc(client, func(name string) bool { return !p.OfAddress(name) }); i >= 0 {
		w.user = client[i]
	}
	return w
}

// resolve returns the identity that a line has for a limit by name, or "".
func (w *coverage) resolve(name string, user bool) string {
	for _, one := range w.policy.Alternatives(name) {
		if user && one == w.user {
			return one
		}
		if w.policy.OfAddress(one) && !(user && name == policy.ByClient) {
			return one
		}
	}
	if user && name == policy.ByClient {
		return w.user // Options.Subject wins over the policy's client
	}
	return ""
}

// counts reports whether a limit by these identities counts the subject of a line, a user or an address.
func (w *coverage) counts(by policy.By, user bool) bool {
	if len(by) != 1 || by.Global() {
		return false
	}
	one := w.resolve(by[0], user)
	if user {
		return one == w.user
	}
	return one != "" && w.sameAs(one, w.address)
}

// sameAs reports whether two address identities have the same prefixes.
func (w *coverage) sameAs(one, other string) bool {
	a, b := w.policy.Identities[one], w.policy.Identities[other]
	return a.IPv4Prefix == b.IPv4Prefix && a.IPv6Prefix == b.IPv6Prefix
}

// covers reports whether each line of the log has the subject of these identities, if any.
func (w *coverage) covers(by policy.By) bool {
	if len(by) != 1 {
		return false
	}
	missed := func(user bool) bool { return w.resolve(by[0], user) != "" && !w.counts(by, user) }
	if w.user == "" {
		return w.counts(by, false)
	}
	return !missed(true) && !missed(false) && (w.counts(by, true) || w.counts(by, false))
}

// leftOut returns the limits, cost and abuse whose identities the log does not have.
func (w *coverage) leftOut() []LeftOut {
	var all []LeftOut
	add := func(name string, by policy.By) {
		if !by.Global() && !w.covers(by) {
			all = append(all, LeftOut{Name: name, By: by})
		}
	}
	limits := func(endpoint string, limits []policy.Limit) {
		for i := range limits {
			add(wire.LimitName(endpoint, limits[i].Name), limits[i].By)
		}
	}
	p := w.policy
	limits("", p.Limits)
	for i := range p.Endpoints {
		limits(p.Endpoints[i].Name, p.Endpoints[i].Limits)
	}
	if p.Cost != nil {
		add("cost", p.Cost.By)
	}
	if p.Abuse != nil {
		add("abuse", p.Abuse.By)
	}
	return all
}

// note returns a sentence on the limits that are left out.
func (w *coverage) note(left []LeftOut) string {
	names := make([]string, len(left))
	for i := range left {
		names[i] = fmt.Sprintf("%s (by %s)", left[i].Name, strings.Join(left[i].By, " and "))
	}
	each := fmt.Sprintf("its address (%s)", w.address)
	if w.user != "" {
		each = fmt.Sprintf("its user (%s), or without one for %s", w.user, each)
	}
	return fmt.Sprintf("Left out: %s. Each line counts for one identity, %s.", strings.Join(names, ", "), each)
}
