package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/guard/policy"
)

// A whom says which identities of a policy the lines of a log have: each counts for one, its user or else its address.
type whom struct {
	policy  *policy.Policy
	user    string // of a line's user; "" where each line counts for its address
	address string // of a line's address
}

// whomOf finds the identities of a complete policy.
func whomOf(p *policy.Policy, by Subject) whom {
	w := whom{policy: p, address: policy.ByIP}
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

// resolve returns the identity that a line counts for where a limit is by a name; "" where the line has none.
func (w *whom) resolve(name string, user bool) string {
	for _, one := range w.policy.Alternatives(name) {
		if user && one == w.user {
			return one
		}
		if w.policy.OfAddress(one) && !(user && name == policy.ByClient) {
			return one
		}
	}
	if user && name == policy.ByClient {
		return w.user // by request: the policy's client may be the address
	}
	return ""
}

// counts reports whether the subject of a line, a user or an address, is whom these identities count.
func (w *whom) counts(by policy.By, user bool) bool {
	if len(by) != 1 || by.Global() {
		return false
	}
	one := w.resolve(by[0], user)
	if user {
		return one == w.user
	}
	return one != "" && w.sameAs(one, w.address)
}

// sameAs reports whether two identities of the address are the same part of it.
func (w *whom) sameAs(one, other string) bool {
	a, b := w.policy.Identities[one], w.policy.Identities[other]
	return a.IPv4Prefix == b.IPv4Prefix && a.IPv6Prefix == b.IPv6Prefix
}

// sees reports whether the log says of each line whom these identities count.
func (w *whom) sees(by policy.By) bool {
	if len(by) != 1 {
		return false
	}
	missed := func(user bool) bool { return w.resolve(by[0], user) != "" && !w.counts(by, user) }
	if w.user == "" {
		return w.counts(by, false)
	}
	return !missed(true) && !missed(false) && (w.counts(by, true) || w.counts(by, false))
}

// leftOut names what a log does not tell enough for: limits, and the policy's cost and abuse.
func (w *whom) leftOut() []LeftOut {
	var all []LeftOut
	add := func(name string, by policy.By) {
		if !by.Global() && !w.sees(by) {
			all = append(all, LeftOut{Name: name, By: by})
		}
	}
	limits := func(endpoint string, limits []policy.Limit) {
		for i := range limits {
			add(policy.WireName(endpoint, limits[i].Name), limits[i].By)
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

// note says which limits are left out, and why.
func (w *whom) note(left []LeftOut) string {
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
