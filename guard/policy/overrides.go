package policy

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// An Override is what the overrides say of one subject.
type Override struct {
	Allow    bool  // it is never limited
	Deny     bool  // it is always refused
	Multiply int64 // how many times each limit and budget it has: 10; 1 where nothing is said
}

// maxBudget is what a budget may be.
const maxBudget = 1_000_000_000 * Micros(oneUnit)

// MultiplyLimit returns a limit several times, 1000000 at most: an override that is set at run time knows no limits.
func MultiplyLimit(limit, times int64) int64 { return multiplied(limit, times, maxLimit) }

// MultiplyBudget returns a budget several times, 1000000000 units at most.
func MultiplyBudget(budget Micros, times int64) Micros {
	return Micros(multiplied(int64(budget), times, int64(maxBudget)))
}

func multiplied(n, times, most int64) int64 {
	if n > most/times {
		return most
	}
	return n * times
}

// A Lookup finds the override of a subject, in a few steps however many there are. It is safe for concurrent use.
type Lookup struct {
	allow, deny list
	multiply    map[string]int64
	nets        map[netip.Prefix]int64
	netBits     bitLengths
}

// A list holds subjects, and prefixes by the number of their bits.
type list struct {
	subjects map[string]bool
	nets     map[netip.Prefix]bool
	bits     bitLengths
}

// bitLengths are the lengths of IPv4 and IPv6 prefixes that occur, longest first.
type bitLengths struct{ v4, v6 []int }

// Lookup prepares the overrides to be looked up. They must have been checked.
func (o *Overrides) Lookup() *Lookup {
	l := &Lookup{allow: newList(o.Allow), deny: newList(o.Deny), multiply: map[string]int64{}, nets: map[netip.Prefix]int64{}}
	for subject, factor := range o.Multiply {
		if p, ok := subjectPrefix(subject); ok {
			l.nets[p] = factor
			l.netBits.add(p)
		} else {
			l.multiply[subject] = factor
		}
	}
	l.netBits.sort()
	return l
}

// Of returns what is said of a subject. The most exact entry wins where it is allowed by one and denied by another.
func (l *Lookup) Of(subject string) Override {
	p, isNet := subjectPrefix(subject)
	if !isNet {
		return Override{Allow: l.allow.subjects[subject], Deny: l.deny.subjects[subject], Multiply: max(l.multiply[subject], 1)}
	}
	allow, deny := l.allow.longest(p), l.deny.longest(p)
	o := Override{Allow: allow >= 0 && allow > deny, Deny: deny >= 0 && deny >= allow, Multiply: 1}
	for _, bits := range l.netBits.of(p) {
		if factor := l.nets[cut(p, bits)]; factor > 0 {
			o.Multiply = factor
			break
		}
	}
	return o
}

func newList(subjects []string) list {
	l := list{subjects: map[string]bool{}, nets: map[netip.Prefix]bool{}}
	for _, s := range subjects {
		if p, ok := subjectPrefix(s); ok {
			l.nets[p] = true
			l.bits.add(p)
		} else {
			l.subjects[s] = true
		}
	}
	l.bits.sort()
	return l
}

// longest returns how many bits the longest prefix has that contains p; -1 when none does.
func (l *list) longest(p netip.Prefix) int {
	for _, bits := range l.bits.of(p) {
		if l.nets[cut(p, bits)] {
			return bits
		}
	}
	return -1
}

func (b *bitLengths) add(p netip.Prefix) {
	if p.Addr().Is4() {
		b.v4 = append(b.v4, p.Bits())
	} else {
		b.v6 = append(b.v6, p.Bits())
	}
}

func (b *bitLengths) sort() {
	for _, bits := range []*[]int{&b.v4, &b.v6} {
		slices.Sort(*bits)
		slices.Reverse(*bits)
		*bits = slices.Compact(*bits)
	}
}

// of returns the lengths that a prefix containing p may have.
func (b *bitLengths) of(p netip.Prefix) []int {
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

// subjectPrefix returns the prefix that a subject is; an address is a prefix of all its bits.
func subjectPrefix(subject string) (netip.Prefix, bool) {
	text, ok := strings.CutPrefix(subject, ipMark)
	if !ok {
		return netip.Prefix{}, false
	}
	p, err := parsePrefix(text)
	return p, err == nil
}

// With returns the overrides with others, by subject, each in place of what there is for the same subject or prefix.
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
