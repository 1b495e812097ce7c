package policy

import (
	"fmt"
	"reflect"
)

// Check returns everything that is wrong with a policy, as an [*Error] without file and lines; nil when nothing is. A zero
// value is an omitted one.
func (p *Policy) Check() error {
	never := func(string) bool { return false }
	return p.check(never, never).err()
}

// check is Check for a policy in which some zero values may be given, and some values may be bad: they could not be read.
func (p *Policy) check(given, isBad func(path string) bool) problems {
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
		at := fmt.Sprintf("endpoints[%d]", i)
		p.checkEndpoint(at, &p.Endpoints[i], &found)
		p.checkReceipt(at, &p.Endpoints[i], &found)
		p.checkBounded(at, &p.Endpoints[i], isBad, &found)
	}
	p.checkNames(&found)
	p.checkMatch(&found)
	p.checkIdentities(&found)
	p.checkBys(&found)
	p.checkPlans(isBad, &found)
	p.Overrides.check(p, &found)
	return found
}
