package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/internal/spelling"
	"github.com/rlfunc/rlfunc/internal/wire"
)

// An Override is the effect of the overrides on one subject.
type Override struct {
	Allow    bool  // no limits apply
	Deny     bool  // every request is refused
	Multiply int64 // factor of each limit and budget; 1 without an override
}

// A Lookup finds the override of a subject by hash lookups, one for each prefix length. It is safe for concurrent use.
type Lookup struct {
	allow, deny subjectSet
	multiply    map[string]int64
	prefixes    map[netip.Prefix]int64
	lengths     prefixLengths
}

// A subjectSet holds exact subjects and prefixes.
type subjectSet struct {
	subjects map[string]bool
	prefixes map[netip.Prefix]bool
	lengths  prefixLengths
}

// prefixLengths are the lengths of IPv4 and IPv6 prefixes that occur, longest first.
type prefixLengths struct{ v4, v6 []int }

// Lookup returns an index of the overrides. They must be valid.
func (o *Overrides) Lookup() *Lookup {
	l := &Lookup{allow: newSubjectSet(o.Allow), deny: newSubjectSet(o.Deny), multiply: map[string]int64{}, prefixes: map[netip.Prefix]int64{}}
	for subject, factor := range o.Multiply {
		if p, ok := subjectPrefix(subject); ok {
			l.prefixes[p] = factor
			l.lengths.add(p)
		} else {
			l.multiply[subject] = factor
		}
	}
	l.lengths.sort()
	return l
}

// Of returns the override of a subject. If one entry allows it and another denies it, the longer prefix wins, and
// deny wins a tie.
func (l *Lookup) Of(subject string) Override {
	p, isPrefix := subjectPrefix(subject)
	if !isPrefix {
		return Override{Allow: l.allow.subjects[subject], Deny: l.deny.subjects[subject], Multiply: max(l.multiply[subject], 1)}
	}
	allow, deny := l.allow.longest(p), l.deny.longest(p)
	o := Override{Allow: allow >= 0 && allow > deny, Deny: deny >= 0 && deny >= allow, Multiply: 1}
	for _, bits := range l.lengths.containing(p) {
		if factor := l.prefixes[cut(p, bits)]; factor > 0 {
			o.Multiply = factor
			break
		}
	}
	return o
}

func newSubjectSet(subjects []string) subjectSet {
	set := subjectSet{subjects: map[string]bool{}, prefixes: map[netip.Prefix]bool{}}
	for _, s := range subjects {
		if p, ok := subjectPrefix(s); ok {
			set.prefixes[p] = true
			set.lengths.add(p)
		} else {
			set.subjects[s] = true
		}
	}
	set.lengths.sort()
	return set
}

// longest returns the length of the longest prefix that contains p, or -1.
func (set *subjectSet) longest(p netip.Prefix) int {
	for _, bits := range set.lengths.containing(p) {
		if set.prefixes[cut(p, bits)] {
			return bits
		}
	}
	return -1
}

func (b *prefixLengths) add(p netip.Prefix) {
	if p.Addr().Is4() {
		b.v4 = append(b.v4, p.Bits())
	} else {
		b.v6 = append(b.v6, p.Bits())
	}
}

func (b *prefixLengths) sort() {
	for _, bits := range []*[]int{&b.v4, &b.v6} {
		slices.Sort(*bits)
		slices.Reverse(*bits)
		*bits = slices.Compact(*bits)
	}
}

// containing returns the lengths of prefixes that may contain p.
func (b *prefixLengths) containing(p netip.Prefix) []int {
	all := b.v6
	if p.Addr().Is4() {
		all = b.v4
	}
	for len(all) > 0 && all[0] > p.Bits() {
		all = all[1:]
	}
	return all
}

func cut(p netip.Prefix, bits int) netip.Prefix {
	return netip.PrefixFrom(p.Addr(), bits).Masked()
}

// subjectPrefix returns the prefix of an ip= subject; an address is a prefix of all its bits.
func subjectPrefix(subject string) (netip.Prefix, bool) {
	text, ok := strings.CutPrefix(subject, ipMark)
	if !ok {
		return netip.Prefix{}, false
	}
	p, err := parsePrefix(text)
	return p, err == nil
}

