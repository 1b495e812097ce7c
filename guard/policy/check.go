package policy

import "reflect"

// Check tells everything that is wrong with a policy, as an [*Error] without file and lines; nil when nothing is. A zero
// value is an absent one.
func (p *Policy) Check() error {
	return p.check(func(string) bool { return false }).err()
}

func (p *Policy) check(given func(path string) bool) problems {
	var found problems
	b := bounds{found: &found, given: given}
	b.section("", reflect.ValueOf(p).Elem())
	return found
}
