package replay

import (
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
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
	reader, err := accesslog.NewReader(strings.NewReader(log), accesslog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), reader, p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// endpoints are the endpoints of the traffic; %s stands for the text before them.
const endpoints = `
endpoints:
  - {name: items, match: ["GET /v1/items"]}
  - {name: chat, match: ["POST /v1/chat"], ABOUT_CHAT}
  - {name: login, match: ["POST /login"], ABOUT_LOGIN}
`

// policies are the policies for which shortcuts must not change results.
var policies = []struct{ name, head, chat, login string }{
	{"two windows and a global limit", `
limits:
  - {name: minute, limit: 20, window: 1m}
  - {name: hour, limit: 120, window: 1h}
  - {name: all, by: all, kind: gcra, limit: 100, window: 1s, burst: 150}`, "", ""},
	{"each kind", `
limits:
  - {name: bucket, kind: gcra, limit: 7, window: 10s, burst: 12}
  - {name: counter, kind: sliding_counter, limit: 40, window: 1m}
  - {name: fixed, kind: fixed_window, limit: 90, window: 7m}
  - {name: log, limit: 100, window: 10m}`, "limits: [{name: own, kind: gcra, limit: 20, window: 1m, burst: 5, cost: 2}]", ""},
	{
		"the global limits refuse at times", `
limits:
  - {name: minute, limit: 30, window: 1m}
  - {name: bucket, kind: gcra, limit: 60, window: 1m}
  - {name: all, by: all, kind: gcra, limit: 30, window: 1s}
  - {name: fixed, by: all, kind: fixed_window, limit: 900, window: 1m}`,
		"limits: [{name: counter, by: all, kind: sliding_counter, limit: 200, window: 1m}, {name: log, by: all, limit: 60, window: 20s}]", "",
	},
	{
		"blocks", `
limits: [{name: minute, limit: 40, window: 1m}, {name: all, by: all, kind: sliding_counter, limit: 400, window: 10s}]
abuse: {tiers: [{threshold: 5, window: 10s, block: 30s}, {threshold: 15, window: 2m, block: 3m}], escalation: [20s, 2m], strike_memory: 10m}`,
		"abuse: refused", "abuse: all",
	},
	{
		"money, shadows, exceptions", `
limits:
  - {name: minute, limit: 15, window: 1m, shadow: true}
  - {name: hour, kind: fixed_window, limit: 150, window: 1h}
  - {name: all, by: all, limit: 300, window: 10s, shadow: true}
cost: {budgets: [{name: small, budget: "0.50", window: 1m}, {name: large, budget: "2", window: 1h}], hold: 5s, penalty: 1h}
overrides: {allow: ["ip=192.0.2.1"], deny: ["ip=192.0.2.2", "ip=2001:db8::/48"], multiply: {"ip=192.0.2.3": 3}}`,
		`cost: {estimate: "0.1"}`, `limits: [{name: strict, limit: 2, window: 1m}]`,
	},
	{"quotas", `
limits: # at 06:15 and 06:30 UTC new periods start
  - {name: hour, kind: quota, limit: 80, every: hour, zone: Asia/Kolkata}
  - {name: day, kind: quota, limit: 150, every: day, zone: Asia/Kolkata, starts: "11:45"}`, "", ""},
}

func policyOf(t testing.TB, n int) *policy.Policy {
	var b strings.Builder
	b.WriteString("version: 1\n" + policies[n].head)
	b.WriteString(strings.NewReplacer(", ABOUT_CHAT", comma(policies[n].chat), ", ABOUT_LOGIN", comma(policies[n].login)).Replace(endpoints))
	return mustPolicy(t, b.String())
}

func comma(text string) string {
	if text == "" {
		return ""
	}
	return ", " + text
}
