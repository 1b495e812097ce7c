package guard_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

func tiered() *policy.Policy {
	p := chat(policy.Limit{Name: "minute", By: policy.By{"user"}, Limit: 1, Window: time.Minute}, policy.Limit{Name: "address", By: policy.By{"ip"}, Limit: 1000, Window: time.Minute})
	p.Identities = map[string]policy.Identity{"user": {Func: true}, "tier": {Func: true}}
	p.Budgets = []policy.Budget{{Name: "day", By: policy.By{"user"}, Budget: 5_000_000, Window: 24 * time.Hour}}
	p.Endpoints[0].Cost = &policy.EndpointCost{Estimate: 1_000_000, Penalty: time.Hour}
	p.Plans = &policy.Plans{By: "tier", Named: map[string]policy.Plan{
		"pro":  {Limits: map[string]policy.PlanLimit{"chat/minute": {Limit: 3}}, Budgets: map[string]policy.Micros{"day": 50_000_000}},
		"huge": {Limits: map[string]policy.PlanLimit{"chat/minute": {Limit: 1000}}},
	}}
	return p
}

func of(subjects ...string) guard.Request {
	return guard.Request{Endpoint: "chat", Subjects: append([]string{"ip=203.0.113.7"}, subjects...)}
}

// minutes returns the limit of the plan and its remaining part.
func minutes(d *guard.Decision) [2]int64 { return [2]int64{d.Limits[0].Limit, d.Limits[0].Remaining} }

func TestPlan_hasItsOwnLimits(t *testing.T) {
	for _, e := range engines.Ends(t) {
		t.Run(e.Name, func(t *testing.T) {
			rdb := e.Client(t)
			g := newGuard(t, rdb, tiered(), guard.Options{})
			for i, c := range []struct {
				request guard.Request
				allowed bool
				minutes [2]int64
				cached  bool
			}{
				{of("user=1"), true, [2]int64{1, 0}, false},
				{of("user=1"), false, [2]int64{1, 0}, false},
				{of("user=1"), false, [2]int64{1, 0}, true},
				{of("user=1", "tier=free"), false, [2]int64{1, 0}, true}, // not a plan
				// Plans share counts, but not cached refusals.
				{of("user=1", "tier=pro"), true, [2]int64{3, 1}, false},
				{of("user=1", "tier=pro"), true, [2]int64{3, 0}, false},
				{of("user=1", "tier=pro"), false, [2]int64{3, 0}, false},
				{of("user=1", "tier=pro"), false, [2]int64{3, 0}, true},
				{of("user=1", "tier=huge"), true, [2]int64{1000, 996}, false},
				{of("user=1"), false, [2]int64{1, 0}, true},
				{of("user=2", "tier=pro"), true, [2]int64{3, 2}, false},
			} {
				if d := decide(t, g, c.request); d.Allowed != c.allowed || minutes(d) != c.minutes || d.Cached != c.cached {
					t.Errorf("request %d: %+v", i+1, d)
				}
			}
		})
	}
}

// A settlement applies the budgets of the plan: 20 of 50 starts no penalty, 20 of 5 does.
func TestPlan_settlesByItsBudgets(t *testing.T) {
	for _, c := range []struct {
		tier    string
		settle  func(t *testing.T, g *guard.Guard, d *guard.Decision) error
		allowed bool
	}{
		{"tier=pro", func(t *testing.T, _ *guard.Guard, d *guard.Decision) error {
			return d.Charge.Settle(t.Context(), 20_000_000)
		}, true},
		{"tier=huge", func(t *testing.T, _ *guard.Guard, d *guard.Decision) error {
			return d.Charge.Settle(t.Context(), 20_000_000)
		}, false},
		{"tier=pro", func(t *testing.T, g *guard.Guard, d *guard.Decision) error {
			c, err := g.ParseCharge(d.Charge.Text())
			return errors.Join(err, c.Settle(t.Context(), 20_000_000))
		}, true},
		{"tier=huge", func(t *testing.T, g *guard.Guard, d *guard.Decision) error {
			c, err := g.ParseCharge(d.Charge.Text())
			return errors.Join(err, c.Settle(t.Context(), 20_000_000))
		}, false},
	} {
		rdb, _ := inProcess(t)
		g := newGuard(t, rdb, tiered(), guard.Options{})
		d := decide(t, g, of("user=1", c.tier))
		if err := c.settle(t, g, d); err != nil {
			t.Fatal(err)
		}
		if d := decide(t, g, of("user=1", c.tier)); d.Allowed != c.allowed || !c.allowed && d.Reason != guard.ReasonPenalty {
			t.Errorf("%s after the settlement: %+v", c.tier, d)
		}
	}
}
