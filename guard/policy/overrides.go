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

	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// Overrides are exceptions for single subjects, such as "key=ab12", or "ip=" and a prefix. An exact subject wins over a
// prefix, and a longer prefix over a shorter one.
type Overrides struct {
	// Allow lists at most 100000 subjects of verified identities without limits. Defaults to none.
	Allow []string `yaml:"allow" policy:"items=0..100000,is=subject"`
	// Deny lists at most 100000 subjects that guard always refuses, without a Redis call; of claimed identities, too. Defaults to none.
	Deny []string `yaml:"deny" policy:"items=0..100000,is=subject"`
	// Multiply holds factors of all limits and budgets, 1 to 1000000, by at most 100000 subjects of verified identities. None raises a limit above
	// the largest that a policy can have. Defaults to none.
	Multiply map[string]int64 `yaml:"multiply" policy:"items=0..100000,is=subject,1..1000000"`
}

// An Override is the effect of the overrides on one subject.
type Override struct {
	Allow    bool  // no limits apply
	Deny     bool  // every request is refused
	Multiply int64 // factor of each limit and budget; 1 without an override
}

// A TopUp is an amount that an operator adds to one budget of one subject at run time. A factor multiplies the budget before it.
type TopUp struct {
	Subject string // as the budget counts it: org=acme, org=acme+team=ml, or all for a budget by all
	Budget  string // its name
	Unit    string // its unit; "" for money
	Amount  Micros // more than 0; in a unit, whole ones
}

// String returns the effect of a top-up: add 500 to org_month, add 20000 tokens to key_day.
func (t TopUp) String() string {
	if t.Unit != "" {
		return fmt.Sprintf("add %s %s to %s", t.AmountText(), t.Unit, t.Budget)
	}
	return fmt.Sprintf("add %s to %s", t.AmountText(), t.Budget)
}

// AmountText returns the amount as operators write it: 0.25 of money, 20000 of another unit.
func (t TopUp) AmountText() string {
	if t.Unit != "" {
		return strconv.FormatInt(int64(t.Amount), 10)
	}
	return t.Amount.String()
}

// A Lookup finds the override of a subject by hash lookups, one for each prefix length. It is safe for concurrent use.
type Lookup struct {
	subjects map[string]Override
	prefixes map[netip.Prefix]Override
	v4, v6   []int // lengths of the prefixes, longest first
}

// Lookup returns an index of the overrides. They must be valid.
func (o *Overrides) Lookup() *Lookup {
	l := &Lookup{subjects: map[string]Override{}, prefixes: map[netip.Prefix]Override{}}
	for _, subject := range o.Allow {
		l.add(subject, Override{Allow: true})
	}
	for _, subject := range o.Deny {
		l.add(subject, Override{Deny: true})
	}
	for subject, factor := range o.Multiply {
		l.add(subject, Override{Multiply: factor})
	}
	lengths := map[bool]map[int]bool{true: {}, false: {}}
	for p := range l.prefixes {
		lengths[p.Addr().Is4()][p.Bits()] = true
	}
	longestFirst := func(a, b int) int { return b - a }
	l.v4 = slices.SortedFunc(maps.Keys(lengths[true]), longestFirst)
	l.v6 = slices.SortedFunc(maps.Keys(lengths[false]), longestFirst)
	return l
}

func (l *Lookup) add(subject string, o Override) {
	if p, ok := subjectPrefix(subject); ok {
		l.prefixes[p] = l.prefixes[p].or(o)
	} else {
		l.subjects[subject] = l.subjects[subject].or(o)
	}
}

// or adds what another entry of the same or of a shorter prefix says and o does not. Of the same prefix, deny wins.
func (o Override) or(other Override) Override {
	return Override{Allow: o.Allow || other.Allow, Deny: o.Deny || other.Deny, Multiply: cmp.Or(o.Multiply, other.Multiply)}
}

// Of returns the override of a subject. If one entry allows it and another denies it, the longer prefix wins, and
// deny wins a tie.
func (l *Lookup) Of(subject string) Override {
	var o Override
	p, isPrefix := subjectPrefix(subject)
	if !isPrefix {
		o = l.subjects[subject]
	}
	lengths := l.v6
	if p.Addr().Is4() {
		lengths = l.v4
	}
	for _, bits := range lengths {
		if bits > p.Bits() {
			continue // so does each length if the subject is no prefix, which has -1 bits
		}
		shorter := l.prefixes[netip.PrefixFrom(p.Addr(), bits).Masked()]
		if o.Allow || o.Deny {
			shorter.Allow, shorter.Deny = false, false
		}
		o = o.or(shorter)
	}
	o.Allow, o.Multiply = o.Allow && !o.Deny, max(o.Multiply, 1)
	return o
}

