package policy

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/internal/agreed"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// Check returns all problems of a policy as an [*Error] without file and lines, or nil. A zero value counts as omitted.
func (p *Policy) Check() error {
	never := func(string) bool { return false }
	return p.withRates().check(never, never).err()
}

// check also serves files: given reports whether a path is set, even to zero, and isBad whether its value could not be read.
func (p *Policy) check(given, isBad func(path string) bool) problems {
	var found problems
	b := bounds{found: &found, given: given}
	b.section("", reflect.ValueOf(p).Elem(), "")
	if b.tooMany {
		return found // comparing entries takes time that grows with the square of their number
	}

	p.checkLimits(&found)
	checkBudgets("budgets", p.Budgets, &found)
	for i := range p.Blocks {
		p.Blocks[i].check(fmt.Sprintf("blocks[%d]", i), &found)
	}
	for i := range p.Endpoints {
		at := fmt.Sprintf("endpoints[%d]", i)
		p.checkEndpoint(at, &p.Endpoints[i], &found)
		p.checkReceipt(at, &p.Endpoints[i], &found)
		p.checkBounded(at, &p.Endpoints[i], isBad, &found)
	}
	p.checkUpstreams(isBad, &found)
	p.checkNames(&found)
	p.checkMatch(&found)
	p.checkIdentities(&found)
	p.checkBys(&found)
	p.checkDescriptors(isBad, &found)
	p.checkPlans(isBad, &found)
	p.Overrides.check(p, &found)
	return found
}

// checkEndpoint finds settings of an endpoint that need a section the policy does not have, or that never apply.
func (p *Policy) checkEndpoint(at string, e *Endpoint, found *problems) {
	if e.Block != "" && p.BlockOf(e) == nil {
		names := make([]string, len(p.Blocks))
		for i := range p.Blocks {
			names[i] = p.Blocks[i].Name
		}
		found.add(at+".block", "unknown block %s%s", quote(e.Block), cmp.Or(spelling.DidYouMean(e.Block, names), " (blocks: "+cmp.Or(strings.Join(names, ", "), "none")+")"))
	}
	p.checkIdempotency(at+".idempotency", e, found)
	if e.Cost != nil && len(p.Budgets) == 0 {
		found.add(at+".cost", "requires budgets: the policy has none")
	} else if e.Cost != nil {
		checkEstimates("budgets", p.Budgets, at+".cost", e.Cost, found)
	}
}

// BlockOf returns the block that an endpoint names, or nil.
func (p *Policy) BlockOf(e *Endpoint) *Block {
	i := slices.IndexFunc(p.Blocks, func(b Block) bool { return e.Block != "" && b.Name == e.Block })
	if i < 0 {
		return nil
	}
	return &p.Blocks[i]
}

func (b *Block) check(at string, found *problems) {
	for i, t := range b.Tiers {
		if b.Attempts == CountAll && t.Threshold == 1 {
			found.add(fmt.Sprintf("%s.tiers[%d].threshold", at, i), "must be at least 2 where all requests are attempts, or every request would be refused")
		}
		for j, other := range b.Tiers {
			if i != j && other.covers(t) && (j < i || !t.covers(other)) {
				found.add(fmt.Sprintf("%s.tiers[%d]", at, i), "has no effect: tiers[%d] starts no later and blocks at least as long", j)
				break
			}
		}
	}
	b.checkEscalation(at, found)
}

// covers reports whether t blocks whenever other does, at least as long.
func (t Tier) covers(other Tier) bool {
	return t.Threshold <= other.Threshold && t.Window >= other.Window && t.Block >= other.Block
}

func (b *Block) checkEscalation(at string, found *problems) {
	memory := cmp.Or(b.StrikeMemory, defaultStrikeMemory)
	for i, block := range b.Escalation {
		if i < len(b.Escalation)-1 && block >= memory && memory > 0 {
			found.add(fmt.Sprintf("%s.escalation[%d]", at, i), "must be shorter than the strike memory %s, got %s: the next step would never be reached",
				FormatDuration(memory), FormatDuration(block))
		}
	}
	if b.StrikeMemory != 0 && len(b.Escalation) == 0 {
		found.add(at+".strike_memory", "has no effect without escalation")
	}
}

// checkIdempotency finds an ID without a source, and a fingerprint that a client could repeat for free. Only a required
// challenge prevents that, because one request consumes it.
func (p *Policy) checkIdempotency(at string, e *Endpoint, found *problems) {
	i := e.Idempotency
	switch {
	case i == nil:
	case i.Header == "" && !i.Fingerprint && len(e.Match) > 0:
		found.add(at+".header", "is required of an endpoint with match, unless fingerprint is true")
	case i.Header != "" && i.Fingerprint:
		found.add(at+".header", "cannot be combined with fingerprint: true: an ID has one source")
	case i.Fingerprint && (e.Challenge == nil || !e.Challenge.Required):
		found.add(at+".fingerprint", "requires challenge: {required: true} on the endpoint")
	case i.Fingerprint && !p.hasVerifiedFingerprint():
		found.add(at+".fingerprint", "requires an identity with a verified fingerprint")
	}
}

func (p *Policy) hasVerifiedFingerprint() bool {
	for _, id := range p.Identities {
		if id.Fingerprint != "" && id.Verify != nil {
			return true
		}
	}
	return false
}

// maxWireName is the most bytes of ENDPOINT/LIMIT, as in library guard.
const maxWireName = 64

// checkNames finds names that would mean two things in Redis, in a header or in a metric.
func (p *Policy) checkNames(found *problems) {
	first := map[string]string{} // path of each name's first use, by scope and name
	add := func(scope, at, name string) bool {
		key := scope + " " + name
		other, used := first[key]
		if name == "" || used {
			if used {
				found.add(at, "%s is already the name of %s", quote(name), other)
			}
			return false
		}
		first[key] = at
		return true
	}
	p.eachLimit(func(at, endpoint string, l *Limit) {
		scope := at[:strings.LastIndexByte(at, '[')] // limits or endpoints[0].limits
		full := agreed.LimitName(endpoint, l.Name)
		if at += ".name"; add(scope, at, l.Name) && is("name", l.Name) && (endpoint == "" || is("name", endpoint)) && len(full) > maxWireName {
			found.add(at, "must have at most %d bytes together with the endpoint's name, got %d: %s", maxWireName, len(full), quote(full))
		}
	})
	for i, b := range p.Budgets {
		add("limits", fmt.Sprintf("budgets[%d].name", i), b.Name) // shares the policy's limits' scope
	}
	for i := range p.Blocks {
		add("blocks", fmt.Sprintf("blocks[%d].name", i), p.Blocks[i].Name)
	}
	for i := range p.Endpoints {
		add("endpoints", fmt.Sprintf("endpoints[%d].name", i), p.Endpoints[i].Name)
	}
	for i := range p.Upstreams {
		add("endpoints", upstreamPath(i)+".name", p.Upstreams[i].Name)
		for j, b := range p.Upstreams[i].Budgets {
			add(upstreamPath(i)+".limits", fmt.Sprintf("%s.budgets[%d].name", upstreamPath(i), j), b.Name) // shares the limits' scope
		}
	}
}
