package policy

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// The defaults of omitted values.
const (
	DefaultVersion         = 1
	DefaultNamespace       = "guard"
	DefaultTimeout         = 50 * time.Millisecond
	DefaultShare           = 0.25
	DefaultRepeats         = 1
	DefaultIdempotency     = 10 * time.Minute
	DefaultStrikeMemory    = 30 * day
	DefaultChallengeTTL    = 5 * time.Minute
	DefaultChallengeHeader = "X-Challenge"
	DefaultForwardedHeader = "X-Forwarded-For"
	DefaultIPv4Prefix      = 32
	DefaultIPv6Prefix      = 64
	DefaultLeeway          = 30 * time.Second
	DefaultPrefetchFor     = 100 * time.Millisecond
	DefaultLease           = 30 * time.Second
)

// Complete checks a policy and returns a deep copy with every default filled in. Values that mean "off" stay zero:
// Cost.Hold, Cost.Penalty, and the Share of a limit that is not local. A complete policy does not change.
func (p *Policy) Complete() (*Policy, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	c := *p
	fill(&c.Version, DefaultVersion)
	fill(&c.Namespace, DefaultNamespace)
	fill(&c.Timeout, DefaultTimeout)
	fill(&c.OnFailure, Local)
	fill(&c.Share, DefaultShare)
	fill(&c.Paths.Case, CaseExact)
	fill(&c.Unmatched, UnmatchedPass)
	c.Identities = p.completeIdentities()
	c.Limits = c.completeLimits(p.Limits)
	if p.Cost != nil {
		c.Cost = new(*p.Cost)
		c.Cost.By, c.Cost.Budgets = completeBy(p.Cost.By), slices.Clone(p.Cost.Budgets)
		fill(&c.Cost.OnFailure, c.OnFailure)
	}
	if p.Abuse != nil {
		c.Abuse = new(*p.Abuse)
		c.Abuse.By = completeBy(p.Abuse.By)
		c.Abuse.Tiers, c.Abuse.Escalation = slices.Clone(p.Abuse.Tiers), slices.Clone(p.Abuse.Escalation)
		if len(c.Abuse.Escalation) > 0 {
			fill(&c.Abuse.StrikeMemory, DefaultStrikeMemory)
		}
		fill(&c.Abuse.OnFailure, c.OnFailure)
	}
	c.Endpoints = slices.Clone(p.Endpoints)
	for i := range c.Endpoints {
		c.completeEndpoint(&c.Endpoints[i])
	}
	c.Descriptors = slices.Clone(p.Descriptors)
	for i := range c.Descriptors {
		c.Descriptors[i].Entries = slices.Clone(c.Descriptors[i].Entries)
	}
	c.Plans = p.completePlans()
	c.Overrides = p.Overrides.clone()
	return &c, nil
}

func (p *Policy) completeLimits(limits []Limit) []Limit {
	limits = slices.Clone(limits)
	for i := range limits {
		l := &limits[i]
		l.By = completeBy(l.By)
		if l.Count != nil {
			l.Count = &Responses{Status: slices.Clone(l.Count.Status), Code: slices.Clone(l.Count.Code)}
		}
		if l.Prefetch != nil {
			l.Prefetch = new(*l.Prefetch)
			fill(&l.Prefetch.For, DefaultPrefetchFor)
		}
		fill(&l.Kind, SlidingLog)
		fill(&l.Cost, 1)
		fill(&l.OnFailure, p.OnFailure)
		if l.OnFailure == Local {
			fill(&l.Share, p.Share)
		}
		switch l.Kind {
		case GCRA:
			fill(&l.Burst, l.Limit)
		case Concurrency:
			fill(&l.Lease, DefaultLease)
		}
	}
	return limits
}

// completeEndpoint fills in a shallow copy of an endpoint, and replaces all that it shares with the original.
func (p *Policy) completeEndpoint(e *Endpoint) {
	e.Match = slices.Clone(e.Match)
	if e.Idempotency != nil {
		e.Idempotency = new(*e.Idempotency)
		fill(&e.Idempotency.For, DefaultIdempotency)
		repeats := int64(DefaultRepeats)
		if e.Idempotency.Repeats != nil {
			repeats = *e.Idempotency.Repeats
		}
		e.Idempotency.Repeats = &repeats
	}
	e.Limits = p.completeLimits(e.Limits)
	if e.Cost != nil {
		e.Cost = new(*e.Cost)
	}
	if e.Challenge != nil {
		c := *e.Challenge
		c.By = completeBy(c.By)
		fill(&c.TTL, DefaultChallengeTTL)
		fill(&c.Header, DefaultChallengeHeader)
		fill(&c.Payload, PayloadNone)
		if p.OnFailure == Local {
			fill(&c.OnFailure, Closed)
		}
		fill(&c.OnFailure, p.OnFailure)
		e.Challenge = &c
	}
}

// completeIdentities adds ip and client, and copies the settings of the token with keys to the other tokens.
func (p *Policy) completeIdentities() map[string]Identity {
	all := maps.Clone(p.Identities)
	if all == nil {
		all = map[string]Identity{}
	}
	if _, defined := all[ByIP]; !defined {
		all[ByIP] = Identity{}
	}
	if _, defined := all[ByClient]; !defined {
		all[ByClient] = Identity{First: []string{ByIP}}
	}
	var token JWT
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if t := all[name].JWT; t != nil && t.Keys != "" && token.Keys == "" {
			token = *t
		}
	}
	for name, id := range all {
		if p.OfAddress(name) {
			fill(&id.IPv4Prefix, DefaultIPv4Prefix)
			fill(&id.IPv6Prefix, DefaultIPv6Prefix)
			if len(id.TrustedProxies) > 0 {
				fill(&id.ForwardedHeader, DefaultForwardedHeader)
			}
		}
		id.TrustedProxies, id.First = slices.Clone(id.TrustedProxies), slices.Clone(id.First)
		if id.Verify != nil {
			id.Verify = new(*id.Verify)
		}
		if id.JWT != nil {
			t := *id.JWT
			if t.Keys == "" {
				fill(&t.Issuer, token.Issuer)
				fill(&t.Audience, token.Audience)
				fill(&t.Leeway, token.Leeway)
				if t.Header == "" && t.Cookie == "" {
					t.Header, t.Cookie = token.Header, token.Cookie
				}
			}
			fill(&t.Keys, token.Keys)
			fill(&t.Leeway, DefaultLeeway)
			id.JWT = &t
		}
		all[name] = id
	}
	return all
}

// completeBy copies a By; an empty one becomes client.
func completeBy(by By) By {
	if len(by) == 0 {
		return By{ByClient}
	}
	return slices.Clone(by)
}

func fill[T comparable](value *T, byDefault T) { *value = cmp.Or(*value, byDefault) }
