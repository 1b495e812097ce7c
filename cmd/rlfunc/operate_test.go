package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/audit"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/inspect"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/report"
	"github.com/rlfunc/rlfunc/lua_test/engines"
)

const shopPolicy = "testdata/operate/policy.yaml"

// shop is a guarded service with the policy of testdata; without memory, so that what an operator does takes effect at once.
func shop(t *testing.T, rdb *redis.Client, hooks ...guard.Hooks) *guard.Guard {
	t.Helper()
	p, err := policy.Load(shopPolicy)
	if err != nil {
		t.Fatal(err)
	}
	p.Timeout, p.OnFailure = 10*time.Second, policy.Closed // a slow machine is told, and not let pass
	g, err := guard.New(rdb, p, guard.Options{DenySize: -1, Hooks: hooks})
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

// visit is what a busy evening leaves: a customer over a limit with money reserved and settled, a guesser who is blocked, and challenges.
func visit(t *testing.T, rdb *redis.Client, g *guard.Guard) {
	t.Helper()
	paid := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=203.0.113.7"}}, 1)
	if err := paid.Settle(context.WithoutCancel(t.Context()), 31_500); err != nil {
		t.Fatal(err)
	}
	if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=203.0.113.7"}}, 10); d.Allowed {
		t.Fatalf("the 11th is admitted: %+v", d)
	}
	if d := decide(t, g, guard.Request{Endpoint: "login", Subjects: []string{"key=ab12"}}, 5); d.Reason != guard.ReasonAttempts {
		t.Fatalf("the 5th try: %+v", d)
	}
	challenges, err := challenge.New(rdb, fcall.Options{Namespace: "shop"})
	if err == nil {
		_, err = challenges.Issue(t.Context(), challenge.IssueParams{Bucket: "ip=203.0.113.7", Token: "0123456789abcdef0123456789abcdef", TTL: 5 * time.Minute, Payload: "/v1/chat"})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ran is a command that must end with that code and say all of these.
func ran(t *testing.T, code int, command string, says ...string) string {
	t.Helper()
	got, said := rlfunc(strings.Split(command, " ")...)
	if got != code {
		t.Errorf("rlfunc %s: exit %d, want %d:\n%s", command, got, code, said)
	}
	for _, words := range says {
		if !strings.Contains(said, words) {
			t.Errorf("rlfunc %s: does not say %q:\n%s", command, words, said)
		}
	}
	return said
}

func TestInspect_tellsWhySomebodyIsRefused(t *testing.T) {
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			rdb := e.Client(t)
			visit(t, rdb, shop(t, rdb))
			at := " --policy " + shopPolicy + " --redis " + e.URL
			ran(t, exitDifferences, "inspect 203.0.113.7"+at, "203.0.113.7 is ip=203.0.113.7 for the guard", "REFUSED at chat for", "limit minute",
				"limits of every endpoint", "10 of 100 in 1 h", "10 of 10 in 1 min", "admits again at", "settled        0.0315", "open             0.02", "unused   01234567...", "for /v1/chat",
				"admitted by chat/minute, last 1 min")
			ran(t, exitDifferences, "inspect key=ab12"+at, "REFUSED everywhere for 5 min, until", "blocked by tier 1", "5 of 5 in 10 min", "strikes that count: 1")
			ran(t, exitFine, "inspect key=unknown"+at, "nothing is known of it")
			ran(t, exitFine, "inspect --global"+at, "limits at chat", "10 of 1000 in 1 min")
			_, text := rlfunc(strings.Split("inspect ip=203.0.113.7 --json"+at, " ")...)
			var r inspect.Report
			if err := json.Unmarshal([]byte(text[strings.Index(text, "{"):]), &r); err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			if len(r.Reservations) != 10 || len(r.Challenges) != 1 || len(r.Limits) != 4 || len(r.Limits[1].Admissions) != 10 || !r.Refused || !r.Known {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestOperator_blocksUnblocksAndResetsOnTheRecord(t *testing.T) {
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			rdb := e.Client(t)
			g := shop(t, rdb)
			visit(t, rdb, g)
			at := " --policy " + shopPolicy + " --redis " + e.URL
			decides := func(subject, endpoint string, want guard.Reason) {
				t.Helper()
				if d := decide(t, g, guard.Request{Endpoint: endpoint, Subjects: []string{subject}}, 1); d.Reason != want {
					t.Errorf("%s at %s: %q, want %q", subject, endpoint, d.Reason, want)
				}
			}
			ran(t, exitError, "unblock key=ab12 --yes"+at, "give --reason")
			ran(t, exitDifferences, "unblock key=ab12 --reason x"+at, "blocked by tier 1 until", "give --yes")
			decides("key=ab12", "login", guard.ReasonBlocked)
			ran(t, exitFine, "unblock key=ab12 --reason customer --by nora --yes"+at, "key=ab12: unblocked")
			decides("key=ab12", "login", guard.ReasonNone)
			ran(t, exitFine, "reset ip=203.0.113.7 --limit chat/minute --limit chat/burst --reason test --yes"+at, "ip=203.0.113.7: reset")
			decides("ip=203.0.113.7", "chat", guard.ReasonNone)
			ran(t, exitError, "reset ip=203.0.113.7 --limit minute --reason test --yes"+at, `the policy has no limit "minute" (limits: hour, chat/minute, chat/burst, chat/team, chat/member, login/tries, cost)`)
			ran(t, exitError, "reset ip=203.0.113.7 --limit chat/team --reason test --yes"+at, "limit chat/team does not count ip=203.0.113.7: it is by tenant")
			ran(t, exitError, "reset ip=203.0.113.7 --limit chat/all --reason test --yes"+at, "limit chat/all does not count ip=203.0.113.7: it is by all")
			ran(t, exitFine, "reset ip=203.0.113.7 --reason test --yes"+at)
			ran(t, exitFine, "block 203.0.113.7 --for 1h --reason scraper --by nora --yes"+at, "blocked for 1 h")
			decides("ip=203.0.113.7", "chat", guard.ReasonBlocked)
			ran(t, exitDifferences, "block 203.0.113.7 --for 1m --reason scraper --yes"+at, "a block that ends later holds")
			ran(t, exitDifferences, "inspect 203.0.113.7"+at, "blocked by hand: scraper")
			ran(t, exitFine, "unblock 203.0.113.7 --pardon --reason mistake --yes"+at)

			entries, err := audit.Open(rdb, "shop").Last(t.Context(), 100)
			if err != nil || len(entries) != 6 {
				t.Fatalf("%+v, %v", entries, err)
			}
			first := entries[5]
			if first.By != "nora" || first.Command != "unblock" || first.Subject != "key=ab12" || first.Reason != "customer" || first.Result != "unblocked" ||
				!strings.Contains(first.Before, "blocked by tier 1") || strings.Contains(first.After, "blocked") || time.Since(first.At) > time.Hour {
				t.Errorf("%+v", first)
			}
			ran(t, exitFine, "audit"+at, "WHEN", "nora", "block --for 1h0m0s", "scraper", "unblock --pardon", "mistake")
		})
	}
}

// A command that changes something acts on the service that it was given, and on no other.
func TestOperator_namesItsService(t *testing.T) {
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			rdb := e.Client(t)
			at := " --reason x --yes --redis " + e.URL
			for _, command := range []string{"block user=zoe --for 1h", "unblock user=zoe", "reset user=zoe", "override set user=zoe --deny --for 1h", "override clear user=zoe", "override clear --all"} {
				ran(t, exitError, command+at, "no policy: give --policy FILE, or --namespace NAME")
			}
			for _, command := range []string{"block user=zoe --for 1h", "unblock user=zoe", "reset user=zoe"} {
				ran(t, exitError, command+at+" --policy "+shopPolicy, `the policy has no identity "user" (identities: ip, key, tenant)`)
			}
			if keys := rdb.Keys(t.Context(), "*").Val(); len(keys) > 0 {
				t.Errorf("keys: %q", keys)
			}
			ran(t, exitFine, "block user=zoe --for 1h --namespace shop"+at, "user=zoe: blocked for 1 h")
			g := shop(t, rdb)
			if d := decide(t, g, guard.Request{Endpoint: "login", Subjects: []string{"user=zoe", "ip=203.0.113.9"}}, 1); d.Reason != guard.ReasonBlocked || d.Refused != "user=zoe" {
				t.Errorf("%+v", d)
			}
			ran(t, exitFine, "unblock user=zoe --namespace shop"+at, "user=zoe: unblocked")
			if d := decide(t, g, guard.Request{Endpoint: "login", Subjects: []string{"user=zoe", "ip=203.0.113.9"}}, 1); !d.Allowed {
				t.Errorf("%+v", d)
			}
			ran(t, exitFine, "audit --namespace shop --redis "+e.URL, "user=zoe", "unblocked")
		})
	}
}

