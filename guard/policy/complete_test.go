package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestComplete_fillsInDefaults(t *testing.T) {
	p := &Policy{
		OnFailure: Local, Share: 0.5,
		Identities: map[string]Identity{
			"user": {JWT: &JWT{Claim: "sub", Keys: "jwks.json", Issuer: "id", Cookie: "token"}},
			"org":  {JWT: &JWT{Claim: "org", Audience: "chat"}},
			"site": {IPv6Prefix: 48},
		},
		Limits:  []Limit{{Name: "hour", Limit: 100, Window: time.Hour, OnFailure: Closed}},
		Budgets: []Budget{{Name: "day", Budget: 5 * oneUnit, Window: day}},
		Blocks:  []Block{{Name: "many", Tiers: []Tier{{Threshold: 5, Window: time.Minute, Block: time.Hour}}, Escalation: []time.Duration{time.Hour}}},
		Endpoints: []Endpoint{{
			Name: "chat", Idempotency: &Idempotency{Header: "X-Key"},
			Limits:    []Limit{{Name: "minute", By: By{"user"}, Kind: GCRA, Limit: 10, Window: time.Minute}},
			Cost:      &EndpointCost{Estimate: 20_000},
			Block:     "many",
			Challenge: &Challenge{},
		}, {Name: "plain"}},
	}
	want := &Policy{
		Version: 1, Namespace: "rl", Timeout: 50 * time.Millisecond, OnFailure: Local, Share: 0.5,
		Paths: PathsRefuse, Escapes: EscapesRefuse, Unmatched: UnmatchedPass,
		Identities: map[string]Identity{
			"user":   {JWT: &JWT{Claim: "sub", Keys: "jwks.json", Issuer: "id", Cookie: "token"}},
			"org":    {JWT: &JWT{Claim: "org", Keys: "jwks.json", Issuer: "id", Audience: "chat", Cookie: "token"}},
			"site":   {IPv4Prefix: 32, IPv6Prefix: 48},
			"ip":     {IPv4Prefix: 32, IPv6Prefix: 64},
			"client": {First: []string{"ip"}},
		},
		Budgets: []Budget{{Name: "day", By: By{"client"}, Budget: 5 * oneUnit, Window: day, OnFailure: Local}},
		Blocks:  []Block{{Name: "many", By: By{"client"}, Attempts: CountRefused, Tiers: []Tier{{Threshold: 5, Window: time.Minute, Block: time.Hour}}, Escalation: []time.Duration{time.Hour}, StrikeMemory: 30 * day, OnFailure: Local}},
		Limits:  []Limit{{Name: "hour", By: By{"client"}, Kind: SlidingLog, Limit: 100, Window: time.Hour, Weight: 1, OnFailure: Closed}},
		Endpoints: []Endpoint{{
			Name: "chat", Idempotency: &Idempotency{Header: "X-Key", For: 10 * time.Minute, Repeats: new(int64(1))},
			Limits:    []Limit{{Name: "minute", By: By{"user"}, Kind: GCRA, Limit: 10, Window: time.Minute, Burst: 10, Weight: 1, OnFailure: Local}},
			Cost:      &EndpointCost{Estimate: 20_000},
			Block:     "many",
			Challenge: &Challenge{By: By{"client"}, TTL: 5 * time.Minute, Header: "X-Challenge"},
		}, {Name: "plain"}},
	}
	got, err := p.Complete()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("complete (-want +got):\n%s", diff)
	}
	again, err := got.Complete()
	if diff := cmp.Diff(got, again); err != nil || diff != "" {
		t.Errorf("completed twice: %v (-once +twice):\n%s", err, diff)
	}
	if p.Limits[0].Weight != 0 || p.Endpoints[0].Challenge.TTL != 0 {
		t.Error("the receiver was changed")
	}
}

func TestComplete_leavesThePolicyAsItIs(t *testing.T) {
	parse := func() *Policy {
		p, err := Parse("p.yaml", []byte(everything))
		if err != nil {
			t.Fatal(err)
		}
		p.Limits = append(p.Limits, Limit{Name: "hot", By: By{ByAll}, Kind: GCRA, Limit: 10, Window: time.Second, Prefetch: &Prefetch{Most: 5}})
		return p
	}
	p := parse()
	p.Complete()
	if diff := cmp.Diff(parse(), p); diff != "" {
		t.Errorf("Complete changed its policy (-before +after):\n%s", diff)
	}
}
