package guard_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// gateway returns a policy with budgets of an organization, a team, a user, a key and all requests.
func gateway() *policy.Policy {
	code := policy.Identity{Header: "X-Who", Claimed: true}
	return &policy.Policy{
		OnFailure:  policy.Closed,
		Identities: map[string]policy.Identity{"org": code, "team": code, "user": code, "key": code},
		Budgets: []policy.Budget{
			{Name: "org_month", By: policy.By{"org"}, Budget: 5000_000_000, Window: 30 * 24 * time.Hour},
			{Name: "team_week", By: policy.By{"org", "team"}, Budget: 800_000_000, Window: 7 * 24 * time.Hour},
			{Name: "user_day", By: policy.By{"user"}, Budget: 20_000_000, Window: 24 * time.Hour},
			{Name: "user_hour", By: policy.By{"user"}, Budget: 5_000_000, Window: time.Hour},
			{Name: "house", By: policy.By{policy.ByAll}, Budget: 20_000_000_000, Window: 30 * 24 * time.Hour},
			{Name: "key_tokens", By: policy.By{"key"}, Unit: "tokens", Budget: 40_000_000_000, Window: time.Minute},
			{Name: "org_tokens", By: policy.By{"org"}, Unit: "tokens", Budget: 90_000_000_000, Window: time.Minute},
		},
		Endpoints: []policy.Endpoint{{
			Name: "chat", Unbounded: true, Cost: &policy.EndpointCost{Estimate: 20_000, Units: map[string]int64{"tokens": 4000}, Hold: 10 * time.Minute},
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
	r.Estimate, r.Units = 30_000_000_000, []guard.Amount{{Unit: "tokens", N: 0}} // too large for each budget
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
	if got := d.Charge.Accounts(); d.Charge.Reserved().Money != 20_000 || !slices.Equal(d.Charge.Reserved().Units, []guard.Amount{{Unit: "tokens", N: 4000}}) ||
		!slices.Equal(got, []string{"org=acme", "org=acme+team=ml", "user=ada", "global/cost", "key=k1"}) {
		t.Errorf("reserved %v of %v", d.Charge.Reserved(), got)
	}
	for _, wrong := range [][]guard.Amount{{{Unit: "seconds", N: 1}}, {{Unit: "tokens", N: -1}}, {{Unit: "tokens", N: 1}, {Unit: "tokens", N: 2}}} {
		if err := d.Charge.Settle(t.Context(), 1, wrong...); !errors.Is(err, fcall.ErrArgument) {
			t.Errorf("settled %v: %v", wrong, err)
		}
	}
	text := d.Charge.Detach().Text()
	for range 2 { // the second does nothing
		c, err := newGuard(t, rdb, gateway(), guard.Options{}).ParseCharge(text)
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

// Another zone is another period, and another count.
func TestBudgets_twoGenerationsWithOtherZones(t *testing.T) {
	rdb, clock := inProcess(t)
	clock.Set(time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC))
	var spent []string
	for _, zone := range []string{"UTC", "Asia/Kolkata", "UTC", "Asia/Kolkata"} {
		p := gateway()
		p.Budgets = []policy.Budget{{Name: "day", By: policy.By{"org"}, Budget: 1_000_000, Every: policy.Day, Zone: zone}}
		p.Endpoints[0].Cost = &policy.EndpointCost{Estimate: 100_000}
		g := newGuard(t, rdb, p, guard.Options{CacheSize: -1}.WithLocalClock(clock))
		spent = append(spent, spentOf(decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"org=acme"}}))["day"])
		clock.Set(clock.Now().Add(4 * time.Hour)) // the second is at 16:00 UTC, the third after midnight in Kolkata
	}
	want := []string{"0.1 of org=acme", "0.1 of org=acme", "0.2 of org=acme", "0.1 of org=acme"}
	if diff := cmp.Diff(want, spent); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// On a cluster the accounts are on several servers: one settlement reaches all, and a refusal by one gives back what the others reserved.
func TestCharge_ofSeveralAccountsOnACluster(t *testing.T) {
	cluster := engines.OnPath(t).StartCluster(t, 3, 0)
	g := newGuard(t, cluster.Client(t), gateway(), guard.Options{CacheSize: -1})
	d := decide(t, g, fullRequest)
	if len(d.Charge.Accounts()) != 5 {
		t.Fatalf("%+v holds %v", d, d.Charge.Accounts())
	}
	if err := d.Charge.Settle(t.Context(), 50_000, guard.Amount{Unit: "tokens", N: 41_000}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"org_month": "0.05 of org=acme", "team_week": "0.05 of org=acme+team=ml", "user_day": "0.05 of user=ada", "user_hour": "0.05 of user=ada",
		"house": "0.05 of global/cost", "key_tokens": "41000 of key=k1", "org_tokens": "41000 of org=acme",
	}
	for range 3 {
		if refused := decide(t, g, fullRequest); refused.Allowed || refused.Refused != "key=k1" {
			t.Errorf("beyond the tokens of the key: %+v", refused)
		}
	}
	guard.WaitBackground(g)
	if diff := cmp.Diff(want, peeked(t, g, fullRequest)); diff != "" {
		t.Errorf("settled, and refused three times (-want +got):\n%s", diff)
	}
}

// What an override allows is not charged, and neither is what it has spent.
func TestRecord_ofAnExemptSubject(t *testing.T) {
	rdb, _ := inProcess(t)
	p := gateway()
	p.Overrides.Allow = []string{"ip=203.0.113.7"}
	g := newGuard(t, rdb, p, guard.Options{})
	r := fullRequest
	r.Subjects, r.Units = append(slices.Clone(r.Subjects), "ip=203.0.113.7"), []guard.Amount{{Unit: "tokens", N: 50_000}}
	if exceeded, err := g.Record(t.Context(), r); exceeded || err != nil {
		t.Errorf("exceeded %v, %v", exceeded, err)
	}
	if got := peeked(t, g, fullRequest)["key_tokens"]; got != "0 of key=k1" {
		t.Errorf("spent %s", got)
	}
}

// On a cluster the accounts are on several servers. A client of one server learns from what it records that this is a cluster's.
func TestRecord_onACluster(t *testing.T) {
	program := engines.OnPath(t)
	for name, rdb := range map[string]redis.UniversalClient{
		"cluster": program.StartCluster(t, 3, 0).Client(t), "its only node": program.StartCluster(t, 1, 0).Primaries[0].Client(t),
	} {
		t.Run(name, func(t *testing.T) { recordOn(t, rdb) })
	}
}

func recordOn(t *testing.T, rdb redis.UniversalClient) {
	g := newGuard(t, rdb, gateway(), guard.Options{CacheSize: -1})
	r := fullRequest
	r.Units, r.Unreserved = []guard.Amount{{Unit: "tokens", N: 41_000}}, []string{"tokens"}
	if exceeded, err := g.Record(t.Context(), r); !exceeded || err != nil {
		t.Fatalf("exceeded %v, %v", exceeded, err)
	}
	r.Units = nil
	d := decide(t, g, r)
	if got := spentOf(d); d.Refused != "key=k1" || got["key_tokens"] != "41000 of key=k1" || got["org_tokens"] != "41000 of org=acme" {
		t.Errorf("%+v with %v spent", d, got)
	}
	guard.WaitBackground(g)
}

// A text with an empty list of reservations, which Text does not write, holds none.
func TestCharge_textWithoutReservations(t *testing.T) {
	rdb, _ := inProcess(t)
	p := gateway()
	p.Endpoints[0].Limits = []policy.Limit{{Name: "places", By: policy.By{"user"}, Kind: policy.Concurrency, Limit: 1}}
	g := newGuard(t, rdb, p, guard.Options{})
	text, err := base64.RawURLEncoding.DecodeString(decide(t, g, fullRequest).Charge.Text())
	if err != nil {
		t.Fatal(err)
	}
	var edited map[string]any
	if err := json.Unmarshal(text, &edited); err != nil {
		t.Fatal(err)
	}
	edited["Reservations"] = []any{}
	if text, err = json.Marshal(edited); err != nil {
		t.Fatal(err)
	}
	c, err := g.ParseCharge(base64.RawURLEncoding.EncodeToString(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Settle(t.Context(), 1); !errors.Is(err, fcall.ErrArgument) {
		t.Errorf("settled: %v", err)
	}
	c.End(t.Context(), guard.End{})
	guard.WaitBackground(g)
}
