package policy

import (
	"slices"
	"time"
)

// What stands where a policy says nothing.
const (
	DefaultVersion           = 1
	DefaultNamespace         = "guard"
	DefaultTimeout           = 50 * time.Millisecond
	DefaultShare             = 0.25
	DefaultDedup             = 10 * time.Second
	DefaultStrikeMemory      = 30 * day
	DefaultChallengeTTL      = 5 * time.Minute
	DefaultChallengeHeader   = "X-Challenge"
	DefaultFingerprintHeader = "X-Fingerprint"
	DefaultAPIKeyHeader      = "X-API-Key"
	DefaultIPHeader          = "X-Forwarded-For"
	DefaultIPv6Prefix        = 64
)

// Complete checks a policy and returns a deep copy in which every default is filled in: a limit's kind, cost and what it
// does on failure, a gcra's burst, an endpoint's Dedup. What is off stays zero: Cost.Hold and Cost.Penalty,
// a limit's Share where it is not local. A complete policy stays as it is.
func (p *Policy) Complete() (*Policy, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	c := *p
	fill(&c.Version, DefaultVersion)
	fill(&c.Namespace, DefaultNamespace)
	fill(&c.Timeout, DefaultTimeout)
	fill(&c.OnFailure, Open)
	fill(&c.Share, DefaultShare)
	c.Identity = p.Identity.complete()
	c.Limits = c.completeLimits(p.Limits)
	c.Global = c.completeLimits(p.Global)
	if p.Cost != nil {
		c.Cost = new(*p.Cost)
		c.Cost.Budgets = slices.Clone(p.Cost.Budgets)
		fill(&c.Cost.OnFailure, c.OnFailure)
	}
	if p.Abuse != nil {
		c.Abuse = new(*p.Abuse)
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
	c.Overrides = p.Overrides.clone()
	return &c, nil
}

func (p *Policy) completeLimits(limits []Limit) []Limit {
	limits = slices.Clone(limits)
	for i := range limits {
		l := &limits[i]
		fill(&l.Kind, SlidingLog)
		fill(&l.Cost, 1)
		fill(&l.OnFailure, p.OnFailure)
		if l.OnFailure == Local {
			fill(&l.Share, p.Share)
		}
		if l.Kind == GCRA {
			fill(&l.Burst, l.Limit)
		}
	}
	return limits
}

// completeEndpoint fills in an endpoint that still shares what it points to with the policy that was written.
func (p *Policy) completeEndpoint(e *Endpoint) {
	e.Match = slices.Clone(e.Match)
	dedup := DefaultDedup
	if e.Dedup != nil {
		dedup = *e.Dedup
	}
	e.Dedup = &dedup
	e.Limits = p.completeLimits(e.Limits)
	e.Global = p.completeLimits(e.Global)
	if e.Cost != nil {
		e.Cost = new(*e.Cost)
	}
	if e.Challenge != nil {
		c := *e.Challenge
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

func (id Identity) complete() Identity {
	id.From = slices.Clone(id.From)
	if len(id.From) == 0 {
		id.From = []Source{FromIP}
	}
	id.IP.TrustedProxies = slices.Clone(id.IP.TrustedProxies)
	for _, source := range id.From { // the others are not asked
		switch source {
		case FromFingerprint:
			fill(&id.Fingerprint.Header, DefaultFingerprintHeader)
			fill(&id.Fingerprint.Verify, VerifyNone)
		case FromAPIKey:
			fill(&id.APIKey.Header, DefaultAPIKeyHeader)
		case FromIP:
			fill(&id.IP.IPv6Prefix, DefaultIPv6Prefix)
		}
	}
	if len(id.IP.TrustedProxies) > 0 {
		fill(&id.IP.Header, DefaultIPHeader)
	}
	return id
}

func fill[T comparable](value *T, absent T) {
	var zero T
	if *value == zero {
		*value = absent
	}
}
