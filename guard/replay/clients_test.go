package replay

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

const identities = `
identities:
  site: {ipv6_prefix: 48}
  key: {header: X-API-Key, verify: {func: true}}
`

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
		{Subject: "ip=192.0.2.1", Requests: 2, Refused: 1, Reason: guard.ReasonLimit, First: r.First, Last: r.First},
		{Subject: "key=ada", Requests: 2, Refused: 1, Reason: guard.ReasonLimit, First: r.First, Last: r.First},
		{Subject: "key=bob", Requests: 1, Refused: 1, Reason: guard.ReasonDenied, First: r.First, Last: r.First},
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