// With returns the overrides merged with others, by subject. One of others replaces that for the same subject or prefix.
func (o *Overrides) With(others map[string]Override) Overrides {
	if len(others) == 0 {
		return *o
	}
	all := make(map[string]Override, len(others))
	for subject, override := range others {
		all[CanonicalSubject(subject)] = override
	}
	replaced := func(subject string) bool {
		_, ok := all[CanonicalSubject(subject)]
		return ok
	}
	merged := o.clone()
	merged.Allow, merged.Deny = slices.DeleteFunc(merged.Allow, replaced), slices.DeleteFunc(merged.Deny, replaced)
	maps.DeleteFunc(merged.Multiply, func(subject string, _ int64) bool { return replaced(subject) })
	if merged.Multiply == nil {
		merged.Multiply = map[string]int64{}
	}
	for subject, override := range all {
		switch {
		case override.Allow:
			merged.Allow = append(merged.Allow, subject)
		case override.Deny:
			merged.Deny = append(merged.Deny, subject)
		default:
			merged.Multiply[subject] = override.Multiply
		}
	}
	return merged
}

func (o Overrides) clone() Overrides {
	return Overrides{Allow: slices.Clone(o.Allow), Deny: slices.Clone(o.Deny), Multiply: maps.Clone(o.Multiply)}
}

// check finds entries that contradict each other, that no request can have, or that raise a limit above its bounds.
func (o *Overrides) check(p *Policy, found *problems) {
	first := map[string]string{}
	each := func(list string, subjects []string) {
		for i, subject := range subjects {
			at := fmt.Sprintf("overrides.%s[%d]", list, i)
			if other, ok := first[CanonicalSubject(subject)]; ok {
				found.add(at, "%s is already in %s", quote(subject), other)
				continue
			}
			first[CanonicalSubject(subject)] = at
			p.checkSubject(at, subject, list, found)
		}
	}
	each("allow", o.Allow)
	each("deny", o.Deny)

	top := o.greatest(p)
	factors := map[string]string{}
	for _, subject := range slices.Sorted(maps.Keys(o.Multiply)) {
		at := "overrides.multiply[" + strconv.Quote(subject) + "]"
		if other, ok := factors[CanonicalSubject(subject)]; ok {
			found.add(at, "is already in %s", other)
		}
		factors[CanonicalSubject(subject)] = at
		if other, ok := first[CanonicalSubject(subject)]; ok {
			found.add(at, "has no effect: the subject is already in %s", other)
			continue
		}
		p.checkSubject(at, subject, "multiply", found)
		if factor := o.Multiply[subject]; factor > 1 && factor <= wire.MaxLimit {
			top.check(at, factor, found)
		}
	}
}

// CanonicalSubject returns the form of a subject that guard uses: ip=203.0.113.7 for ip=::ffff:203.0.113.7.
func CanonicalSubject(subject string) string {
	if p, ok := subjectPrefix(subject); ok {
		return ipMark + subjectText(p)
	}
	return subject
}

// CheckOverride checks one override outside the policy's own, such as one set at run time. It must have exactly one of
// Allow, Deny and Multiply.
func (p *Policy) CheckOverride(subject string, override Override) error {
	var one Overrides
	switch {
	case override.Allow:
		one.Allow = []string{subject}
	case override.Deny:
		one.Deny = []string{subject}
	default:
		one.Multiply = map[string]int64{subject: override.Multiply}
	}
	var found problems
	if message := checkSubject(subject); message != "" {
		return fmt.Errorf("%s, got %s", message, quote(subject))
	}
	if one.check(p, &found); len(found) > 0 {
		return errors.New(found[0].Message)
	}
	return nil
}

