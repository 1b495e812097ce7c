package replay

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

const identities = `
identities:
  ip: {ipv6_prefix: 64}
  site: {ipv6_prefix: 48}
  near: {ipv6_prefix: 64}
  user: {jwt: {claim: sub, keys: keys.json}}
  key: {header: X-API-Key, verify: {func: true}}
  tenant: {jwt: {claim: org}}
`

// Run skips limits whose subject is not known for each line.
func TestRun_reportsSkippedLimits(t *testing.T) {
	const limits = `
limits:
  - {name: client, limit: 10, window: 1m}
  - {name: ip, by: ip, limit: 10, window: 1m}
  - {name: near, by: near, limit: 10, window: 1m}
  - {name: site, by: site, limit: 10, window: 1m}
  - {name: user, by: user, limit: 10, window: 1m}
  - {name: both, by: [tenant, ip], limit: 10, window: 1m}
  - {name: all, by: all, limit: 1000, window: 1m}
cost: {by: tenant, budgets: [{name: day, budget: "1", window: 1d}]}
abuse: {by: key, tiers: [{threshold: 5, window: 1m, block: 1m}]}
endpoints: [{name: chat, match: ["POST /v1/chat"], cost: {estimate: "1"}, abuse: all, limits: [{name: path, by: [ip, key], limit: 10, window: 1m}]}]`
	log := `{"time":"2026-03-01T06:00:00Z","ip":"192.0.2.1","method":"POST","path":"/v1/chat","user":"ada"}` + "\n"
	for _, c := range []struct {
		name, client, by string
		left             []string
		each             string
	}{
		{"by ip", "", "ip", []string{"site", "user", "both", "chat/path", "cost", "abuse"}, "its address (ip)."},
		{"by ip of a client that may be a user", "first: [user, ip]", "ip", []string{"site", "user", "both", "chat/path", "cost", "abuse"}, "its address (ip)."},
		{"by ip of a client that is a site", "first: [site]", "ip", []string{"ip", "near", "user", "both", "chat/path", "cost", "abuse"}, "its address (site)."},
		{"by ip of a client without an address", "first: [user]", "ip", []string{"client", "site", "user", "both", "chat/path", "cost", "abuse"}, "its address (ip)."},
		{"by user", "first: [user, ip]", "user", []string{"ip", "near", "site", "both", "chat/path", "cost", "abuse"}, "its user (user), or without one for its address (ip)."},
		{"by user that is a key", "first: [key, ip]", "user", []string{"ip", "near", "site", "user", "both", "chat/path", "cost"}, "its user (key), or without one for its address (ip)."},
		{"by user of a client that is the address", "", "user", []string{"ip", "near", "site", "both", "chat/path", "cost", "abuse"}, "its user (user), or without one for its address (ip)."},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := identities
			if c.client != "" {
				text += "  client: {" + c.client + "}\n"
			}
			r := replay(t, log, mustPolicy(t, text+limits), Options{Subject: Subject(c.by)})
			var left []string
			for _, l := range r.LeftOut {
				left = append(left, l.Name)
			}
			if diff := cmp.Diff(c.left, left); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
			for i := range r.Limits {
				if slices.Contains(left, r.Limits[i].Title()) {
					t.Errorf("%s is counted", r.Limits[i].Title())
				}
			}
			if note := strings.Join(r.Notes, "\n"); !strings.Contains(note, "Left out: "+c.left[0]+" (by ") || !strings.Contains(note, "Each line counts for one identity, "+c.each) {
				t.Errorf("notes: %s", note)
			}
		})
	}
}

func TestRun_lineCountsForUserOrAddress(t *testing.T) {
	p := mustPolicy(t, identities+`
  client: {first: [key, ip]}
limits:
  - {name: minute, limit: 1, window: 1m}
  - {name: keyed, by: key, limit: 2, window: 1h}
overrides: {deny: ["ip=192.0.2.9"], allow: ["site=2001:db8:1::/48"]}
endpoints: [{name: chat, match: ["POST /v1/chat"]}]`)
	line := func(addr, user string) string {
		return `{"time":"2026-03-01T06:00:00Z","ip":"` + addr + `","method":"POST","path":"/v1/chat","user":"` + user + `"}` + "\n"
	}
	log := line("192.0.2.1", "ada") + line("192.0.2.2", "ada") + // one client
		line("192.0.2.1", "") + line("192.0.2.1", "") + // another one
		line("192.0.2.9", "bob") + // the address is denied for all users
		line("2001:db8:1::7", "eve") + line("2001:db8:1::7", "eve") // the site is allowed
	r := replay(t, log, p, Options{Subject: ByUser})
	want := []SubjectCount{
		{Subject: "ip=192.0.2.1", Requests: 2, Refused: 1, Reason: ReasonLimit, First: r.First, Last: r.First},
		{Subject: "key=ada", Requests: 2, Refused: 1, Reason: ReasonLimit, First: r.First, Last: r.First},
		{Subject: "key=bob", Requests: 1, Refused: 1, Reason: ReasonDenied, First: r.First, Last: r.First},
	}
	if diff := cmp.Diff(want, r.Top); diff != "" || r.Allowed != 4 {
		t.Errorf("%d allowed (-want +got):\n%s", r.Allowed, diff)
	}
}

// An ID passes uncounted at one endpoint with one method, and only as often as the policy says.
func TestRun_countsIDOncePerEndpointAndMethod(t *testing.T) {
	p := mustPolicy(t, `
limits: [{name: minute, limit: 4, window: 1m}]
endpoints:
  - {name: chat, match: ["/v1/chat"], idempotency: {header: Idempotency-Key}}
  - {name: pay, match: ["/v1/pay"], idempotency: {header: Idempotency-Key, repeats: 2}}
  - {name: items, match: ["/v1/items"]}`)
	var log strings.Builder
	for _, request := range []string{"POST /v1/chat", "POST /v1/chat", "POST /v1/chat", "PUT /v1/chat", "POST /v1/pay", "POST /v1/pay", "POST /v1/pay", "POST /v1/items"} {
		method, path, _ := strings.Cut(request, " ")
		log.WriteString(`{"time":"2026-03-01T06:00:00Z","ip":"192.0.2.1","method":"` + method + `","path":"` + path + `","id":"one"}` + "\n")
	}
	reader, err := accesslog.NewReader(strings.NewReader(log.String()), accesslog.Options{Fields: map[string]string{"id": "id"}})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Run(t.Context(), reader, p, Options{}); err != nil || r.Duplicates != 3 || r.Refused != 1 {
		t.Errorf("%+v, %v: want 3 duplicates, 1 refused", r, err)
	}
}
