package policy

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/internal/spelling"
)

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
	if p.Cost != nil {
		p.checkBy("cost", p.Cost.By, false, values, found)
	}
	if p.Abuse != nil {
		p.checkBy("abuse", p.Abuse.By, false, values, found)
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
		case checkIdentity(name) != "": // reported by bounds
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
			found.add(at, "unknown identity %s%s", quote(name), spelling.DidYouMean(name, names))
		case slices.Contains(by[:i], name):
			found.add(at, "duplicate identity %s", name)
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
