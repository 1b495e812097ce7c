package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/service"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/inspect"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/report"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

const shopPolicy = "testdata/operate/policy.yaml"

// shop returns a guarded service with the policy in testdata. It caches no refusals, so that changes take effect at once.
func shop(t *testing.T, rdb *redis.Client, observers ...guard.Observer) *guard.Guard {
	t.Helper()
	p, err := policy.Load(shopPolicy)
	if err != nil {
		t.Fatal(err)
	}
	p.Timeout, p.OnFailure = 10*time.Second, policy.Closed // a slow machine fails the test
	g, err := guard.New(rdb, p, guard.Options{CacheSize: -1, Observers: observers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func decide(t *testing.T, g *guard.Guard, r guard.Request, times int) *guard.Decision {
	t.Helper()
	var last *guard.Decision
	for range times {
		d, err := g.Decide(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		last = d
	}
	return last
}

// visit leaves the state of a busy evening: a client over a limit with reserved and settled costs, a blocked client, and challenges.
func visit(t *testing.T, rdb *redis.Client, g *guard.Guard) {
	t.Helper()
	paid := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=203.0.113.7"}}, 1)
	must(t, paid.Charge.Settle(context.WithoutCancel(t.Context()), 31_500))
	if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=203.0.113.7"}}, 10); d.Allowed {
		t.Fatalf("the 11th request is admitted: %+v", d)
	}
	if d := decide(t, g, guard.Request{Endpoint: "login", Subjects: []string{"key=ab12"}}, 5); d.Reason != guard.ReasonAttempts {
		t.Fatalf("the 5th attempt: %+v", d)
	}
	challenges, err := challenge.New(rdb, fcall.Options{Namespace: "shop"})
	if err == nil {
		_, err = challenges.Issue(t.Context(), challenge.IssueParams{Subject: "ip=203.0.113.7", Token: "0123456789abcdef0123456789abcdef", TTL: 5 * time.Minute, Payload: "/v1/chat"})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// onEach runs a test on each engine, which is empty.
func onEach(t *testing.T, all []engines.Engine, test func(t *testing.T, e engines.Engine, rdb *redis.Client)) {
	for _, e := range all {
		t.Run(e.Name, func(t *testing.T) { test(t, e, e.Client(t)) })
	}
}

// ran runs a command and checks its exit code and parts of its output.
func ran(t *testing.T, code exitCode, command string, want ...string) string {
	t.Helper()
	got, output := rlfunc(strings.Split(command, " ")...)
	if got != code {
		t.Errorf("rlfunc %s: exit %d, want %d:\n%s", command, got, code, output)
	}
	for _, words := range want {
		if !strings.Contains(output, words) {
			t.Errorf("rlfunc %s: does not say %q:\n%s", command, words, output)
		}
	}
	return output
}

func TestInspect_showsWhyASubjectIsRefused(t *testing.T) {
	onEach(t, engines.Real(t), func(t *testing.T, e engines.Engine, rdb *redis.Client) {
		visit(t, rdb, shop(t, rdb))
		at := " --policy " + shopPolicy + " --redis " + e.URL
		ran(t, exitFindings, "inspect 203.0.113.7"+at, "203.0.113.7 is ip=203.0.113.7 for the guard", "REFUSED at chat for", "limit minute",
			"limits of every endpoint", "10 of 100 in 1 h", "10 of 10 in 1 min", "admits again at", "unused   01234567...", "for /v1/chat")
		ran(t, exitOK, "inspect tenant=acme"+at, "0 of 90000 every year, UTC")
		ran(t, exitFindings, "inspect key=ab12"+at, "REFUSED at login for ", ": block tries, tier 1", "5 of 5 in 10 min", "strikes that count: 1")
		ran(t, exitOK, "inspect key=unknown"+at, "nothing recorded")
		ran(t, exitOK, "inspect all"+at, "limits at chat", "10 of 1000 in 1 min")
		_, text := rlfunc(strings.Split("inspect ip=203.0.113.7 --json"+at, " ")...)
		var r inspect.Report
		if err := json.Unmarshal([]byte(text[strings.Index(text, "{"):]), &r); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if len(r.Challenges) != 1 || len(r.Limits) != 4 || !r.Refused || !r.Known {
			t.Errorf("%+v", r)
		}
	})
}

// A top-up ends with the budget's period, stands beside other overrides of the subject, and replaces an earlier one of the same budget.
func TestOverride_topUpOfABudget(t *testing.T) {
	onEach(t, engines.Real(t), func(t *testing.T, e engines.Engine, _ *redis.Client) {
		at := " --policy testdata/operate/budgets.yaml --redis " + e.URL
		zone, err := time.LoadLocation("America/New_York")
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now().In(zone)
		ends := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, zone).UTC()
		set := func(subject, flags string) string {
			return "override set " + subject + " " + flags + " --reason paid --by nora --yes" + at
		}
		until := "until " + ends.Format("2006-01-02T15:04:05Z") + ", by nora (paid)"
		ran(t, exitOK, set("org=acme", "--budget org_month --add 200"), "org=acme: set; now add 200 to org_month "+until)
		ran(t, exitOK, set("org=acme", "--budget org_month --add 500.25"), "org=acme: replaced; now add 500.25 to org_month "+until)
		ran(t, exitOK, set("org=acme", "--multiply 2 --for 1h"), "org=acme: set; now multiply 2 until", "; add 500.25 to org_month "+until)
		ran(t, exitOK, set("org=acme", "--budget org_tokens --add 7 --for 1h"), "add 7 tokens to org_tokens until")
		ran(t, exitOK, set("org=acme+team=ml", "--budget team_week --add 1"), "org=acme+team=ml: set; now add 1 to team_week until")
		ran(t, exitOK, set("all", "--budget house --add 4"), "all: set; now add 4 to house until")
		ran(t, exitOK, "inspect org=acme"+at, "has 2 times each limit and budget, by an override (rlfunc override list)",
			"has 500.25 more of budget org_month, by an override (rlfunc override list)", "0 of 10500.25 in this month", "0 of 80000000007 tokens in 1 min")
		ran(t, exitOK, "inspect org=acme+team=ml"+at, "has 1 more of budget team_week", "0 of 1601 in this week")
		ran(t, exitOK, "inspect all"+at, "has 4 more of budget house", "0 of 20004 in this month")
		ran(t, exitOK, "inspect org=zeta"+at, "0 of 5000 in this month", "0 of 40000000000 tokens in 1 min", "see those of another with --client-plan (plans: free, pro)")
		ran(t, exitOK, "inspect org=zeta --client-plan pro"+at, "0 of 9000 in this month", "0 of 40000000000 tokens in 1 min")
		ran(t, exitOK, "inspect org=acme --client-plan pro"+at, "0 of 18500.25 in this month")
		ran(t, exitError, "inspect org=zeta --client-plan por"+at, `the policy has no plan "por"; did you mean pro? (plans: free, pro)`)
		ran(t, exitError, "inspect ip=1.2.3.4 --client-plan pro --policy "+shopPolicy+" --redis "+e.URL, `the policy has no plan "pro" (plans: none)`)
		ran(t, exitOK, "override list"+at, "add 500.25 to org_month", "add 7 tokens to org_tokens", "add 4 to house", "multiply 2")
		ran(t, exitOK, "override list --json"+at, `"budget": "org_tokens"`, `"unit": "tokens"`, `"amount": "500.25"`)
		ran(t, exitOK, "override clear org=acme --budget org_month --reason over --by nora --yes"+at, "org=acme: cleared; now multiply 2 until")
		ran(t, exitOK, "override clear org=acme --reason over --by nora --yes"+at, "org=acme: cleared; now no override")
		ran(t, exitOK, "override clear org=acme+team=ml --reason over --by nora --yes"+at, "org=acme+team=ml: cleared; now no override")
		ran(t, exitOK, "history"+at, "override set --budget org_month --add 500.25", "override set --budget org_tokens --add 7 --for 1h", "override clear --budget org_month")
	})
}

func TestOperator_blockUnblockAndResetAreRecorded(t *testing.T) {
	onEach(t, engines.Real(t), func(t *testing.T, e engines.Engine, rdb *redis.Client) {
		g := shop(t, rdb)
		visit(t, rdb, g)
		at := " --policy " + shopPolicy + " --redis " + e.URL
		decides := func(subject, endpoint string, want guard.Reason) {
			t.Helper()
			if d := decide(t, g, guard.Request{Endpoint: endpoint, Subjects: []string{subject}}, 1); d.Reason != want {
				t.Errorf("%s at %s: %q, want %q", subject, endpoint, d.Reason, want)
			}
		}
		ran(t, exitError, "unblock key=ab12 --yes"+at, "--reason must not be empty")
		ran(t, exitError, "unblock key=ab12 --reason x"+at, "blocked by tries until", "give --yes")
		decides("key=ab12", "login", guard.ReasonBlocked)
		ran(t, exitOK, "unblock key=ab12 --reason customer --by nora --yes"+at, "key=ab12: unblocked")
		decides("key=ab12", "login", guard.ReasonNone)
		ran(t, exitOK, "reset ip=203.0.113.7 --limit chat/minute --limit chat/burst --reason test --yes"+at, "ip=203.0.113.7: reset")
		decides("ip=203.0.113.7", "chat", guard.ReasonNone)
		ran(t, exitError, "reset ip=203.0.113.7 --limit minute --reason test --yes"+at, `the policy has no limit "minute" (limits: hour, chat/minute, chat/burst, chat/team, chat/year, chat/member, login/tries, budgets)`)
		ran(t, exitError, "reset ip=203.0.113.7 --limit chat/team --reason test --yes"+at, "limit chat/team does not count ip=203.0.113.7: it is by tenant")
		ran(t, exitError, "reset ip=203.0.113.7 --limit chat/all --reason test --yes"+at, "limit chat/all does not count ip=203.0.113.7: it is by all")
		ran(t, exitOK, "reset ip=203.0.113.7 --reason test --yes"+at)
		ran(t, exitOK, "block 203.0.113.7 --for 1h --reason scraper --by nora --yes"+at, "blocked for 1 h")
		decides("ip=203.0.113.7", "chat", guard.ReasonBlocked)
		ran(t, exitFindings, "block 203.0.113.7 --for 1m --reason scraper --yes"+at, "the subject has a block that ends later")
		ran(t, exitFindings, "inspect 203.0.113.7"+at, "blocked by hand: scraper")
		ran(t, exitOK, "unblock 203.0.113.7 --pardon --reason mistake --yes"+at)

		entries, err := service.ChangesIn(rdb, "shop").Last(t.Context(), 100)
		if err != nil || len(entries) != 6 {
			t.Fatalf("%+v, %v", entries, err)
		}
		first := entries[5]
		if first.By != "nora" || first.Command != "unblock" || first.Subject != "key=ab12" || first.Reason != "customer" || first.Result != "unblocked" ||
			!strings.Contains(first.Before, "blocked by tries") || strings.Contains(first.After, "blocked") || time.Since(first.At) > time.Hour {
			t.Errorf("%+v", first)
		}
		ran(t, exitOK, "history"+at, "WHEN", "nora", "block --for 1h", "scraper", "unblock --pardon", "mistake")
		if of := ran(t, exitOK, "history 203.0.113.7"+at, "block --for 1h", "ip=203.0.113.7"); strings.Contains(of, "key=ab12") {
			t.Errorf("history of a subject lists others:\n%s", of)
		}
	})
}

// Without the policy, the namespace names the service.
func TestOperator_changesTheServiceOfANamespace(t *testing.T) {
	onEach(t, engines.Real(t), func(t *testing.T, e engines.Engine, rdb *redis.Client) {
		at := " --reason x --yes --redis " + e.URL
		ran(t, exitOK, "block user=zoe --for 1h --namespace shop"+at, "user=zoe: blocked for 1 h")
		g := shop(t, rdb)
		if d := decide(t, g, guard.Request{Endpoint: "login", Subjects: []string{"user=zoe", "ip=203.0.113.9"}}, 1); d.Reason != guard.ReasonBlocked || d.Refused != "user=zoe" {
			t.Errorf("%+v", d)
		}
		ran(t, exitOK, "unblock user=zoe --namespace shop"+at, "user=zoe: unblocked")
		if d := decide(t, g, guard.Request{Endpoint: "login", Subjects: []string{"user=zoe", "ip=203.0.113.9"}}, 1); !d.Allowed {
			t.Errorf("%+v", d)
		}
		ran(t, exitOK, "history --namespace shop --redis "+e.URL, "user=zoe", "unblocked")
	})
}

// Without a namespace, a call has the one that all clients and guards have.
func TestCall_hasTheDefaultNamespace(t *testing.T) {
	onEach(t, engines.Real(t), func(t *testing.T, e engines.Engine, rdb *redis.Client) {
		blocks, err := abuse.New(rdb, fcall.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := blocks.Block(t.Context(), abuse.BlockParams{Subject: "ip=203.0.113.7", Duration: time.Hour}); err != nil {
			t.Fatal(err)
		}
		ran(t, exitOK, "call abuse.block subject=ip=203.0.113.7 duration=1m --redis "+e.URL, "applied", "false")
	})
}

// An override applies from the next read of a guard until its end, and is recorded.
func TestOverride_setListAndClearAreRecorded(t *testing.T) {
	onEach(t, engines.Real(t), func(t *testing.T, e engines.Engine, rdb *redis.Client) {
		at := " --policy " + shopPolicy + " --redis " + e.URL
		ran(t, exitOK, "override list"+at, "namespace shop has no overrides")
		ran(t, exitError, "override set key=ab12 --multiply 10 --for 7d --reason launch"+at, "key=ab12: no override", "give --yes")
		ran(t, exitOK, "override list"+at, "namespace shop has no overrides")
		ran(t, exitOK, "override set key=ab12 --multiply 10 --for 7d --reason launch --by nora --yes"+at, "key=ab12: set; now multiply 10 until", "by nora (launch)")
		ran(t, exitOK, "inspect key=ab12"+at, "has 10 times each limit and budget, by an override (rlfunc override list)", "0 of 1000 in 1 h")
		ran(t, exitOK, "override set key=ab12 --allow --for 1h --reason demo --by nora --yes"+at, "key=ab12: multiply 10 until", "key=ab12: replaced; now allow until")
		ran(t, exitOK, "override set ::ffff:203.0.113.0/120 --deny --for 1d --reason flood --by max --yes"+at, "ip=203.0.113.0/24: set; now deny until")
		ran(t, exitFindings, "inspect 203.0.113.7"+at, "REFUSED by an override (rlfunc override list)")
		ran(t, exitOK, "inspect key=ab12"+at, "never limited by an override (rlfunc override list), whatever else")
		ran(t, exitOK, "override list"+at, "SUBJECT", "ip=203.0.113.0/24  deny    1 d   ", "key=ab12           allow   1 h   ", "nora", "flood")
		var listed struct {
			Format    int
			Namespace string
			Overrides []listedOverride
		}
		_, text := rlfunc(strings.Split("override list --json"+at, " ")...)
		if err := json.Unmarshal([]byte(text), &listed); err != nil || listed.Namespace != "shop" || len(listed.Overrides) != 2 {
			t.Fatalf("%v in %s", err, text)
		}
		if o := listed.Overrides[0]; o.Subject != "ip=203.0.113.0/24" || o.Effect != "deny" || o.Factor != 1 || o.Left > 86400 || o.Left < 86000 || o.By != "max" ||
			o.Reason != "flood" || o.Finding != "" || o.Ends.Sub(o.Set) != 24*time.Hour {
			t.Errorf("%+v", o)
		}
		ran(t, exitOK, "override set user=zoe --allow --for 1h --reason test --namespace shop --yes --redis "+e.URL, "user=zoe: set")
		ran(t, exitFindings, "override list"+at, `guards ignore the override of user=zoe: unknown identity "user"`)
		ran(t, exitOK, "override list --namespace shop --redis "+e.URL, "user=zoe")
		ran(t, exitOK, "override clear 203.0.113.0/24 --reason over --by nora --yes"+at, "ip=203.0.113.0/24: cleared; now no override")
		ran(t, exitOK, "override clear ip=203.0.113.0/24 --reason over --by nora --yes"+at, "there was no override")
		ran(t, exitOK, "override clear key=ab12 --reason over --by nora --yes"+at, "key=ab12: cleared; now no override")
		ran(t, exitOK, "override clear user=zoe --reason over --namespace shop --yes --redis "+e.URL, "user=zoe: cleared; now no override")
		ran(t, exitOK, "history"+at, "nora", "override set --multiply 10 --for 7d", "launch", "override clear", "cleared")
		if keys := rdb.Keys(t.Context(), "*").Val(); !slices.Equal(keys, []string{"shop:{history}:changes"}) {
			t.Errorf("keys: %q", keys)
		}
	})
}

// An operator finds an account in any of its spellings.
func TestOperator_subjectsAreFoldedLikeRequests(t *testing.T) {
	const text = "version: 1\nnamespace: shop\ntimeout: 10s\non_failure: closed\nidentities: {user: {func: true, fold: case}, client: {first: [user, ip]}}\n" +
		"endpoints: [{name: chat, limits: [{name: minute, limit: 10, window: 1m}]}]\n"
	file := filepath.Join(t.TempDir(), "policy.yaml")
	write(t, file, text)
	p, err := policy.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	onEach(t, engines.Real(t), func(t *testing.T, e engines.Engine, rdb *redis.Client) {
		at := " --policy " + file + " --redis " + e.URL
		g, err := guard.New(rdb, p, guard.Options{CacheSize: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"user=ada@example.com"}}, 3)
		ran(t, exitOK, "inspect user=Ada@Example.com"+at, "user=Ada@Example.com is user=ada@example.com for the guard", "3 of 10 in 1 min")
		ran(t, exitOK, "override set user=ADA@example.com --multiply 2 --for 1h --reason x --yes"+at, "user=ada@example.com: set")
		ran(t, exitOK, "inspect user=ada@example.com"+at, "3 of 20 in 1 min")
		ran(t, exitOK, "override clear user=Ada@example.com --reason x --yes"+at, "user=ada@example.com: cleared")
		ran(t, exitOK, "reset user=ADA@EXAMPLE.COM --reason x --yes"+at, "user=ada@example.com: reset")
		ran(t, exitOK, "inspect user=ada@example.com"+at, "0 of 10 in 1 min")
	})
}

// What is left of a budget must hold the estimates of the policy, or else guard refuses.
func TestInspect_refusesByTheEstimatesOfEndpoints(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	const text = `
namespace: shop
identities: {user: {header: X-User, claimed: true}}
budgets:
  - {name: day, by: user, budget: 0.05, window: 1d}
  - {name: tokens, by: user, unit: tokens, budget: 100, window: 1h}
endpoints:
  - {name: chat, match: [/chat], cost: {estimate: 0.02}, unbounded: true}
  - {name: draw, match: [/draw], cost: {estimate: 0.02}, unbounded: true}
  - {name: title, match: [/title], cost: {estimate: 0.01, units: {tokens: 60}}, unbounded: true}
  - {name: free, match: [/free], unbounded: true}
`
	write(t, file, text)
	p, err := policy.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	p.Timeout = 10 * time.Second
	onEach(t, engines.Real(t), func(t *testing.T, e engines.Engine, rdb *redis.Client) {
		g, err := guard.New(rdb, p, guard.Options{CacheSize: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		at := "inspect user=ada --policy " + file + " --redis " + e.URL
		spend := func(endpoint string, left int) *guard.Decision {
			return decide(t, g, guard.Request{Endpoint: endpoint, Subjects: []string{"user=ada"}}, left)
		}
		spend("chat", 1)
		ran(t, exitOK, at, "allowed now")
		spend("title", 1)
		ran(t, exitFindings, at, "REFUSED at title for 1 h", "a request reserves 60 tokens, and budget tokens has 40 left")
		spend("title", 1) // refused
		if d := spend("chat", 1); !d.Allowed {
			t.Fatalf("the second chat: %+v", d)
		}
		ran(t, exitFindings, at, "REFUSED at chat, draw for 1 d", "a request reserves 0.02, and budget day has 0 left", "REFUSED at title for 1 d", "REFUSED at title for 1 h")
		ran(t, exitFindings, at+" --json", `"refuses": [`)
		if d := spend("free", 1); !d.Allowed {
			t.Fatalf("a request without a cost: %+v", d)
		}
	})
}

// A combination has limits of its own, and so has each of its identities.
func TestOperator_resetsTheLimitsOfASubject(t *testing.T) {
	onEach(t, engines.Real(t), func(t *testing.T, e engines.Engine, rdb *redis.Client) {
		decide(t, shop(t, rdb), guard.Request{Endpoint: "chat", Subjects: []string{"tenant=a", "key=b", "ip=203.0.113.9"}}, 3)
		at := " --policy " + shopPolicy + " --redis " + e.URL
		ran(t, exitOK, "inspect tenant=a+key=b"+at, "member", "3 of 500 in 1 h")
		ran(t, exitOK, "inspect tenant=a"+at, "team", "3 of 5000 in 1 h", "year", "3 of 90000 every year, UTC")
		ran(t, exitOK, "inspect key=b"+at, "3 of 10 in 1 min", "0.06 of 5")
		ran(t, exitOK, "reset tenant=a+key=b --reason x --yes"+at, "tenant=a+key=b: reset; now nothing")
		ran(t, exitOK, "inspect key=b"+at, "3 of 10 in 1 min", "0.06 of 5")
		ran(t, exitOK, "reset key=b --reason x --yes"+at, "key=b: reset; now nothing")
		ran(t, exitOK, "inspect tenant=a"+at, "3 of 5000 in 1 h")
		ran(t, exitOK, "inspect all"+at, "3 of 1000 in 1 min")
		ran(t, exitOK, "reset tenant=a --limit chat/year --reason x --yes"+at, "tenant=a: reset; now chat/team 3 used in 1 h")
		ran(t, exitOK, "inspect tenant=a"+at, "3 of 5000 in 1 h", "0 of 90000 every year, UTC")
	})
}

// A change that cannot be recorded is not made.
func TestOperator_changesNothingWithoutARecord(t *testing.T) {
	onEach(t, engines.Real(t), func(t *testing.T, e engines.Engine, rdb *redis.Client) {
		g := shop(t, rdb)
		visit(t, rdb, g)
		must(t, rdb.Set(t.Context(), "shop:{history}:changes", "in the way", 0).Err())
		at := " --reason x --yes --policy " + shopPolicy + " --redis " + e.URL
		for _, command := range []string{"unblock key=ab12", "block key=ab12 --for 10h", "reset key=ab12", "override set key=ab12 --allow --for 1h", "override clear key=ab12"} {
			ran(t, exitError, command+at, "nothing was changed")
		}
		if d := decide(t, g, guard.Request{Endpoint: "login", Subjects: []string{"key=ab12"}}, 1); d.Reason != guard.ReasonBlocked || d.RetryAfter > 5*time.Minute {
			t.Errorf("%+v", d)
		}
	})
	ran(t, exitError, "unblock key=ab12 --reason x --yes --namespace shop --redis embedded", "the embedded engine keeps no records")
}

func TestTop_addsUpTheGuardsReports(t *testing.T) {
	onEach(t, engines.Real(t), func(t *testing.T, e engines.Engine, rdb *redis.Client) {
		at := " --policy " + shopPolicy + " --redis " + e.URL
		ran(t, exitOK, "top --once"+at, "no guard of namespace shop reports")
		r, err := report.New(rdb, report.Options{Namespace: "shop", Every: time.Hour, OnError: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		visit(t, rdb, shop(t, rdb, r.Observe))
		r.Close()
		ran(t, exitOK, "top --once"+at, "shop  1 process,", "REFUSED MOST", "ip=203.0.113.7", "key=ab12", "REFUSING LIMITS", "chat minute", "attempts", "##########")
		ran(t, exitOK, "top --once --json"+at, `"requests": 16`, `"refused": 2`, `"name": "chat minute"`)
	})
}

// A table shows names as they cannot harm a terminal, bounds that may be too high, and what it left out.
func TestTop_table(t *testing.T) {
	in := report.Interval{
		Format: 1, Merged: 3, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Seconds: 5, Requests: 1000, Refused: 250,
		Subjects: []report.Count{{Name: "key=z", N: 200}, {Name: "key=a\x1b[2J", N: 50, Over: 3}},
		Limits:   []report.Count{{Name: "chat minute", N: 250}}, Unreadable: []string{"shop:{report}:x\x1b"},
	}
	want := []string{
		"shop  3 processes, 03:04:00 to 03:04:05 UTC", "200.0 requests/s   50.0 refused/s (25.0 %)   0 failed",
		"", "REFUSED MOST                            REFUSALS  PER SEC", "key=z                                        200     40.0 ################", "and 1 more",
		"", "REFUSING LIMITS                         REFUSALS  PER SEC", "chat minute                                  250     50.0 ####################",
		`key "shop:{report}:x\x1b" holds no report of format 1; delete it, or upgrade rlfunc`,
	}
	if diff := cmp.Diff(want, topLines(in, "shop", 1, terminal.Style{ASCII: true})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const second = `"key=a\x1b[2J"                         ~      50     10.0 ####`
	if got := topLines(in, "shop", 2, terminal.Style{ASCII: true})[5]; got != second {
		t.Errorf("got  %s\nwant %s", got, second)
	}
}

// An operator may run its commands and a service may report, and neither may do more.
func TestACL_operatorOfAGuard(t *testing.T) {
	operator := aclLine(t, "operator", "--namespaces", "shop")
	service := aclLine(t, "service", "guard", "cost", "--namespaces", "shop")
	onEach(t, engines.Real(t), func(t *testing.T, e engines.Engine, admin *redis.Client) {
		for _, lib := range inspect.Libraries {
			must(t, admin.FunctionLoad(t.Context(), lib.Code).Err())
		}
		visit(t, admin, shop(t, admin))
		o, err := redis.ParseURL(as(t, e, admin, service))
		if err != nil {
			t.Fatal(err)
		}
		rdb := redis.NewClient(o)
		defer rdb.Close()
		r, err := report.New(rdb, report.Options{Namespace: "shop", Every: time.Hour, OnError: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		decide(t, shop(t, rdb, r.Observe), guard.Request{Endpoint: "login", Subjects: []string{"key=ab12"}}, 1)
		r.Close()
		at := " --policy " + shopPolicy + " --redis " + as(t, e, admin, operator)
		ran(t, exitFindings, "inspect key=ab12"+at, "block tries, tier 1")
		ran(t, exitOK, "inspect all"+at)
		ran(t, exitOK, "top --once"+at, "key=ab12")
		ran(t, exitOK, "unblock key=ab12 --pardon --reason x --yes"+at, "unblocked")
		ran(t, exitOK, "block key=ab12 --for 1m --reason x --yes"+at, "blocked")
		ran(t, exitOK, "reset ip=203.0.113.7 --reason x --yes"+at, "reset")
		rlfuncIn(t, ".", "deploy", "--redis", e.URL)
		if said := ran(t, exitOK, "history"+at, "reset", "deploy "); strings.Contains(said, "warning") {
			t.Errorf("history warns:\n%s", said)
		}
		elsewhere := strings.Replace(at, shopPolicy, "testdata/operate/other.yaml", 1)
		ran(t, exitError, "inspect key=ab12"+elsewhere)
	})
}
