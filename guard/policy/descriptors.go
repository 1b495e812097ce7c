package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/internal/spelling"
)

// A Descriptor maps rate limit descriptors of Envoy to an endpoint and to identities; see package envoyguard.
type Descriptor struct {
	// Domain is the domain of the requests. Required.
	Domain string `yaml:"domain" policy:"required,is=parameter"`
	// Entries are 1 to 16 entries that a descriptor must have, in this order and no others. Required.
	Entries []DescriptorEntry `yaml:"entries" policy:"required,items=1..16"`
	// Endpoint is the name of the endpoint whose limits apply. Required.
	Endpoint string `yaml:"endpoint" policy:"required,is=name"`
	// Unit is a unit of the budgets that the endpoint charges, such as tokens, and makes hits_addend an amount of it: 0 checks that the
	// endpoint's estimate, at least 1, fits, and any other is recorded in full. Defaults to none: hits_addend multiplies the weight of limits.
	Unit string `yaml:"unit" policy:"is=name"`
}

// A DescriptorEntry matches one entry of a descriptor. It has a value or an identity.
type DescriptorEntry struct {
	// Key is the entry's key, such as generic_key or remote_address. Required.
	Key string `yaml:"key" policy:"required,is=parameter"`
	// Value is the only value that matches, 1 to 1024 bytes. It has priority over an identity. Defaults to none.
	Value string `yaml:"value" policy:"is=path"`
	// Identity is the identity that the entry's value has; an address or a header. Any value matches. Defaults to none.
	Identity string `yaml:"identity" policy:"is=identity"`
}

// checkDescriptors finds descriptors that never match, and those that pass uncounted.
func (p *Policy) checkDescriptors(isBad func(path string) bool, found *problems) {
	first := map[string]int{}
	for i := range p.Descriptors {
		d, at := &p.Descriptors[i], fmt.Sprintf("descriptors[%d]", i)
		problems := len(*found)
		p.checkEntries(at, d, found)
		e, defined := p.Endpoint(d.Endpoint)
		if !defined && d.Endpoint != "" {
			names := make([]string, len(p.Endpoints))
			for i := range p.Endpoints {
				names[i] = p.Endpoints[i].Name
			}
			found.add(at+".endpoint", "unknown endpoint %s%s", quote(d.Endpoint), spelling.DidYouMean(d.Endpoint, names))
		}
		if l := p.concurrencyOf(e); l != nil {
			found.add(at+".endpoint", "must not have a limit of kind concurrency, such as %s: Envoy does not report when a request ends", quote(l.Name))
		}
		if defined && d.Unit != "" && !isBad("budgets") && !isBad("endpoints") {
			p.checkUnit(at, d, e, found)
		}
		shape := d.shape()
		if j, ok := first[shape]; ok {
			found.add(at, "never matches: descriptors[%d] matches the same", j)
			continue
		}
		first[shape] = i
		if defined && len(*found) == problems && !isBad(at) && !isBad("limits") && !isBad("endpoints") {
			p.checkCounted(at, d, e, found)
		}
	}
}

func (p *Policy) checkEntries(at string, d *Descriptor, found *problems) {
	var seen []string
	for i, entry := range d.Entries {
		at := fmt.Sprintf("%s.entries[%d]", at, i)
		name := entry.Identity
		id, defined := p.Identities[name]
		switch {
		case (entry.Value == "") == (name == ""):
			found.add(at, "must have either value or identity")
		case name == "" || !is("identity", name): // the latter is reported by bounds
		case !defined && name != ByIP:
			found.add(at+".identity", "%s", unknownIdentity(name, p.sourced()))
		case !p.OfAddress(name) && id.Header == "":
			found.add(at+".identity", "must be an address or a header, got %s", quote(name))
		case slices.Contains(seen, name):
			found.add(at+".identity", "duplicate identity %s", name)
		}
		seen = append(seen, name)
	}
}

// shape is the same for descriptors that match the same.
func (d *Descriptor) shape() string {
	var b strings.Builder
	b.WriteString(d.Domain)
	for _, e := range d.Entries {
		b.WriteString(" " + e.Key + "=" + strconv.Quote(e.Value))
	}
	return b.String()
}

// has reports whether an entry gives an identity.
func (d *Descriptor) has(identity string) bool {
	return slices.ContainsFunc(d.Entries, func(e DescriptorEntry) bool { return e.Identity == identity })
}

// checkUnit finds a descriptor whose amounts no budget takes.
func (p *Policy) checkUnit(at string, d *Descriptor, e *Endpoint, found *problems) {
	if e.Cost == nil || len(p.Budgets) == 0 {
		found.add(at+".unit", "requires cost: {} of endpoint %s, which charges no budgets", quote(e.Name))
		return
	}
	if units := unitsOf(p.Budgets); !slices.Contains(units, d.Unit) {
		found.add(at+".unit", "no budget has the unit %s%s", quote(d.Unit), spelling.DidYouMean(d.Unit, units))
		return
	}
	lacks := func(identity string) bool {
		return identity != ByAll && !slices.ContainsFunc(p.Alternatives(identity), d.has)
	}
	takes := func(b Budget) bool {
		return b.Unit == d.Unit && !slices.ContainsFunc(b.By, lacks) && (len(b.By) > 0 || !lacks(ByClient))
	}
	if !slices.ContainsFunc(p.Budgets, takes) {
		found.add(at+".unit", "no budget of %s counts it: add an entry with the identity that a budget is by", d.Unit)
	}
}

// checkCounted finds a descriptor whose identities no limit counts. checkBounded cannot find it: an endpoint's requests have an address,
// but a descriptor has its entries only.
func (p *Policy) checkCounted(at string, d *Descriptor, e *Endpoint, found *problems) {
	if e.Unbounded || len(d.Entries) == 0 {
		return
	}
	counts := func(l Limit) bool { return !l.Shadow && p.uncounted(l.By, l.Name, d.has) == "" }
	if slices.ContainsFunc(e.Limits, counts) || slices.ContainsFunc(p.Limits, counts) {
		return
	}
	if b := p.BlockOf(e); b != nil && b.Attempts == CountAll && p.uncounted(b.By, b.Name, d.has) == "" {
		return
	}
	found.add(at, "no limit of %s counts it: add an entry with the verified identity that a limit is by, a limit with by: all, or unbounded: true to the endpoint", quote(e.Name))
}