// subjectPrefix returns the prefix of an ip= subject; an address is a prefix of all its bits.
func subjectPrefix(subject string) (netip.Prefix, bool) {
	text, ok := strings.CutPrefix(subject, ipMark)
	if !ok {
		return netip.Prefix{}, false
	}
	p, err := identity.ParsePrefix(text)
	return p, err == nil
}

// OverridesWith returns the policy's overrides merged with others, by subject. One of others replaces that for the same subject or prefix.
func (p *Policy) OverridesWith(others map[string]Override) Overrides {
	if len(others) == 0 {
		return p.Overrides
	}
	all := make(map[string]Override, len(others))
	for _, subject := range slices.Sorted(maps.Keys(others)) { // of several spellings, deny wins, and then the first one
		one := p.CanonicalSubject(subject)
		all[one] = all[one].or(others[subject])
	}
	replaced := func(subject string) bool {
		_, ok := all[p.CanonicalSubject(subject)]
		return ok
	}
	merged := p.Overrides.clone()
	merged.Allow, merged.Deny = slices.DeleteFunc(merged.Allow, replaced), slices.DeleteFunc(merged.Deny, replaced)
	maps.DeleteFunc(merged.Multiply, func(subject string, _ int64) bool { return replaced(subject) })
	if merged.Multiply == nil {
		merged.Multiply = map[string]int64{}
	}
	for subject, override := range all {
		switch {
		case override.Deny:
			merged.Deny = append(merged.Deny, subject)
		case override.Allow:
			merged.Allow = append(merged.Allow, subject)
		default:
			merged.Multiply[subject] = override.Multiply
		}
	}
	return merged
}

func (o Overrides) clone() Overrides {
	return Overrides{Allow: slices.Clone(o.Allow), Deny: slices.Clone(o.Deny), Multiply: maps.Clone(o.Multiply)}
}

// check finds entries that contradict each other, or that no request can have.
func (o *Overrides) check(p *Policy, found *problems) {
	first := map[string]string{}
	each := func(list string, subjects []string) {
		for i, subject := range subjects {
			at := fmt.Sprintf("overrides.%s[%d]", list, i)
			if other, ok := first[p.CanonicalSubject(subject)]; ok {
				found.add(at, "%s is already in %s", quote(subject), other)
				continue
			}
			first[p.CanonicalSubject(subject)] = at
			p.checkSubject(at, subject, list, found)
		}
	}
	each("allow", o.Allow)
	each("deny", o.Deny)

	factors := map[string]string{}
	for _, subject := range slices.Sorted(maps.Keys(o.Multiply)) {
		at := "overrides.multiply[" + strconv.Quote(subject) + "]"
		if other, ok := factors[p.CanonicalSubject(subject)]; ok {
			found.add(at, "is already in %s", other)
		}
		factors[p.CanonicalSubject(subject)] = at
		if other, ok := first[p.CanonicalSubject(subject)]; ok {
			found.add(at, "has no effect: the subject is already in %s", other)
			continue
		}
		p.checkSubject(at, subject, "multiply", found)
	}
}

// CanonicalSubject returns the form that a subject or prefix of an override has in requests: ip=203.0.113.7 for ip=::ffff:203.0.113.7,
// user=ada for user=Ada if the identity folds case. Of a combination it returns that of each identity.
func (p *Policy) CanonicalSubject(subject string) string {
	if parts := strings.Split(subject, "+"); len(parts) > 1 { // a + in a value is %2B
		for i, part := range parts {
			parts[i] = p.CanonicalSubject(part)
		}
		return strings.Join(parts, "+")
	}
	if prefix, ok := subjectPrefix(subject); ok {
		return ipMark + subjectText(prefix)
	}
	name, value, _ := strings.Cut(subject, "=")
	if id := p.Identities[name]; id.Fold != identity.FoldNone && value != "" {
		return name + "=" + id.Fold.Canonical(value)
	}
	return subject
}

