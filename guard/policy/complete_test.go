package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestComplete_fillsInWhatIsAbsent(t *testing.T) {
	p := &Policy{
		OnFailure: Local, Share: 0.5,
		Limits: []Limit{{Name: "hour", Limit: 100, Window: time.Hour, OnFailure: Closed}},
		Cost:   &Cost{Budgets: []Budget{{Name: "day", Budget: 5 * oneUnit, Window: day}}},
		Abuse:  &Abuse{Tiers: []Tier{{Threshold: 5, Window: time.Minute, Block: time.Hour}}, Escalation: []time.Duration{time.Hour}},
		Endpoints: []Endpoint{{
			Name: "chat", Dedup: new(time.Duration(0)),
			Limits:    []Limit{{Name: "minute", Kind: GCRA, Limit: 10, Window: time.Minute}},
			Cost:      &EndpointCost{Estimate: 20_000},
			Abuse:     CountRefused,
			Challenge: &Challenge{},
		}, {Name: "plain"}},
	}
	want := &Policy{
		Version: 1, Namespace: "guard", Timeout: 50 * time.Millisecond, OnFailure: Local, Share: 0.5,
		Identity: Identity{From: []Source{FromIP}, IP: IP{IPv6Prefix: 64}},
		Cost:     &Cost{Budgets: []Budget{{Name: "day", Budget: 5 * oneUnit, Window: day}}, OnFailure: Local},
		Abuse:    &Abuse{Tiers: []Tier{{Threshold: 5, Window: time.Minute, Block: time.Hour}}, Escalation: []time.Duration{time.Hour}, StrikeMemory: 30 * day, OnFailure: Local},
		Limits:   []Limit{{Name: "hour", Kind: SlidingLog, Limit: 100, Window: time.Hour, Cost: 1, OnFailure: Closed}},
		Endpoints: []Endpoint{{
			Name: "chat", Dedup: new(time.Duration(0)),
			Limits:    []Limit{{Name: "minute", Kind: GCRA, Limit: 10, Window: time.Minute, Burst: 10, Cost: 1, OnFailure: Local, Share: 0.5}},
			Cost:      &EndpointCost{Estimate: 20_000},
			Abuse:     CountRefused,
			Challenge: &Challenge{TTL: 5 * time.Minute, Header: "X-Challenge", Payload: PayloadNone, OnFailure: Closed},
		}, {Name: "plain", Dedup: new(10 * time.Second)}},
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
	if p.Limits[0].Cost != 0 || p.Endpoints[0].Challenge.TTL != 0 {
		t.Error("the policy itself was changed")
	}
}
