package guard_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// gateway returns a policy with budgets of an organization, a team, a user, a key and all requests.
func gateway() *policy.Policy {
	code := policy.Identity{Header: "X-Who", Claimed: true}
	return &policy.Policy{
		OnFailure:  policy.Closed,
		Identities: map[string]policy.Identity{"org": code, "team": code, "user": code, "key": code},
		Cost: &policy.Cost{
			Hold: 10 * time.Minute,
			Budgets: []policy.Budget{
				{Name: "org_month", By: policy.By{"org"}, Budget: 5000_000_000, Window: 30 * 24 * time.Hour},
				{Name: "team_week", By: policy.By{"org", "team"}, Budget: 800_000_000, Window: 7 * 24 * time.Hour},
				{Name: "user_day", By: policy.By{"user"}, Budget: 20_000_000, Window: 24 * time.Hour},
				{Name: "user_hour", By: policy.By{"user"}, Budget: 5_000_000, Window: time.Hour},
				{Name: "house", By: policy.By{policy.ByAll}, Budget: 20_000_000_000, Window: 30 * 24 * time.Hour},
				{Name: "key_tokens", By: policy.By{"key"}, Unit: "tokens", Budget: 40_000_000_000, Window: time.Minute},
				{Name: "org_tokens", By: policy.By{"org"}, Unit: "tokens", Budget: 90_000_000_000, Window: time.Minute},
			},
		},
		Endpoints: []policy.Endpoint{{
			Name: "chat", Unbounded: true, Cost: &policy.EndpointCost{Estimate: 20_000, Units: map[string]int64{"tokens": 4000}},
		}},
	}
}

var fullRequest = guard.Request{Endpoint: "chat", Subjects: []string{"org=acme", "team=ml", "user=ada", "key=k1"}}

// spentOf returns what is spent of each budget by name, and that before the call if it was admitted.
func spentOf(d *guard.Decision) map[string]string {
	all := map[string]string{}
	for _, b := range d.Budgets {
		all[b.Name] = policy.Micros(b.Spent).String()
		if b.Subject != "" {
			all[b.Name] += " of " + b.Subject
		}
	}
	return all
}

// peeked decides without charging anything.
func peeked(t *testing.T, g *guard.Guard, r guard.Request) map[string]string {
	t.Helper()
	r.Estimate, r.Units = 1_000_000_000, []guard.Amount{{Unit: "tokens", N: 0}} // too large
	return spentOf(decide(t, g, r))
}

func TestCharge_ofSeveralAccountsAndUnits(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, gateway(), guard.Options{CacheSize: -1})
	d := decide(t, g, fullRequest)
	want := map[string]string{
		"org_month": "0.02 of org=acme", "team_week": "0.02 of org=acme+team=ml", "user_day": "0.02 of user=ada", "user_hour": "0.02 of user=ada",
		"house": "0.02 of global/cost", "key_tokens": "4000 of key=k1", "org_tokens": "4000 of org=acme",
	}
	if diff := cmp.Diff(want, spentOf(d)); diff != "" || !d.Allowed {
		t.Fatalf("the first: %+v (-want +got):\n%s", d, diff)
	}
	if got := d.Charge.Accounts(); d.Charge.Reserved() != 20_000 || !slices.Equal(d.Charge.ReservedUnits(), []guard.Amount{{Unit: "tokens", N: 4000}}) ||
		!slices.Equal(got, []string{"org=acme", "org=acme+team=ml", "user=ada", "global/cost", "key=k1"}) {
		t.Errorf("reserved %v and %v of %v", d.Charge.Reserved(), d.Charge.ReservedUnits(), got)
	}
	for _, wrong := range [][]guard.Amount{{{Unit: "seconds", N: 1}}, {{Unit: "tokens", N: -1}}, {{Unit: "tokens", N: 1}, {Unit: "tokens", N: 2}}} {
		if err := d.Charge.Settle(t.Context(), 1, wrong...); !errors.Is(err, fcall.ErrArgument) {
			t.Errorf("settled %v: %v", wrong, err)
		}
	}
	text := d.Charge.Detach().Text()
	for range 2 { // the second does nothing
		c, err := newGuard(t, rdb, gateway(), guard.Options{}).Charge(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Settle(t.Context(), 50_000, guard.Amount{Unit: "tokens", N: 41_000}); err != nil {
			t.Fatal(err)
		}
	}
	want = map[string]string{
		"org_month": "0.05 of org=acme", "team_week": "0.05 of org=acme+team=ml", "user_day": "0.05 of user=ada", "user_hour": "0.05 of user=ada",
		"house": "0.05 of global/cost", "key_tokens": "41000 of key=k1", "org_tokens": "41000 of org=acme",
	}
	if diff := cmp.Diff(want, peeked(t, g, fullRequest)); diff != "" {
		t.Errorf("settled (-want +got):\n%s", diff)
	}
	refused := decide(t, g, fullRequest)
	if refused.Allowed || refused.Reason != guard.ReasonBudget || refused.Refused != "key=k1" || refused.RetryAfter != time.Minute {
		t.Errorf("beyond the tokens of the key: %+v", refused)
	}
	if diff := cmp.Diff(want, peeked(t, g, fullRequest)); diff != "" {
		t.Errorf("after a refusal (-want +got):\n%s", diff)
	}
}

// A unit that a settlement omits is settled as it was reserved.
func TestCharge_unitsThatASettlementOmits(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, gateway(), guard.Options{CacheSize: -1})
	r := fullRequest
	r.Units = []guard.Amount{{Unit: "tokens", N: 100}}
	if err := decide(t, g, r).Charge.Settle(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if got := peeked(t, g, r); got["key_tokens"] != "100 of key=k1" || got["house"] != "0 of global/cost" {
		t.Errorf("%v", got)
	}
	r.Units = []guard.Amount{{Unit: "seconds", N: 100}}
	if _, err := g.Decide(t.Context(), r); !errors.Is(err, fcall.ErrArgument) {
		t.Errorf("reserved a unit that no budget has: %v", err)
	}
}

// A budget skips requests that lack its identity.
func TestBudgets_skipWhatTheRequestLacks(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, gateway(), guard.Options{})
	d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"user=ada", "team=ml"}})
	want := map[string]string{"user_day": "0.02 of user=ada", "user_hour": "0.02 of user=ada", "house": "0.02 of global/cost"}
	if diff := cmp.Diff(want, spentOf(d)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCharge_refundsAllAccounts(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, gateway(), guard.Options{CacheSize: -1})
	r := fullRequest
	r.Refundable = true
	if back, err := decide(t, g, r).Charge.Refund(t.Context()); !back || err != nil {
		t.Fatal(back, err)
	}
	for name, spent := range peeked(t, g, r) {
		if spent[:2] != "0 " {
			t.Errorf("%s: %s", name, spent)
		}
	}
}
