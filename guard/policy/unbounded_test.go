package policy

import (
	"slices"
	"testing"
	"time"
)

// TestCheck_noRequestPassesUncounted checks policies with one limit against requests with each combination of identities. Check must
// accept a policy if and only if the limit counts all requests by verified identities.
func TestCheck_noRequestPassesUncounted(t *testing.T) {
	identities := map[string]Identity{
		"site":   {IPv6Prefix: 48},
		"user":   {JWT: &JWT{Claim: "sub", Keys: "jwks.json"}},
		"key":    {Header: "X-Key", Verify: &Verify{SHA256File: "keys.txt"}},
		"device": {Header: "X-Device", Claimed: true},
		"caller": {First: []string{"user", "key", "ip"}},
		"member": {First: []string{"key", "user"}},
		"guest":  {First: []string{"user", "device", "ip"}},
	}
	var requests [][]string // the identities of each
	for set := range 8 {
		has := []string{"ip", "site"}
		for i, name := range []string{"user", "key", "device"} {
			if set>>i&1 == 1 {
				has = append(has, name)
			}
		}
		requests = append(requests, has)
	}
	names := []string{"ip", "client", "site", "user", "key", "device", "caller", "member", "guest"}
	bys := []By{nil, {"all"}}
	for _, one := range names {
		bys = append(bys, By{one})
		for _, other := range names {
			if one != other {
				bys = append(bys, By{one, other})
			}
		}
	}
	for _, by := range bys {
		p := &Policy{
			Identities: identities,
			Limits:     []Limit{{Name: "minute", By: by, Limit: 1, Window: time.Minute}},
			Endpoints:  []Endpoint{{Name: "chat"}},
		}
		bounded := !slices.ContainsFunc(requests, func(has []string) bool { return !counts(p, by, has) })
		if err := p.Check(); (err == nil) != bounded {
			t.Errorf("by %v: bounded is %v, got %v", by, bounded, err)
		}
		if p.Limits[0].Shadow = true; p.Check() == nil {
			t.Errorf("by %v: a shadow limit bounds the endpoint", by)
		}
		p.Endpoints[0].Unbounded = true
		if err := p.Check(); err != nil {
			t.Errorf("by %v: %v", by, err)
		}
	}
}

// counts reports whether a limit counts a request with these identities by verified ones.
func counts(p *Policy, by By, has []string) bool {
	for _, name := range by {
		if name == ByAll {
			continue
		}
		alternatives := p.Alternatives(name)
		i := slices.IndexFunc(alternatives, func(one string) bool { return slices.Contains(has, one) })
		if i < 0 || p.Identities[alternatives[i]].Claimed {
			return false
		}
	}
	return true
}
