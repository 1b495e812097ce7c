package policy

import (
	"fmt"
	"strings"
)

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
	found.add(at, "no limit of %s counts every request: %s; %s", quote(e.Name), strings.Join(reasons, ", "), boundIt)
}

// uncounted returns why a limit by these identities skips some requests or counts them by a claimed identity; "" if it does not. An
// identity that is not defined or has no source is another check's problem.
func (p *Policy) uncounted(by By, limit string) string {
	if len(by) == 0 {
		by = By{ByClient}
	}
	for _, name := range by {
		always := name == ByAll
		for _, one := range p.Alternatives(name) {
			id := p.Identities[one]
			if id.Claimed {
				return fmt.Sprintf("%s uses the claimed identity %s", limit, one)
			}
			always = always || id.source() == ""
		}
		if !always {
			return fmt.Sprintf("%s skips requests without %s", limit, name)
		}
	}
	return ""
}
