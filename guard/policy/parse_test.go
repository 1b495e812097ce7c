package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/rlfunc/rlfunc/guard/identity"
)

const everything = `# yaml-language-server: $schema=schema.json
version: 1
namespace: chat
timeout: 20ms
on_failure: local
share: 0.5
paths: clean
escapes: keep
unmatched: refuse
identities:
  ip: {ipv4_prefix: 24, ipv6_prefix: 56, trusted_proxies: [10.0.0.0/8, "::1"], forwarded_header: X-Real-Ip}
  site: {ipv6_prefix: 48}
  user: {jwt: {claim: sub, keys: jwks.json, issuer: "https://id.example", audience: chat, header: X-Token}}
  tenant: {jwt: {claim: org, cookie: token}}
  key: {header: X-Key, verify: {sha256_file: keys.txt}}
  seat: {cookie: seat, verify: {func: true}}
  device: {fingerprint: X-Print, verify: {hmac_file: secrets.txt}}
  page: {query: page, claimed: true}
  team: {path: team, claimed: true}
  mesh: {certificate: uri}
  own: {func: true}
  client: {first: [user, key, ip]}
limits:
  - {name: hour, kind: fixed_window, rate: {default: 500/1h, pro: 1000/1h}}
  - {name: all, by: all, kind: sliding_counter, limit: 1000, window: 1s, on_failure: open}
budgets:
  - {name: day, by: [tenant, user], budget: {default: "5.00", pro: "50.00"}, window: 24h, on_failure: closed}
  - {name: month, by: [tenant, user], budget: 100, window: 30d, on_failure: closed}
blocks:
  - name: many
    by: ip
    tiers: [{threshold: 5, window: 1m, block: 5m}]
    escalation: [5m, 1h, 24h]
    strike_memory: 720h
    on_failure: open
endpoints:
  - name: chat
    match: ["POST /v1/chat", "/v1/chat/{id}", "/pkg.Service/Method", "/pkg.Service/*"]
    idempotency: {header: Idempotency-Key, for: 1h, repeats: 0}
    unbounded: true
    limits:
      - {name: minute, by: [tenant, page], limit: {default: 10, Enterprise: 1000}, window: 1m, count: {status: [401, 403], code: [Unauthenticated]}, shadow: true}
      - name: burst
        kind: gcra
        limit:
          default: 2
          pro: 4
        window: 1.5s
        burst: {default: 20, pro: 40}
        weight: {default: 3, pro: 4}
        on_failure: closed
      - {name: every, by: all, kind: gcra, limit: 1000, window: 1s}
    cost: {estimate: 0.000001, hold: 2m, penalty: 1h}
    block: many
    challenge: {by: device, required: true, ttl: 5m, header: X-Once}
plans: {by: tenant}
overrides:
  allow: ["key=internal"]
  deny: ["ip=203.0.113.0/24", "ip=2001:db8::/32"]
  multiply: {"key=partner": 10}
`