// canonicalOverrides gives the subjects of the overrides the form that they have in requests.
func (p *Policy) canonicalOverrides() {
	for _, list := range [][]string{p.Overrides.Allow, p.Overrides.Deny} {
		for i, subject := range list {
			list[i] = p.CanonicalSubject(subject)
		}
	}
	for subject, factor := range p.Overrides.Multiply {
		delete(p.Overrides.Multiply, subject)
		p.Overrides.Multiply[p.CanonicalSubject(subject)] = factor
	}
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

// CheckTopUp checks a top-up by a complete policy: it must have the budget, and the budget count the subject, whose identities must be verified.
func (p *Policy) CheckTopUp(t TopUp) error {
	b, err := p.BudgetOf(t.Subject, t.Budget)
	if err != nil {
		return err
	}
	if t.Unit != b.Unit {
		return fmt.Errorf("budget %s is of %s, and not of %s", b.Name, cmp.Or(b.Unit, "money"), cmp.Or(t.Unit, "money"))
	}
	largest, whole := b.Budget, Micros(1)
	if _, outbound := p.UpstreamOf(t.Subject); !outbound {
		if p.Plans != nil {
			for _, plan := range p.Plans.Named {
				largest = max(largest, plan.Budgets[b.Name])
			}
		}
	}
	if b.Unit != "" {
		whole = oneUnit
	}
	if most := Micros(b.most()); t.Amount > (most-largest)/whole {
		return fmt.Errorf("raises budget %s, which is %s, above the maximum %s", b.Name, largest, most)
	}
	return nil
}

// BudgetOf returns the budget of a complete policy with a name. It must count the subject, whose identities must be verified.
func (p *Policy) BudgetOf(subject, name string) (*Budget, error) {
	var names []string
	of := p.ForSubject(subject)
	if len(of.Budgets) == 0 {
		return nil, fmt.Errorf("no budget of the policy counts %s", subject)
	}
	for i := range of.Budgets {
		b := &of.Budgets[i]
		if names = append(names, b.Name); b.Name != name {
			continue
		}
		switch {
		case b.By.Global() && subject != ByAll:
			return nil, fmt.Errorf("budget %s is of all requests: give the subject all, got %s", name, subject)
		case !b.By.Global() && !of.Counts(b.By, subject):
			return nil, fmt.Errorf("budget %s is by %s: give a subject such as %s, got %s", name, strings.Join(b.By, "+"), of.exampleOf(b.By), subject)
		}
		for part := range strings.SplitSeq(subject, "+") {
			if identity, _, _ := strings.Cut(part, "="); !p.Verified(identity) {
				return nil, fmt.Errorf("must be of verified identities: any client can send %s", quote(part))
			}
		}
		return b, nil
	}
	return nil, fmt.Errorf("unknown budget %s%s (budgets: %s)", quote(name), spelling.DidYouMean(name, names), strings.Join(names, ", "))
}

// exampleOf returns the form of the subjects of an identity or a combination: org=VALUE+team=VALUE.
func (p *Policy) exampleOf(by By) string {
	parts := make([]string, len(by))
	for i, name := range by {
		parts[i] = p.Alternatives(name)[0] + "=VALUE"
	}
	return strings.Join(parts, "+")
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
	case !defined && name != ByIP && name != ByClient && !p.isAccount(name):
		found.add(at, "%s", unknownIdentity(name, p.sourced()))
	case !p.isSourced(name):
		found.add(at, "never matches: subjects of identity %s begin with %s", name, either(p.Alternatives(name)))
	case value == "":
		found.add(at, "never matches: must have a value after =, got %s", quote(subject))
	case strings.Contains(value, "+"):
		found.add(at, "never matches: an override applies to one identity, got %s; write + in a value as %%2B", quote(subject))
	case list != "deny" && !p.Verified(name):
		found.add(at, "must be of a verified identity: any client can send %s", quote(subject))
	case p.OfAddress(name):
		checkAddress(at, name, value, &id, found)
		if prefix, ok := subjectPrefix(subject); ok && prefix.Bits() == 0 && list == "allow" {
			found.add(at, "must not be all addresses: set unbounded: true on the endpoints instead")
		}
	}
}

// checkAddress finds a prefix that is longer than the subjects of an address identity. Only ip may have a shorter one.
func checkAddress(at, name, value string, id *Identity, found *problems) {
	prefix, err := identity.ParsePrefix(value)
	if err != nil {
		found.add(at, "never matches: %v, got %s", err, quote(value))
		return
	}
	family, bits := "IPv4", id.Bits(prefix.Addr())
	if prefix.Addr().Is6() {
		family = "IPv6"
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
