package policy

import (
	"fmt"
	"reflect"
)

// Check tells everything that is wrong with a policy, as an [*Error] without file and lines; nil when nothing is. A zero
// value is an absent one.
func (p *Policy) Check() error {
	return p.check(func(string) bool { return false }).err()
}

// check is Check for a policy of which some zero values may be given.
func (p *Policy) check(given func(path string) bool) problems {
	var found problems
	b := bounds{found: &found, given: given}
	b.section("", reflect.ValueOf(p).Elem())
	if b.tooMany {
		return found // comparing entries takes time that grows with the square of their number
	}

	p.checkLimits(&found)
	if p.Cost != nil {
		p.Cost.check("cost", &found)
	}
	if p.Abuse != nil {
		p.Abuse.check("abuse", &found)
	}
	for i := range p.Endpoints {
		p.checkEndpoint(fmt.Sprintf("endpoints[%d]", i), &p.Endpoints[i], &found)
	}
	p.checkNames(&found)
	p.checkMatch(&found)
	p.Identity.check(&found)
	p.Overrides.check(p, &found)
	return found
}