// wantEverything is the policy in everything.
func wantEverything() *Policy {
	return &Policy{
		Version: 1, Namespace: "chat", Timeout: 20 * time.Millisecond, OnFailure: Local, Share: 0.5,
		Paths: PathsClean, Escapes: EscapesKeep, Unmatched: UnmatchedRefuse,
		Identities: map[string]Identity{
			"ip":     {IPv4Prefix: 24, IPv6Prefix: 56, TrustedProxies: []string{"10.0.0.0/8", "::1"}, ForwardedHeader: "X-Real-Ip"},
			"site":   {IPv6Prefix: 48},
			"user":   {JWT: &JWT{Claim: "sub", Keys: "jwks.json", Issuer: "https://id.example", Audience: "chat", Header: "X-Token"}},
			"tenant": {JWT: &JWT{Claim: "org", Cookie: "token"}},
			"key":    {Header: "X-Key", Verify: &Verify{SHA256File: "keys.txt"}},
			"seat":   {Cookie: "seat", Verify: &Verify{Func: true}},
			"device": {Fingerprint: "X-Print", Verify: &Verify{HMACFile: "secrets.txt"}},
			"page":   {Query: "page", Claimed: true},
			"team":   {Path: "team", Claimed: true},
			"mesh":   {Certificate: identity.CertificateURI},
			"own":    {Func: true},
			"client": {First: []string{"user", "key", "ip"}},
		},
		Limits: []Limit{
			{Name: "hour", Kind: FixedWindow, Limit: 500, Window: time.Hour},
			{Name: "all", By: By{"all"}, Kind: SlidingCounter, Limit: 1000, Window: time.Second, OnFailure: Open},
		},
		Budgets: []Budget{
			{Name: "day", By: By{"tenant", "user"}, Budget: 5_000_000, Window: 24 * time.Hour, OnFailure: Closed},
			{Name: "month", By: By{"tenant", "user"}, Budget: 100_000_000, Window: 30 * day, OnFailure: Closed},
		},
		Blocks: []Block{{
			Name: "many", By: By{"ip"}, Tiers: []Tier{{Threshold: 5, Window: time.Minute, Block: 5 * time.Minute}},
			Escalation: []time.Duration{5 * time.Minute, time.Hour, 24 * time.Hour}, StrikeMemory: 720 * time.Hour, OnFailure: Open,
		}},
		Endpoints: []Endpoint{{
			Name: "chat", Match: []string{"POST /v1/chat", "/v1/chat/{id}", "/pkg.Service/Method", "/pkg.Service/*"},
			Idempotency: &Idempotency{Header: "Idempotency-Key", For: time.Hour, Repeats: new(int64(0))}, Unbounded: true,
			Limits: []Limit{
				{Name: "minute", By: By{"tenant", "page"}, Limit: 10, Window: time.Minute, Count: &Responses{Status: []int{401, 403}, Code: []StatusCode{"Unauthenticated"}}, Shadow: true},
				{Name: "burst", Kind: GCRA, Limit: 2, Window: 1500 * time.Millisecond, Burst: 20, Weight: 3, OnFailure: Closed},
				{Name: "every", By: By{"all"}, Kind: GCRA, Limit: 1000, Window: time.Second},
			},
			Cost:      &EndpointCost{Estimate: 1, Hold: 2 * time.Minute, Penalty: time.Hour},
			Block:     "many",
			Challenge: &Challenge{By: By{"device"}, Required: true, TTL: 5 * time.Minute, Header: "X-Once"},
		}},
		Plans: &Plans{By: "tenant", Named: map[string]Plan{
			"pro": {
				Limits:  map[string]PlanLimit{"hour": {Limit: 1000}, "chat/burst": {Limit: 4, Burst: 40, Weight: 4}},
				Budgets: map[string]Micros{"day": 50_000_000},
			},
			"Enterprise": {Limits: map[string]PlanLimit{"chat/minute": {Limit: 1000}}},
		}},
		Overrides: Overrides{
			Allow: []string{"key=internal"}, Deny: []string{"ip=203.0.113.0/24", "ip=2001:db8::/32"},
			Multiply: map[string]int64{"key=partner": 10},
		},
	}
}

