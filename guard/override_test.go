package guard_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/agreed"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// cacheTTL is the time within which guards see an override.
const cacheTTL = 2 * time.Second

func overridable(limits ...policy.Limit) *policy.Policy {
	p := chat(append(limits, policy.Limit{Name: "minute", Limit: 2, Window: time.Minute})...)
	p.Identities = map[string]policy.Identity{
		"user": {Func: true}, "device": {Header: "X-Device", Claimed: true}, "client": {First: []string{"user", "ip"}},
	}
	p.OnFailure = policy.Closed
	return p
}

// An operator sets overrides in the default namespace.
type operator struct {
	t      *testing.T
	client *override.Client
}

func newOperator(t *testing.T, rdb fcall.Caller) operator {
	t.Helper()
	c, err := override.New(rdb, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return operator{t, c}
}

func (o operator) set(subject string, effect override.SetEffect, factor int64, holds time.Duration) {
	o.t.Helper()
	p := override.SetParams{Subject: agreed.OverridesSubject, Target: subject, Effect: effect, Factor: factor, Duration: holds, By: "ann", Reason: "test"}
	if _, err := o.client.Set(context.Background(), p); err != nil {
		o.t.Fatal(err)
	}
}

func (o operator) clear(subject string) {
	o.t.Helper()
	if r, err := o.client.Clear(context.Background(), override.ClearParams{Subject: agreed.OverridesSubject, Target: subject}); err != nil || !r.Existed {
		o.t.Fatalf("%s: %+v, %v", subject, r, err)
	}
}

// within waits until holds returns true.
func within(t *testing.T, most time.Duration, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 5*most { // a busy machine may miss a poll or two
			t.Fatalf("%s: not after %v", what, 5*most)
		}
	}
}

func TestOverride_reachesEachGuardWithinCacheTTL(t *testing.T) {
	t.Parallel()
	for _, e := range engines.Ends(t) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			rdb := e.Client(t)
			o := newOperator(t, rdb)
			guards := []*guard.Guard{newGuard(t, rdb, overridable(), guard.Options{CacheTTL: cacheTTL}), newGuard(t, rdb, overridable(), guard.Options{CacheTTL: cacheTTL})}
			user, other := guard.Request{Endpoint: "chat", Subjects: []string{"user=42", "ip=203.0.113.7"}}, guard.Request{Endpoint: "chat", Subjects: []string{"ip=198.51.100.7"}}
			each := func(what string, r guard.Request, holds func(*guard.Decision) bool) {
				t.Helper()
				within(t, cacheTTL, what, func() bool {
					return !slices.ContainsFunc(guards, func(g *guard.Guard) bool { return !holds(decide(t, g, r)) })
				})
			}
			for range 2 {
				decide(t, guards[0], user)
			}
			refused := func(d *guard.Decision) bool { return d.Reason == guard.ReasonLimit && d.Limits[0].Limit == 2 }
			each("refused", user, refused)

			o.set("user=42", override.SetEffectMultiply, 1_000_000, time.Hour)
			each("a refusal that was remembered is forgotten", user, func(d *guard.Decision) bool { return d.Allowed && d.Limits[0].Limit == 1_000_000 })
			o.clear("user=42")
			each("once again", user, refused)

			o.set("user=42", override.SetEffectAllow, 0, time.Hour)
			each("allowed", user, func(d *guard.Decision) bool { return d.Allowed && len(d.Limits) == 0 })
			o.set("ip=203.0.113.0/24", override.SetEffectDeny, 0, time.Hour)
			each("a prefix is denied", user, func(d *guard.Decision) bool { return d.Reason == guard.ReasonDenied && d.Refused == "ip=203.0.113.7" })
			o.set("ip=203.0.113.7", override.SetEffectAllow, 0, time.Hour)
			each("the most exact wins", user, func(d *guard.Decision) bool { return d.Allowed })
			if d := decide(t, guards[1], other); !d.Allowed || len(d.Limits) != 1 {
				t.Errorf("another client: %+v", d)
			}
		})
	}
}