// An override holds from the next look of a guard to its end, on the record.
func TestOverride_isSetListedAndClearedOnTheRecord(t *testing.T) {
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			rdb := e.Client(t)
			at := " --policy " + shopPolicy + " --redis " + e.URL
			ran(t, exitFine, "override list"+at, "namespace shop has no overrides")
			ran(t, exitDifferences, "override set key=ab12 --multiply 10 --for 7d --reason launch"+at, "key=ab12: no override", "give --yes")
			ran(t, exitFine, "override list"+at, "namespace shop has no overrides")
			ran(t, exitFine, "override set key=ab12 --multiply 10 --for 7d --reason launch --by nora --yes"+at, "key=ab12: set; now multiply 10 until", "by nora (launch)")
			ran(t, exitFine, "inspect key=ab12"+at, "has 10 times each limit and budget, by an override (rlfunc override list)", "0 of 1000 in 1 h")
			ran(t, exitFine, "override set key=ab12 --allow --for 1h --reason demo --by nora --yes"+at, "key=ab12: multiply 10 until", "key=ab12: replaced; now allow until")
			ran(t, exitFine, "override set ::ffff:203.0.113.0/120 --deny --for 1d --reason flood --by max --yes"+at, "ip=203.0.113.0/24: set; now deny until")
			ran(t, exitDifferences, "inspect 203.0.113.7"+at, "REFUSED by an override (rlfunc override list)")
			ran(t, exitFine, "inspect key=ab12"+at, "never limited by an override (rlfunc override list), whatever else")
			ran(t, exitFine, "override list"+at, "SUBJECT", "ip=203.0.113.0/24  deny    1 d   ", "key=ab12           allow   1 h   ", "nora", "flood")
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
			ran(t, exitFine, "override set user=zoe --allow --for 1h --reason test --namespace shop --yes --redis "+e.URL, "user=zoe: set")
			ran(t, exitDifferences, "override list"+at, `guards ignore the override of user=zoe: unknown identity "user"`)
			ran(t, exitFine, "override list --namespace shop --redis "+e.URL, "user=zoe")
			ran(t, exitFine, "override clear 203.0.113.0/24 --reason over --by nora --yes"+at, "ip=203.0.113.0/24: cleared; now no override")
			ran(t, exitFine, "override clear ip=203.0.113.0/24 --reason over --by nora --yes"+at, "there was nothing to clear")
			ran(t, exitFine, "override clear --all --reason over --by nora --yes"+at, "all overrides: 2 set at run time", "all overrides: cleared; now 0 set at run time")
			ran(t, exitFine, "audit"+at, "nora", "override set --multiply 10 --for 168h0m0s", "launch", "override clear --all", "all overrides", "cleared")
			if keys := rdb.Keys(t.Context(), "*").Val(); !slices.Equal(keys, []string{"shop:{audit}:log"}) {
				t.Errorf("keys: %q", keys)
			}
		})
	}
}

