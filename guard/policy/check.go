package policy

import (
	"fmt"
	"reflect"
)

// Check returns all problems of a policy as an [*Error] without file and lines, or nil. A zero value counts as omitted.
func (p *Policy) Check() error {
	never := func(string) bool { return false }
	return p.check(never, never).err()
}

// check also serves files: given reports whether a path is set, even to zero, and isBad whether its value could not be read.
func (p *Policy) check(given, isBad func(path string) bool) problems {
	var found problems
	b := bounds{found: &found, given: given, kinds: map[string]Kind{}}
	for name, l := range p.limitsByName() {
		b.kinds[name] = l.limit.Kind
	}
	b.section("", reflect.ValueOf(p).Elem(), "")
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
	p.checkDescriptors(isBad, &found)
	p.checkPlans(isBad, &found)
	p.Overrides.check(p, &found)
	return found
}
