package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func plansPolicy() *Policy {
	return &Policy{
		Identities: map[string]Identity{"user": {Func: true}, "tier": {Func: true}},
		Limits:     []Limit{{Name: "hour", Limit: 100, Window: time.Hour}},
		Budgets:    []Budget{{Name: "day", Budget: 5 * oneUnit, Window: day}, {Name: "month", Budget: 50 * oneUnit, Window: 30 * day}},
		Endpoints: []Endpoint{
			{Name: "chat", Cost: &EndpointCost{Estimate: 1}, Limits: []Limit{
				{Name: "minute", By: By{"user"}, Kind: GCRA, Limit: 10, Window: time.Minute},
				{Name: "hour", By: By{"user"}, Kind: GCRA, Limit: 10, Window: time.Hour, Burst: 5},
			}},
			{Name: "search", Limits: []Limit{{Name: "minute", Kind: FixedWindow, Limit: 10, Window: time.Minute, Weight: 2}}},
		},
		Plans: &Plans{By: "tier", Named: map[string]Plan{
			"pro": {
				Limits: map[string]PlanLimit{
					"hour": {Limit: 1000}, "chat/minute": {Limit: 100}, "chat/hour": {Limit: 20}, "search/minute": {Weight: 1},
				},
				Budgets: map[string]Micros{"day": 50 * oneUnit},
			},
			"large": {Limits: map[string]PlanLimit{"chat/minute": {Burst: 200}}},
		}},
	}
}

func TestForPlan_replacesValuesThatDiffer(t *testing.T) {
	complete, err := plansPolicy().Complete()
	if err != nil {
		t.Fatal(err)
	}
	want := plansPolicy()
	want.Plans = nil
	want.Limits[0].Limit = 1000
	want.Budgets[0].Budget = 50 * oneUnit
	chat, search := want.Endpoints[0].Limits, want.Endpoints[1].Limits
	chat[0].Limit, chat[0].Burst = 100, 100 // a gcra without a burst takes the plan's limit
	chat[1].Limit = 20                      // and keeps a burst of its own
	search[0].Weight = 1
	if want, err = want.Complete(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, complete.ForPlan("pro")); diff != "" {
		t.Errorf("pro (-want +got):\n%s", diff)
	}
	fromFile, err := plansPolicy().ForPlan("pro").Complete()
	if diff := cmp.Diff(want, fromFile); err != nil || diff != "" {
		t.Errorf("pro before Complete: %v (-want +got):\n%s", err, diff)
	}
	if l := complete.ForPlan("large").Endpoints[0].Limits[0]; l.Limit != 10 || l.Burst != 200 {
		t.Errorf("large: %+v", l)
	}
	for _, name := range []string{"", "free", "Pro"} {
		if complete.ForPlan(name) != complete {
			t.Errorf("%q is a plan", name)
		}
	}
	again, err := complete.Complete()
	if diff := cmp.Diff(complete, again); err != nil || diff != "" {
		t.Errorf("completed twice: %v (-once +twice):\n%s", err, diff)
	}
	if diff := cmp.Diff(plansPolicy().Limits, []Limit{{Name: "hour", Limit: 100, Window: time.Hour}}); diff != "" || complete.Limits[0].Limit != 100 {
		t.Error("the receiver was changed")
	}
}

func TestPlan_findsTheNamingIdentity(t *testing.T) {
	p := plansPolicy()
	for _, c := range []struct {
		subjects []string
		want     string
	}{
		{[]string{"ip=203.0.113.7", "tier=pro"}, "pro"},
		{[]string{"tier=large", "ip=203.0.113.7"}, "large"},
		{[]string{"tier=free"}, ""},
		{[]string{"tier="}, ""},
		{[]string{"tier"}, ""},
		{[]string{"tiers=pro"}, ""},
		{[]string{"user=pro"}, ""},
		{nil, ""},
	} {
		if got := p.Plan(c.subjects); got != c.want {
			t.Errorf("%q: got %q, want %q", c.subjects, got, c.want)
		}
	}
	subjects := []string{"ip=203.0.113.7", "user=42", "tier=pro"}
	if n := testing.AllocsPerRun(100, func() { p.Plan(subjects) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if got := (&Policy{}).Plan(subjects); got != "" {
		t.Errorf("no plans: got %q", got)
	}
}