func TestOverride_winsOverTheFile(t *testing.T) {
	rdb, _ := inProcess(t)
	o := newOperator(t, rdb)
	o.set("user=42", override.SetEffectAllow, 0, time.Hour)
	o.set("ip=203.0.113.0/24", override.SetEffectMultiply, 2, time.Hour)
	p := overridable()
	p.Overrides = policy.Overrides{Deny: []string{"user=42", "user=43", "ip=203.0.113.0/24"}}
	g := newGuard(t, rdb, p, guard.Options{CacheTTL: cacheTTL})
	within(t, cacheTTL, "user=42 is allowed", func() bool {
		return decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"user=42"}}).Allowed
	})
	if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"user=43"}}); d.Reason != guard.ReasonDenied {
		t.Errorf("the file's: %+v", d)
	}
	if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=203.0.113.9"}}); !d.Allowed || d.Limits[0].Limit != 4 {
		t.Errorf("the prefix: %+v", d)
	}
	// Overrides survive a reload.
	p = overridable(policy.Limit{Name: "hour", Limit: 5, Window: time.Hour})
	p.Overrides = policy.Overrides{Deny: []string{"user=42"}}
	if err := g.SetPolicy(p); err != nil {
		t.Fatal(err)
	}
	if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"user=42"}}); !d.Allowed {
		t.Errorf("after a reload: %+v", d)
	}
}

func TestOverride_expiresWithoutRedis(t *testing.T) {
	t.Parallel()
	for _, e := range engines.Ends(t) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			own := e.Own(t)
			rdb := own.Client(t)
			const holds = 2 * time.Second
			began := time.Now()
			newOperator(t, rdb).set("user=42", override.SetEffectDeny, 0, holds)
			g := newGuard(t, rdb, overridable(), guard.Options{CacheTTL: 200 * time.Millisecond})
			r := guard.Request{Endpoint: "chat", Subjects: []string{"user=42"}}
			denied := func() bool {
				d, err := g.Decide(context.Background(), r)
				return err == nil && d.Reason == guard.ReasonDenied
			}
			within(t, holds, "denied", denied)
			own.Stop()
			for time.Since(began) < holds-time.Second {
				if !denied() && time.Since(began) < holds {
					t.Fatalf("not denied %v after it was set", time.Since(began))
				}
				time.Sleep(10 * time.Millisecond)
			}
			within(t, holds+time.Second, "its end", func() bool { return !denied() })
			if took := time.Since(began); took < holds-100*time.Millisecond {
				t.Errorf("ended after %v", took)
			}
		})
	}
}

func TestOverride_ofAClaimedIdentityIsIgnored(t *testing.T) {
	l := listen(t)
	rdb, _ := inProcess(t)
	o := newOperator(t, rdb)
	o.set("device=tablet-1", override.SetEffectAllow, 0, time.Hour)
	o.set("device=2", override.SetEffectMultiply, 5, time.Hour)
	o.set("usr=3", override.SetEffectAllow, 0, time.Hour)
	o.set("ip=0.0.0.0/0", override.SetEffectAllow, 0, time.Hour)
	o.set("device=4", override.SetEffectDeny, 0, time.Hour)
	g := newGuard(t, rdb, overridable(), guard.Options{CacheTTL: 200 * time.Millisecond})
	request := func(subjects ...string) guard.Request {
		return guard.Request{Endpoint: "chat", Subjects: append([]string{"ip=203.0.113.7"}, subjects...)}
	}
	within(t, cacheTTL, "denied", func() bool { return decide(t, g, request("device=4")).Reason == guard.ReasonDenied })
	for range 3 {
		for _, subject := range []string{"device=tablet-1", "device=2", "usr=3"} {
			if d := decide(t, g, request(subject)); len(d.Limits) != 1 || d.Limits[0].Limit != 2 {
				t.Errorf("%s: %+v", subject, d)
			}
		}
	}
	for _, part := range []string{"overrides ignored", `device=ta...`, `device=...`, `usr=...`, "must not be all addresses"} {
		if n := l.count(part); n == 0 || part == "overrides ignored" && n > 1 {
			t.Errorf("%q is logged %d times:\n%s", part, n, &l.text)
		}
	}
	if l.count("tablet-1") > 0 {
		t.Errorf("a whole subject is logged:\n%s", &l.text)
	}
}

// Without the library, decisions continue and guard logs it once.
func TestOverride_withoutTheLibrary(t *testing.T) {
	l := listen(t)
	rdb, _ := inProcess(t)
	decide(t, newGuard(t, rdb, overridable(), guard.Options{NoOverrides: true}), guard.Request{Endpoint: "chat", Subjects: []string{"ip=203.0.113.7"}}) // loads library guard
	g := newGuard(t, rdb, overridable(), guard.Options{CacheTTL: 200 * time.Millisecond, NoAutoLoad: true, Observers: on(func(guard.Reloaded) {})})
	for i := range 20 {
		if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=203.0.113.8"}}); d.Allowed != (i < 2) || d.Fallback != guard.FallbackNone {
			t.Errorf("request %d: %+v", i+1, d)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if n := l.count("cannot read overrides"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, &l.text)
	}
	loaded, err := rdb.FunctionList(t.Context(), redis.FunctionListQuery{}).Result()
	if err != nil || len(loaded) != 1 {
		t.Fatalf("%v, %v", loaded, err)
	}
	newOperator(t, rdb).set("ip=203.0.113.8", override.SetEffectAllow, 0, time.Hour) // which loads it
	within(t, cacheTTL, "it is there", func() bool {
		return decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=203.0.113.8"}}).Allowed
	})
}

