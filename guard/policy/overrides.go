package policy

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
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