func TestParse_everyKey(t *testing.T) {
	got, err := Parse("policy.yaml", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantEverything(), got); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
	withCR, err := Parse("policy.yaml", []byte("\ufeff"+strings.ReplaceAll(everything, "\n", "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, withCR); diff != "" {
		t.Errorf("with CR LF and a byte order mark (-want +got):\n%s", diff)
	}
}

func TestParse_anchorsAndMerges(t *testing.T) {
	got, err := Parse("policy.yaml", []byte(`
x-limits:
  base: &base {kind: gcra, limit: 10, window: 1m}
  slow: &slow {window: 1h, burst: 5}
limits:
  - <<: *base
    name: one
    limit: 20
  - {<<: [*slow, *base], name: two}
endpoints:
  - name: a
    limits: &same
      - {name: minute, limit: 1, window: &w 1m}
  - name: b
    idempotency: {header: X-Key, for: *w}
    limits: *same
`))
	if err != nil {
		t.Fatal(err)
	}
	same := []Limit{{Name: "minute", Limit: 1, Window: time.Minute}}
	want := &Policy{
		Limits: []Limit{
			{Name: "one", Kind: GCRA, Limit: 20, Window: time.Minute}, {Name: "two", Kind: GCRA, Limit: 10, Window: time.Hour, Burst: 5},
		},
		Endpoints: []Endpoint{{Name: "a", Limits: same}, {Name: "b", Idempotency: &Idempotency{Header: "X-Key", For: time.Minute}, Limits: same}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
}

const problemsFile = "testdata/problems.txtar"

// problemFiles are policies, each followed by its problems in comments. go test -run problems -update writes these.
func problemFiles(t testing.TB) *txtar.Archive {
	t.Helper()
	archive, err := txtar.ParseFile(problemsFile)
	if err != nil || len(archive.Files) == 0 {
		t.Fatal("no policies", err)
	}
	return archive
}

func TestParse_problems(t *testing.T) {
	archive := problemFiles(t)
	for i, file := range archive.Files {
		t.Run(file.Name, func(t *testing.T) {
			text, want, ok := strings.Cut(string(file.Data), "\n# problems\n")
			if !ok {
				t.Fatal("no line # problems")
			}
			_, err := Parse("p.yaml", []byte(text))
			if *update {
				archive.Files[i].Data = []byte(text + "\n# problems\n# " + strings.ReplaceAll(err.Error(), "\n", "\n# ") + "\n")
				return
			}
			wantProblems(t, err, "\n"+strings.ReplaceAll(strings.TrimPrefix(want, "# "), "\n# ", "\n"))
			again, err2 := Parse("p.yaml", []byte(text))
			if again != nil || err2.Error() != err.Error() {
				t.Error("the second Parse returns another error")
			}
		})
	}
	if *update {
		if err := os.WriteFile(problemsFile, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestParse_problemsOfTheWholeText(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {"", "p.yaml:1:1: is empty: write at least `version: 1`"},
		"comment":       {"# nothing\n", "p.yaml:1:1: is empty: write at least `version: 1`"},
		"no UTF-8":      {"version: 1\nname: \xff", "p.yaml:2:7: must be UTF-8"},
		"NUL":           {"version: 1\x00", "p.yaml:1:11: must have no control character U+0000"},
		"too large":     {strings.Repeat("#", MaxFileSize+1), "p.yaml:1:1: must have at most 262144 bytes: set large overrides in Go"},
		"long line":     {"#" + strings.Repeat("a", maxLine), "p.yaml:1:16385: must have at most 16384 bytes in a line"},
		"deep":          {"a: " + strings.Repeat("[", 101), "p.yaml:1:104: must have at most 100 open brackets"},
		"complex key":   {"? a\n: 1\n", "p.yaml:1:1: must have a plain-text key"},
		"two documents": {"version: 1\n---\nversion: 1\n", "p.yaml:3:1: must be one document"},
		"text":          {"hello", `p.yaml:1:1: must be a mapping, got "hello"`},
		"syntax":        {"version: [1", "p.yaml:1:10: sequence end token ']' not found"},
	} {
		_, err := Parse("p.yaml", []byte(c.text))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: want %s\ngot %v", name, c.want, err)
		}
	}
}

func TestLoad_missingFile(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "no.yaml"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestParse_manyProblemsAreCounted(t *testing.T) {
	_, err := Parse("p.yaml", []byte("overrides: {deny: ["+strings.Repeat("'',\n", 50_000)+"]}"))
	lines := strings.Split(err.Error(), "\n")
	if got, want := lines[len(lines)-1], "p.yaml:51:1: and 99899 more problems"; got != want || len(lines) != 101 {
		t.Errorf("%d lines, the last %q, want %q", len(lines), got, want)
	}
}

func TestParse_patternsAreBounded(t *testing.T) {
	endpoints := func(pattern func(i, j int) string) string {
		var b strings.Builder
		b.WriteString("endpoints:\n")
		for i := range 1000 {
			fmt.Fprintf(&b, "- name: e%d\n  match: [", i)
			for j := range 3 {
				fmt.Fprintf(&b, "%q, ", pattern(i, j))
			}
			b.WriteString("]\n")
		}
		b.WriteString("limits: [{name: minute, limit: 1, window: 1m}]\n")
		return b.String()
	}
	for name, c := range map[string]struct {
		pattern func(i, j int) string
		want    string // the last line
		count   int
	}{
		"many": {
			func(i, j int) string { return fmt.Sprintf("/{a}/{b}/e%d/%d", i, j) },
			"p.yaml:1335:49: endpoints[666].match[2]: exceeds the 2000 patterns of a policy: match several paths with a wildcard or a prefix", 1,
		},
		"each in conflict": {
			func(_, j int) string { return fmt.Sprintf("/{a}/%d", j) },
			"p.yaml:71:21: and 1898 more problems", 101,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("p.yaml", []byte(endpoints(c.pattern)))
			if err == nil {
				t.Fatal("no problem")
			}
			lines := strings.Split(err.Error(), "\n")
			if got := lines[len(lines)-1]; got != c.want || len(lines) != c.count {
				t.Errorf("%d problems, the last: %s\nwant %d: %s", len(lines), got, c.count, c.want)
			}
		})
	}
}