// Close stops the polling goroutine, even before the first decision. New does not wait for a server.
func TestOverride_closeStopsPolling(t *testing.T) {
	began := time.Now()
	g, err := guard.New(client(t, closedPort(t)), overridable(), guard.Options{})
	if err != nil || g.Close() != nil || time.Since(began) > 10*time.Second {
		t.Fatalf("%v after %v", err, time.Since(began))
	}
	g, err = guard.New(client(t, closedPort(t)), overridable(), guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Decide(t.Context(), guard.Request{Endpoint: "chat", Subjects: []string{"ip=203.0.113.8"}}); !errors.Is(err, guard.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if err := g.Close(); err != nil || time.Since(began) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// topped returns a policy whose budgets an operator tops up.
func topped() *policy.Policy {
	p := gateway()
	for name := range p.Identities {
		p.Identities[name] = policy.Identity{Func: true}
	}
	p.Identities["device"] = policy.Identity{Header: "X-Device", Claimed: true}
	p.Budgets = []policy.Budget{
		{Name: "month", By: policy.By{"org"}, Budget: 1_000_000, Every: policy.Month, Zone: "America/New_York"},
		{Name: "pair", By: policy.By{"org", "team"}, Budget: 2_000_000, Window: 24 * time.Hour},
		{Name: "house", By: policy.By{policy.ByAll}, Budget: 3_000_000, Window: 24 * time.Hour},
		{Name: "tokens", By: policy.By{"org"}, Unit: "tokens", Budget: 1000_000_000, Window: 24 * time.Hour},
		{Name: "gadget", By: policy.By{"device"}, Budget: 4_000_000, Window: 24 * time.Hour},
	}
	p.Endpoints[0].Cost = &policy.EndpointCost{Estimate: 600_000}
	p.Upstreams = []policy.Upstream{{Name: "llm", Budgets: []policy.Budget{{Name: "month", Budget: 6_000_000, Every: policy.Month}}}}
	return p
}

func (o operator) topUp(subject, budget, unit string, amount fcall.Micros, ends time.Time) {
	o.t.Helper()
	p := override.SetParams{
		Subject: agreed.OverridesSubject, Target: subject, Effect: override.SetEffectAdd, Budget: budget, Unit: unit, Amount: amount, Duration: 24 * time.Hour, Next: ends, By: "ann", Reason: "test",
	}
	if _, err := o.client.Set(context.Background(), p); err != nil {
		o.t.Fatal(err)
	}
}

func TestOverride_topUpAdmitsUntilThePeriodEnds(t *testing.T) {
	rdb, clock := inProcess(t)
	o := newOperator(t, rdb)
	ends := time.Date(2026, 3, 1, 5, 0, 0, 0, time.UTC) // midnight in New York
	clock.Set(ends.Add(-time.Hour))
	options := guard.Options{CacheTTL: 200 * time.Millisecond}.WithLocalClock(clock)
	g := newGuard(t, rdb, topped(), options)
	acme := guard.Request{Endpoint: "chat", Subjects: []string{"org=acme"}}
	month := func(g *guard.Guard) (admitted bool, budget fcall.Micros) {
		d := decide(t, g, acme)
		return d.Allowed, d.Budgets[0].Budget
	}
	if admitted, _ := month(g); !admitted {
		t.Fatal("the first is refused")
	}
	if d := decide(t, g, acme); d.Refused != "org=acme" || d.RetryAfter != time.Hour {
		t.Fatalf("the second: %+v", d)
	}
	o.topUp("org=acme", "month", "", 500_000, ends)
	within(t, cacheTTL, "a refusal that was remembered is forgotten", func() bool {
		admitted, budget := month(g)
		return admitted && budget == 1_500_000
	})
	if admitted, budget := month(g); admitted || budget != 1_500_000 {
		t.Errorf("beyond the top-up: %v of %v", admitted, budget)
	}
	clock.Set(ends.Add(-time.Microsecond))
	if _, budget := month(newGuard(t, rdb, topped(), options)); budget != 1_000_000 {
		t.Errorf("before the first poll: %v", budget)
	}
	clock.Set(ends.Add(-300 * time.Millisecond)) // of which this process counts the rest
	last := newGuard(t, rdb, topped(), options)
	within(t, cacheTTL, "another process", func() bool { _, budget := month(last); return budget == 1_500_000 })
	within(t, cacheTTL, "the end, without a poll that says so", func() bool { _, budget := month(last); return budget == 1_000_000 })
	clock.Set(ends)
	if r, err := o.client.List(t.Context(), override.ListParams{Subject: agreed.OverridesSubject}); err != nil || len(r.Overrides) != 0 {
		t.Errorf("in the next period: %+v, %v", r, err)
	}
}

// A factor multiplies a budget first. A top-up is of one budget and one subject, and no budget exceeds its unit's maximum.
func TestOverride_topUpIsOfOneBudgetAndSubject(t *testing.T) {
	l := listen(t)
	rdb, clock := inProcess(t)
	o := newOperator(t, rdb)
	ends := clock.Now().Add(time.Hour)
	o.topUp("org=acme", "month", "", 500_000, ends)
	o.set("org=acme", override.SetEffectMultiply, 2, time.Hour)
	o.topUp("org=acme+team=ml", "pair", "", 1, ends)
	o.topUp("all", "house", "", 1_000_000_000_000_000, ends)
	o.topUp("org=acme", "tokens", "tokens", 5, ends)
	o.topUp("account=llm/a", "month", "", 700_000, ends)
	o.topUp("org=zeta", "tokens", "", 5_000_000, ends)    // of money
	o.topUp("org=zeta", "house", "", 5, ends)             // which is by all
	o.topUp("org=zeta", "years", "", 5, ends)             // unknown
	o.topUp("org=zeta+user=a", "month", "", 5, ends)      // by org alone
	o.topUp("device=tablet-1", "gadget", "", 5_000, ends) // which any client can send
	g := newGuard(t, rdb, topped(), guard.Options{CacheTTL: 200 * time.Millisecond}.WithLocalClock(clock))
	budgets := func(subjects ...string) map[string]string {
		all := map[string]string{}
		r := guard.Request{Endpoint: "chat", Subjects: subjects, Estimate: 1}
		if strings.HasPrefix(subjects[0], "account=") {
			r.Endpoint = "llm"
		}
		for _, b := range decide(t, g, r).Budgets {
			all[b.Name] = policy.Micros(b.Budget).String()
		}
		return all
	}
	within(t, cacheTTL, "the first poll", func() bool { return budgets("org=acme")["month"] != "1" })
	for subjects, want := range map[string]map[string]string{
		"org=acme team=ml":                 {"month": "2.5", "pair": "4.000001", "house": "1000000000", "tokens": "2005"},
		"org=acme team=qa":                 {"month": "2.5", "pair": "4", "house": "1000000000", "tokens": "2005"},
		"account=llm/a":                    {"month": "6.7"},
		"account=llm/b":                    {"month": "6"},
		"org=zeta team=ml device=tablet-1": {"month": "1", "pair": "2", "house": "1000000000", "tokens": "1000", "gadget": "4"},
	} {
		if diff := cmp.Diff(want, budgets(strings.Fields(subjects)...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", subjects, diff)
		}
	}
	for _, part := range []string{
		"budget tokens is of tokens, and not of money", "budget house is of all requests", `unknown budget \"years\"`, "budget month is by org", "any client can send",
	} {
		if l.count(part) == 0 {
			t.Errorf("%q is not logged:\n%s", part, &l.text)
		}
	}
}

// In failure mode local, each process admits its share of a budget with its top-up.
func TestOverride_topUpIsSharedInModeLocal(t *testing.T) {
	server := embedded.New(embedded.Options{Clock: embedded.NewManualClock(moment)})
	rdb := server.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	newOperator(t, rdb).topUp("org=acme", "day", "", 6_000_000, moment.Add(time.Hour))
	p := topped()
	p.OnFailure, p.Share = policy.Local, 0.25
	p.Budgets = []policy.Budget{{Name: "day", By: policy.By{"org"}, Budget: 2_000_000, Window: 24 * time.Hour}}
	o := guard.Options{CacheTTL: 200 * time.Millisecond, CacheSize: -1, BreakAfter: 1, BreakFor: time.Hour}
	g := newGuard(t, rdb, p, o.WithLocalClock(embedded.NewManualClock(moment)))
	acme := guard.Request{Endpoint: "chat", Subjects: []string{"org=acme"}}
	within(t, cacheTTL, "the first poll", func() bool { return decide(t, g, acme).Budgets[0].Budget == 8_000_000 })
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	var admitted []bool
	for range 4 {
		admitted = append(admitted, decide(t, g, acme).Allowed)
	}
	if want := []bool{true, true, true, false}; !slices.Equal(admitted, want) { // 0.6 each of a quarter of 8
		t.Errorf("got %v, want %v", admitted, want)
	}
}