// A combination has limits of its own, and so has each of its identities.
func TestOperator_resetsWhatCountsASubject(t *testing.T) {
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			rdb := e.Client(t)
			decide(t, shop(t, rdb), guard.Request{Endpoint: "chat", Subjects: []string{"tenant=a", "key=b", "ip=203.0.113.9"}}, 3)
			at := " --policy " + shopPolicy + " --redis " + e.URL
			ran(t, exitFine, "inspect tenant=a+key=b"+at, "member", "3 of 500 in 1 h")
			ran(t, exitFine, "inspect tenant=a"+at, "team", "3 of 5000 in 1 h")
			ran(t, exitFine, "inspect key=b"+at, "3 of 10 in 1 min", "0.06 of 5")
			ran(t, exitFine, "reset tenant=a+key=b --reason x --yes"+at, "tenant=a+key=b: reset; now nothing")
			ran(t, exitFine, "inspect key=b"+at, "3 of 10 in 1 min", "0.06 of 5")
			ran(t, exitFine, "reset key=b --reason x --yes"+at, "key=b: reset; now nothing")
			ran(t, exitFine, "inspect tenant=a"+at, "3 of 5000 in 1 h")
			ran(t, exitFine, "inspect --global"+at, "3 of 1000 in 1 min")
		})
	}
}

