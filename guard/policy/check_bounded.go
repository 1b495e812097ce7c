package policy

import (
	"fmt"
	"strings"
)

const boundIt = "add a limit by: ip or by: all, or write unbounded: true"

// checkBounded finds an endpoint that some request could pass without being counted by what no client chooses. A limit that
// cannot be read gets the benefit of the doubt.
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
			reason := p.uncounted(l.By, l.Name)
			if l.Shadow {
				reason = l.Name + " is a shadow limit"
			}
			if reason == "" || isBad(fmt.Sprintf("%s[%d].by", from.at, i)) {
				return
			}
			reasons = append(reasons, reason)
		}
	}
	if e.Abuse == CountAll && p.Abuse != nil {
		reason := p.uncounted(p.Abuse.By, "abuse")
		if reason == "" || isBad("abuse.by") {
			return
		}
		reasons = append(reasons, reason)
	}
	if len(reasons) == 0 {
		found.add(at, "%s has no limit: %s", quote(e.Name), boundIt)
		return
	}
	found.add(at, "no limit of %s counts each request: %s; %s", quote(e.Name), strings.Join(reasons, ", "), boundIt)
}

// uncounted returns why a limit by these identities does not count each request by what no client chooses; "" if it does.
// An identity that is not defined, or that has no source, is a problem of its own.
func (p *Policy) uncounted(by By, limit string) string {
	if len(by) == 0 {
		by = By{ByClient}
	}
	for _, name := range by {
		always := name == ByAll
		for _, one := range p.Alternatives(name) {
			id := p.Identities[one]
			if id.Claimed {
				return fmt.Sprintf("%s of %s is claimed", one, limit)
			}
			always = always || id.source() == ""
		}
		if !always {
			return fmt.Sprintf("a request may lack %s of %s", name, limit)
		}
	}
	return ""
}
