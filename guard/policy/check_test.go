package policy

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A policy that Go code made has the problems of a file, without their places.
func TestCheck_ofAPolicyInGo(t *testing.T) {
	p := &Policy{
		OnFailure: "opne",
		Limits:    []Limit{{Name: "a/b", Limit: 1_000_001, Window: time.Minute}, {}},
		Blocks:    []Block{{Name: "many", Attempts: "some", Escalation: []time.Duration{0}}},
		Endpoints: []Endpoint{{
			Name: "chat", Idempotency: &Idempotency{Header: "X Y", For: -time.Second}, Unbounded: true, Block: "may", Challenge: &Challenge{Header: "X Y"},
		}},
		Overrides: Overrides{Deny: []string{"ip=10.0.0.1/8", ""}, Multiply: map[string]int64{"ip=10.0.0.1": 0}},
	}
	wantProblems(t, p.Check(), `
on_failure: must be open, closed or local, got "opne"; did you mean open?
limits[0].name: must be 1 to 32 of the characters A-Z a-z 0-9 _ -, got "a/b"
limits[1].name: is required
limits[1].limit: is required
limits[1].window: is required
blocks[0].attempts: must be all or refused, got "some"
blocks[0].tiers: is required
blocks[0].escalation[0]: must be 1ms to 3650d, got 0s
endpoints[0].idempotency.header: must be a header name, got "X Y"
endpoints[0].idempotency.for: must be 1ms to 3650d, got -1s
endpoints[0].challenge.header: must be a header name, got "X Y"
overrides.deny[0]: must have no host bits set, as in 10.0.0.0/8, got "ip=10.0.0.1/8"
overrides.deny[1]: must be a subject of 1 to 512 bytes, such as user=42, got ""
overrides.multiply["ip=10.0.0.1"]: must be 1 to 1000000, got 0
limits[0].kind: a limit above 1000 must have a kind, because sliding_log, the default, stores each request: use gcra, sliding_counter, fixed_window or quota, or say sliding_log
endpoints[0].block: unknown block "may"; did you mean many?
`)
}

func TestCheck_acceptsTheZeroPolicy(t *testing.T) {
	if err := new(Policy).Check(); err != nil {
		t.Error(err)
	}
}

// wantProblems compares an error with the expected lines.
func wantProblems(t *testing.T, err error, want string) {
	t.Helper()
	var e *Error
	got := ""
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("not a *policy.Error: %v", err)
	}
	if e != nil {
		got = "\n" + e.Error() + "\n"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s\ngot:%s", diff, got)
	}
}

// An exempt pattern may be a part of an endpoint's: it is what the endpoint does not count.
func TestCheck_acceptsExemptPartsOfEndpoints(t *testing.T) {
	for _, exempt := range []string{
		"/healthz", "GET /healthz", "/v1/healthz", "/v1/{id}/healthz", "/static/", "/static/{rest...}", "/static/{$}", "GET /v1/chat/7", "/v1/chat/{id}/{part}",
		"/files/{$}", "/files/a/{rest...}", "/files/{a}/", "admin.example.com/metrics", "other.example.com/api/", "PUT /v1/chats", "/grpc.health.v1.Health/*",
		"/chat.Chat/Ping", "/exact/below/",
	} {
		p := &Policy{
			Exempt: []string{exempt},
			Endpoints: []Endpoint{{
				Name: "all", Unbounded: true,
				Match: []string{
					"/", "GET /v1/", "POST /v1/", "POST /v1/chats", "GET /v1/chat/{id}", "/files/", "/chat.Chat/*", "api.example.com/api/", "/exact/below",
				},
			}},
		}
		if err := p.Check(); err != nil {
			t.Errorf("%s: %v", exempt, err)
		}
	}
}

func TestCheck_prefetch(t *testing.T) {
	const all = "limits: [{name: a, by: all, kind: gcra, limit: 5000, window: 1s, burst: 100, prefetch: {most: 100}}]"
	p, err := Parse("all.yaml", []byte(all))
	if err != nil {
		t.Fatal(err)
	}
	if p, err = p.Complete(); err != nil || *p.Limits[0].Prefetch != (Prefetch{Most: 100, For: 100 * time.Millisecond}) {
		t.Fatal(p, err)
	}
	for _, c := range []struct{ old, now, want string }{
		{"most: 100", "most: 101", "limits[0].prefetch.most: must be at most what the limit admits at once, 100, got 101"},
		{"most: 100", "most: 1", "limits[0].prefetch.most: must be 2 to 10000, got 1"},
		{"most: 100", "for: 1s", "limits[0].prefetch.most: is required"},
		{"most: 100", "most: 100, for: 11s", "limits[0].prefetch.for: must be 1ms to 10s, got 11s"},
		{"by: all, ", "", "limits[0].prefetch: applies only to a global limit, by: all"},
		{"kind: gcra, limit: 5000, window: 1s, burst: 100", "limit: 5000, window: 1s", "limits[0].prefetch: applies only to kind gcra, fixed_window and quota, not to sliding_log"},
		{"kind: gcra, limit: 5000, window: 1s, burst: 100", "kind: quota, every: day, limit: 99", "limits[0].prefetch.most: must be at most what the limit admits at once, 99, got 100"},
		{"burst: 100", "burst: 100, weight: 2", "limits[0].prefetch: applies only with weight 1, got 2"},
		{"burst: 100", "burst: 100, count: {status: [401]}", "limits[0].prefetch: must not be combined with count"},
	} {
		if _, err := Parse("all.yaml", []byte(strings.Replace(all, c.old, c.now, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.now, err, c.want)
		}
	}
}

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
