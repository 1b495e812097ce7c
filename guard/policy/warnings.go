package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Warnings returns what the policy allows and is probably not meant, in its order: limits, budgets and blocks that count nothing but
// identities that clients choose. A stranger who sends somebody else's phone number can use up its limit, so that the owner is refused.
func (p *Policy) Warnings() []Problem {
	var found problems
	stranger := func(at, what string, by By) {
		if len(by) == 0 || by.Global() || slices.ContainsFunc(by, p.Verified) {
			return
		}
		found.add(at, "%s alone counts %s, which clients choose: a stranger can use it up for somebody else; count a verified identity with it, as in by: [%s, %s]",
			what, strings.Join(by, " and "), strings.Join(by, ", "), ByIP)
	}
	limits := func(at string, all []Limit) {
		for i := range all {
			if l := &all[i]; !l.Shadow {
				stranger(fmt.Sprintf("%slimits[%d]", at, i), "limit "+l.Name, l.By)
			}
		}
	}
	limits("", p.Limits)
	for i := range p.Endpoints {
		limits(fmt.Sprintf("endpoints[%d].", i), p.Endpoints[i].Limits)
	}
	for i := range p.Budgets {
		stranger(fmt.Sprintf("budgets[%d]", i), "budget "+p.Budgets[i].Name, p.Budgets[i].By)
	}
	for i := range p.Blocks {
		stranger(fmt.Sprintf("blocks[%d]", i), "block "+p.Blocks[i].Name, p.Blocks[i].By)
	}
	return found
}