// What cannot be recorded is not done.
func TestOperator_whatIsNotRecordedIsNotDone(t *testing.T) {
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			rdb := e.Client(t)
			g := shop(t, rdb)
			visit(t, rdb, g)
			if err := rdb.Set(t.Context(), "shop:{audit}:log", "in the way", 0).Err(); err != nil {
				t.Fatal(err)
			}
			at := " --reason x --yes --policy " + shopPolicy + " --redis " + e.URL
			for _, command := range []string{"unblock key=ab12", "block key=ab12 --for 10h", "reset key=ab12", "override set key=ab12 --allow --for 1h", "override clear --all"} {
				ran(t, exitError, command+at, "so that nothing was changed")
			}
			if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"key=ab12"}}, 1); d.Reason != guard.ReasonBlocked || d.RetryAfter > 5*time.Minute {
				t.Errorf("%+v", d)
			}
		})
	}
	ran(t, exitError, "unblock key=ab12 --reason x --yes --namespace shop --redis embedded", "the embedded engine has no streams")
}

func TestTop_addsUpWhatTheGuardsReport(t *testing.T) {
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			rdb := e.Client(t)
			at := " --policy " + shopPolicy + " --redis " + e.URL
			ran(t, exitFine, "top --once"+at, "no guard of namespace shop reports")
			r, err := report.New(rdb, report.Options{Namespace: "shop", Every: time.Hour, OnError: func(err error) { t.Error(err) }})
			if err != nil {
				t.Fatal(err)
			}
			visit(t, rdb, shop(t, rdb, r.Hooks()))
			r.Close()
			ran(t, exitFine, "top --once"+at, "shop  1 process,", "REFUSED MOST", "ip=203.0.113.7", "key=ab12", "WHAT REFUSES", "chat minute", "attempts", "##########")
			ran(t, exitFine, "top --once --json"+at, `"requests": 16`, `"refused": 2`, `"name": "chat minute"`)
		})
	}
	ran(t, exitError, "top --every 1ms --redis embedded", "--every must be at least 100ms")
}

// The roles suffice: an operator for its commands, a service for its reports; and no more.
func TestACL_operatorOfAGuard(t *testing.T) {
	operator := aclLine(t, "operator", "--namespace", "shop")
	service := aclLine(t, "service", "guard", "cost", "--namespace", "shop")
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			admin := e.Client(t)
			for _, lib := range inspect.Libraries {
				if err := admin.FunctionLoad(t.Context(), lib.Code).Err(); err != nil {
					t.Fatal(err)
				}
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
			decide(t, shop(t, rdb, r.Hooks()), guard.Request{Endpoint: "chat", Subjects: []string{"key=ab12"}}, 1)
			r.Close()
			at := " --policy " + shopPolicy + " --redis " + as(t, e, admin, operator)
			ran(t, exitDifferences, "inspect key=ab12"+at, "blocked by tier 1")
			ran(t, exitFine, "inspect --global"+at)
			ran(t, exitFine, "top --once"+at, "key=ab12")
			ran(t, exitFine, "unblock key=ab12 --pardon --reason x --yes"+at, "unblocked")
			ran(t, exitFine, "block key=ab12 --for 1m --reason x --yes"+at, "blocked")
			ran(t, exitFine, "reset ip=203.0.113.7 --reason x --yes"+at, "reset")
			ran(t, exitFine, "audit"+at, "reset")
			elsewhere := strings.Replace(at, shopPolicy, "testdata/operate/other.yaml", 1)
			ran(t, exitError, "inspect key=ab12"+elsewhere)
		})
	}
}
