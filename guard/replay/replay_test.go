package replay

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func mustPolicy(t testing.TB, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func replay(t testing.TB, log string, p *policy.Policy, o Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), strings.NewReader(log), p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// hostile is a log with markup and terminal escape codes.
const hostile = `{"time":"2026-03-01T06:00:00Z","ip":"192.0.2.1","method":"GET","path":"/v1/items?</title><script>alert(1)</script>","user":"</td><script>alert(1)</script>"}
{"time":"2026-03-01T06:00:01Z","ip":"192.0.2.1","method":"GET","path":"/v1/items","user":"</td><script>alert(1)</script>"}
{"time":"2026-03-01T06:00:02Z","ip":"192.0.2.1","method":"GET","path":"/v1/items","user":"\u001b[31mred\" onload=\"alert(1)"}
{"time":"2026-03-01T06:00:03Z","ip":"192.0.2.1","method":"GET","path":"/v1/items","user":"\u001b[31mred\" onload=\"alert(1)"}
{"time":"2026-03-01T06:00:04Z","ip":"<img src=x onerror=alert(1)>","method":"GET","path":"/v1/items"}
`

func hostileReport(t *testing.T) *Report {
	p := mustPolicy(t, `
identities: {key: {header: X-API-Key, verify: {func: true}}, client: {first: [key, ip]}}
limits: [{name: minute, limit: 1, window: 1m}]
blocks: [{name: many, attempts: all, tiers: [{threshold: 2, window: 1m, block: 1m}]}]
endpoints: [{name: items, match: ["GET /v1/items"], block: many}]`)
	r := replay(t, hostile, p, Options{Subject: ByUser})
	if r.Refused != 2 || r.Blocks != 2 || r.Unreadable != 1 {
		t.Fatalf("refused %d, blocks %d, unreadable %d", r.Refused, r.Blocks, r.Unreadable)
	}
	r.Log = `<b>"access".log`
	return r
}

func TestWriteHTML_escapesTextOfTheLog(t *testing.T) {
	var b bytes.Buffer
	if err := hostileReport(t).WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	allowed := "html head meta title style body main h1 h2 p div b span section i svg line text g rect circle table tr td th details summary ul li br "
	d := xml.NewDecoder(&b)
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	seen := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			if text, ok := token.(xml.CharData); ok && strings.ContainsAny(string(text), "\x1b") {
				t.Errorf("escape code in %q", text)
			}
			continue
		}
		seen++
		if !strings.Contains(allowed, element.Name.Local+" ") {
			t.Errorf("element %s", element.Name.Local)
		}
		for _, a := range element.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "src" || a.Name.Local == "href" {
				t.Errorf("attribute %s of %s", a.Name.Local, element.Name.Local)
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d elements: the page was not read to its end", seen)
	}
}

func TestWriteText_quotesUnprintableText(t *testing.T) {
	var b bytes.Buffer
	if err := hostileReport(t).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "\x1b") || !strings.Contains(b.String(), `"key=`) && !strings.Contains(b.String(), `key=`) {
		t.Errorf("got %q", b.String())
	}
}

func TestRun_errors(t *testing.T) {
	p := mustPolicy(t, `endpoints: [{name: items, match: ["GET /v1/items"], unbounded: true}]`)
	for log, want := range map[string]error{"": ErrEmpty, "\n\n": ErrEmpty, "garbage\n": ErrNothing} {
		if _, err := Run(t.Context(), strings.NewReader(log), p, Options{}); !errors.Is(err, want) {
			t.Errorf("%q: got %v", log, err)
		}
	}
}

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
	if r, err := Run(t.Context(), strings.NewReader(log.String()), p, Options{}); err != nil || r.Duplicates != 3 || r.Refused != 1 {
		t.Errorf("%+v, %v: want 3 duplicates, 1 refused", r, err)
	}
}

func TestRun_countsLinesThatGuardDoesNotDecide(t *testing.T) {
	line := `{"time":"2026-03-01T06:00:00Z","ip":"192.0.2.1","method":"GET","path":"/healthz","status":200}` + "\n"
	p := "exempt: [/healthz]\nendpoints: [{name: a, match: [/], limits: [{name: minute, by: ip, limit: 1, window: 1m}]}]"
	r := replay(t, strings.Repeat(line, 3)+strings.Replace(line, "/healthz", "/a", 1), mustPolicy(t, p), Options{})
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	preflight := strings.Replace(strings.Replace(line, "GET", "OPTIONS", 1), "/healthz", "/a", 1)
	for exempt, want := range map[string]bool{"": true, ", OPTIONS /": false} {
		if r := replay(t, line+preflight, mustPolicy(t, strings.Replace(p, "/healthz", "GET /healthz"+exempt, 1)), Options{}); r.Complete != want || (len(r.Notes) == 0) != want {
			t.Errorf("complete %v, notes %v", r.Complete, r.Notes)
		}
	}
	if r.Exempt != 3 || r.Requests != 1 || r.Unmatched != 0 || !strings.Contains(text.String(), "3 lines are exempt") {
		t.Errorf("%d exempt, %d requests, %d unmatched:\n%s", r.Exempt, r.Requests, r.Unmatched, &text)
	}
}

// What a log does not tell is listed, and then the report is not complete.
func TestRun_saysWhatItCannotDecide(t *testing.T) {
	const whole = "endpoints: [{name: a, match: [/a], limits: [{name: minute, by: ip, limit: 5, window: 1m}]}]"
	line := `{"time":"2026-03-01T06:00:00Z","ip":"192.0.2.1","method":"GET","path":"/a","status":200}` + "\n"
	silent := strings.Replace(line, `,"status":200`, "", 1)
	for what, c := range map[string]struct {
		log, policy string
		note        string
	}{
		"nothing":                {line, whole, ""},
		"no status":              {silent, whole, ""},
		"responses":              {line, strings.Replace(whole, "window: 1m", "window: 1m, count: {status: [401]}", 1), ""},
		"responses, no status":   {silent, strings.Replace(whole, "window: 1m", "window: 1m, count: {status: [401]}", 1), "Some lines have no status"},
		"an identity":            {line, "identities: {key: {func: true}}\n" + strings.Replace(whole, "{name: minute", "{name: keyed, by: key, limit: 9, window: 1m}, {name: minute", 1), "Left out: a/keyed (by key)"},
		"requests at a time":     {line, strings.Replace(whole, "{name: minute", "{name: places, kind: concurrency, limit: 2}, {name: minute", 1), "Left out: a/places (by client): a log does not say which requests ran at the same time"},
		"a challenge":            {line, strings.Replace(whole, "limits:", "challenge: {required: true}, limits:", 1), "Challenges are left out"},
		"what it cost":           {line, `budgets: [{name: day, budget: "1", window: 24h}]` + "\n" + strings.Replace(whole, "limits:", `cost: {estimate: "0.1"}, limits:`, 1), "Budgets are charged"},
		"who has a plan":         {line, "identities: {user: {func: true}}\nplans: {by: user}\n" + strings.Replace(whole, "limit: 5", "limit: {default: 5, pro: 9}", 1), "which clients have a plan"},
		"a line in another form": {line + `{"time":"x"}` + "\n", whole, ""},
	} {
		r := replay(t, c.log, mustPolicy(t, c.policy), Options{})
		complete := c.note == "" && !strings.Contains(c.log, `"x"`)
		if r.Complete != complete || r.Requests != 1 || r.Allowed != 1 || !strings.Contains(strings.Join(r.Notes, "\n"), c.note) || complete == strings.Contains(r.Verdict(), "as far as the log tells") {
			t.Errorf("%s: %+v", what, r)
		}
	}
}