// checkSubject finds a subject that no request has, and a claimed one that would lift a limit.
func (p *Policy) checkSubject(at, subject, list string, found *problems) {
	if checkSubject(subject) != "" {
		return // reported by bounds
	}
	name, value, named := strings.Cut(subject, "=")
	id, defined := p.Identities[name]
	switch {
	case !named:
		found.add(at, "must be IDENTITY=VALUE, got %s", quote(subject))
	case !defined && name != ByIP && name != ByClient:
		found.add(at, "unknown identity %s%s", quote(name), spelling.DidYouMean(name, p.sourced()))
	case !p.isSourced(name):
		found.add(at, "never matches: subjects of identity %s begin with %s", name, either(p.Alternatives(name)))
	case value == "":
		found.add(at, "never matches: must have a value after =, got %s", quote(subject))
	case strings.Contains(value, "+"):
		found.add(at, "never matches: an override applies to one identity, got %s; write + in a value as %%2B", quote(subject))
	case list != "deny" && !p.Verified(name):
		found.add(at, "must be of a verified identity: any client can send %s", quote(subject))
	case p.OfAddress(name):
		id.checkSubject(at, name, value, found)
		if prefix, ok := subjectPrefix(subject); ok && prefix.Bits() == 0 && list == "allow" {
			found.add(at, "must not be all addresses: set unbounded: true on the endpoints instead")
		}
	}
}

// checkSubject finds a prefix that is longer than the subjects of an address identity. Only ip may have a shorter one.
func (id *Identity) checkSubject(at, name, value string, found *problems) {
	prefix, err := parsePrefix(value)
	if err != nil {
		found.add(at, "never matches: %v, got %s", err, quote(value))
		return
	}
	family, bits := "IPv4", cmp.Or(id.IPv4Prefix, DefaultIPv4Prefix)
	if prefix.Addr().Is6() {
		family, bits = "IPv6", cmp.Or(id.IPv6Prefix, DefaultIPv6Prefix)
	}
	if prefix.Bits() > bits || name != ByIP && prefix.Bits() < bits {
		found.add(at, "never matches: %s subjects are /%d prefixes of %s addresses", name, bits, family)
	} else if text := subjectText(prefix); name != ByIP && text != value {
		found.add(at, "never matches: must be %s=%s", name, text)
	}
}

// subjectText returns a prefix as subjects have it: one of all bits is an address.
func subjectText(prefix netip.Prefix) string {
	if prefix.IsSingleIP() {
		return prefix.Addr().String()
	}
	return prefix.String()
}

// greatest holds the largest limit and budget: a factor raises them above their bounds first.
type greatest struct {
	limit, budget     int64
	maxLimit          int64 // of its kind
	limitAt, budgetAt string
}

func (o *Overrides) greatest(p *Policy) greatest {
	var g greatest
	more := false
	for _, factor := range o.Multiply {
		more = more || factor > 1
	}
	if !more {
		return g
	}
	limit := func(at string, l *Limit) {
		n, most := max(l.Limit, l.Burst), wire.MaxOf(l.Kind)
		if !l.By.Global() && (g.limit == 0 || n*g.maxLimit > g.limit*most) {
			g.limit, g.maxLimit, g.limitAt = n, most, at
		}
	}
	budget := func(at string, b Micros) {
		if int64(b) > g.budget {
			g.budget, g.budgetAt = int64(b), at
		}
	}
	kinds := map[string]Kind{}
	p.eachLimit(func(at, endpoint string, l *Limit) {
		limit(at, l)
		kinds[wire.LimitName(endpoint, l.Name)] = l.Kind
	})
	if p.Cost != nil {
		for i, b := range p.Cost.Budgets {
			budget(fmt.Sprintf("cost.budgets[%d]", i), b.Budget)
		}
	}
	p.eachPlan(func(at string, plan *Plan) {
		for _, name := range slices.Sorted(maps.Keys(plan.Limits)) {
			limit(planLimitPath(at, name), &Limit{Kind: kinds[name], Limit: plan.Limits[name].Limit, Burst: plan.Limits[name].Burst})
		}
		for _, name := range slices.Sorted(maps.Keys(plan.Budgets)) {
			budget(planBudgetPath(at, name), plan.Budgets[name])
		}
	})
	return g
}

func (g greatest) check(at string, factor int64, found *problems) {
	if g.limit > g.maxLimit/factor && g.limit <= g.maxLimit {
		found.add(at, "raises %s to %d, above the maximum %d", g.limitAt, g.limit*factor, g.maxLimit)
	}
	if g.budget > wire.MaxBudget/factor && g.budget <= wire.MaxBudget {
		found.add(at, "raises %s above the maximum %s", g.budgetAt, Micros(wire.MaxBudget))
	}
}
