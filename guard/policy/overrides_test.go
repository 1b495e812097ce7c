package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/guard/identity"
)

func TestLookup_mostExactEntryWins(t *testing.T) {
	l := (&Overrides{
		Allow:    []string{"key=a", "ip=10.1.0.0/16", "ip=2001:db8:1::/48"},
		Deny:     []string{"key=b", "ip=10.0.0.0/8", "ip=10.1.2.3", "ip=2001:db8::/32"},
		Multiply: map[string]int64{"key=c": 10, "ip=10.0.0.0/8": 2, "ip=10.1.0.0/16": 3},
	}).Lookup()
	for subject, want := range map[string]Override{
		"key=a":                {Allow: true, Multiply: 1},
		"key=b":                {Deny: true, Multiply: 1},
		"key=c":                {Multiply: 10},
		"key=d":                {Multiply: 1},
		"ip=10.9.9.9":          {Deny: true, Multiply: 2},
		"ip=::ffff:10.9.9.9":   {Deny: true, Multiply: 2},
		"ip=10.1.9.9":          {Allow: true, Multiply: 3},
		"ip=10.1.2.3":          {Deny: true, Multiply: 3},
		"ip=11.0.0.1":          {Multiply: 1},
		"ip=2001:db8:1:2::/64": {Allow: true, Multiply: 1},
		"ip=2001:db8:2:2::/64": {Deny: true, Multiply: 1},
		"ip=2001:db9::/64":     {Multiply: 1},
		"ip=2001:db8::/31":     {Multiply: 1},
		"ip=nonsense":          {Multiply: 1},
		"device=ip=10.9.9.9":   {Multiply: 1},
		"":                     {Multiply: 1},
	} {
		if diff := cmp.Diff(want, l.Of(subject)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", subject, diff)
		}
	}
}

func TestWith_replacesTheSameSubjectOrPrefix(t *testing.T) {
	file := &Overrides{
		Allow: []string{"key=a", "key=b"}, Deny: []string{"ip=::ffff:10.0.0.0/104", "ip=10.1.2.3", "key=c"}, Multiply: map[string]int64{"key=d": 2, "key=e": 3},
	}
	merged := (&Policy{Overrides: *file}).OverridesWith(map[string]Override{
		"key=a": {Deny: true}, "ip=10.0.0.0/8": {Multiply: 5}, "ip=10.1.2.3/32": {Allow: true}, "key=d": {Multiply: 7}, "key=f": {Allow: true},
	})
	l := merged.Lookup()
	for subject, want := range map[string]Override{
		"key=a": {Deny: true, Multiply: 1}, "key=b": {Allow: true, Multiply: 1}, "key=c": {Deny: true, Multiply: 1}, "key=d": {Multiply: 7},
		"key=e": {Multiply: 3}, "key=f": {Allow: true, Multiply: 1}, "ip=10.9.9.9": {Multiply: 5}, "ip=10.1.2.3": {Allow: true, Multiply: 5},
	} {
		if diff := cmp.Diff(want, l.Of(subject)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", subject, diff)
		}
	}
	if len(file.Allow) != 2 || file.Allow[0] != "key=a" || len(file.Deny) != 3 || file.Multiply["key=d"] != 2 {
		t.Errorf("the receiver was changed: %+v", file)
	}
	none := (&Policy{}).OverridesWith(map[string]Override{"key=a": {Multiply: 2}})
	if none.Lookup().Of("key=a").Multiply != 2 {
		t.Error("an override is not added to empty overrides")
	}
}

func TestCheckOverride_checksLikeAFile(t *testing.T) {
	p := &Policy{
		Identities: map[string]Identity{"user": {Func: true}, "device": {Header: "X-Device", Claimed: true}},
		Limits:     []Limit{{Name: "minute", Limit: 1000, Window: time.Minute}},
		Upstreams:  []Upstream{{Name: "api", Budgets: []Budget{{Name: "month", Budget: 1_250_000_000_000, Every: Month}}}},
	}
	for _, c := range []struct {
		subject  string
		override Override
		want     string
	}{
		{"user=42", Override{Allow: true}, ""},
		{"user=42", Override{Multiply: 1000}, ""},
		{"account=api/a", Override{Multiply: 800}, ""},
		{"device=1", Override{Deny: true}, ""},
		{"device=1", Override{Allow: true}, `must be of a verified identity: any client can send "device=1"`},
		{"device=1", Override{Multiply: 1}, `must be of a verified identity: any client can send "device=1"`},
		{"usr=42", Override{Deny: true}, `unknown identity "usr"; did you mean user?`},
		{"ip=10.0.0.1/8", Override{Deny: true}, `must have no host bits set, as in 10.0.0.0/8, got "ip=10.0.0.1/8"`},
		{"", Override{Deny: true}, `must be a subject of 1 to 512 bytes, such as user=42, got ""`},
	} {
		got := ""
		if err := p.CheckOverride(c.subject, c.override); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s %+v: got %q, want %q", c.subject, c.override, got, c.want)
		}
	}
}

// What a file, an operator or a program writes in any case is the subject of requests.
func TestFold_subjectsAndOverridesAreThoseOfRequests(t *testing.T) {
	p, err := (&Policy{
		Identities: map[string]Identity{"user": {Func: true, Fold: identity.FoldCase}, "team": {Func: true}},
		Overrides:  Overrides{Allow: []string{"user=Ada", "team=Ada"}, Deny: []string{"user=Eve%2B1", "ip=::ffff:10.0.0.1"}, Multiply: map[string]int64{"user=BOB": 2}},
	}).Complete()
	if err != nil {
		t.Fatal(err)
	}
	want := Overrides{Allow: []string{"user=ada", "team=Ada"}, Deny: []string{"user=eve%2B1", "ip=10.0.0.1"}, Multiply: map[string]int64{"user=bob": 2}}
	if diff := cmp.Diff(want, p.Overrides); diff != "" {
		t.Errorf("complete (-want +got):\n%s", diff)
	}
	merged := p.OverridesWith(map[string]Override{"user=ADA": {Allow: true}, "user=ADa": {Deny: true}, "user=bOB": {Multiply: 3}})
	want = Overrides{Allow: []string{"team=Ada"}, Deny: append(want.Deny, "user=ada"), Multiply: map[string]int64{"user=bob": 3}}
	if diff := cmp.Diff(want, merged); diff != "" {
		t.Errorf("with others (-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"user=Ada":                        "user=ada",
		"user=A+B":                        "user=a%2Bb",
		"user=A%2B":                       "user=a%2B",
		"team=Ada":                        "team=Ada",
		"user=" + identity.Value("A\x00"): "user=" + identity.Value("A\x00"), // what it is the hash of is not known
		"user=A\x00":                      "user=" + identity.Value("a\x00"),
	} {
		if got, err := p.Subject(text); got != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestCheckTopUp_namesWhatDoesNotFit(t *testing.T) {
	p, err := Parse("policy.yaml", []byte(`version: 1
identities:
  org: {jwt: {claim: org, keys: jwks.json}}
  team: {jwt: {claim: team}}
  key: {header: X-API-Key, verify: {sha256_file: keys.txt}}
  device: {header: X-Device, claimed: true}
  client: {first: [key, ip]}
budgets:
  - {name: month, by: org, budget: {default: 400000000, large: 900000000}, every: month}
  - {name: pair, by: [org, team], budget: 5, window: 1d}
  - {name: house, by: all, budget: 20000, every: month}
  - {name: tokens, by: org, unit: tokens, budget: 999999999999, window: 1m}
  - {name: gadget, by: device, budget: 5, window: 1m}
  - {name: own, budget: 5, window: 1m}
upstreams:
  - {name: openai, budgets: [{name: month, budget: 1, every: month}]}
  - {name: maps, limits: [{name: second, limit: 1, window: 1s}]}
plans: {by: org}
`))
	if err == nil {
		p, err = p.Complete()
	}
	if err != nil {
		t.Fatal(err)
	}
	for topUp, want := range map[TopUp]string{
		{"org=acme", "month", "", 100_000_000_000_000}:         "",
		{"org=acme", "month", "", 100_000_000_000_001}:         "raises budget month, which is 900000000, above the maximum 1000000000",
		{"account=openai/a", "month", "", 999_000_000_000_000}: "",
		{"account=openai/a", "pair", "", 1}:                    `unknown budget "pair" (budgets: month)`,
		{"account=maps/a", "month", "", 1}:                     "no budget of the policy counts account=maps/a",
		{"org=acme", "tokens", "tokens", 1}:                    "",
		{"org=acme", "tokens", "tokens", 2}:                    "raises budget tokens, which is 999999999999, above the maximum 1000000000000",
		{"org=acme", "tokens", "", 1}:                          "budget tokens is of tokens, and not of money",
		{"org=acme", "month", "tokens", 1}:                     "budget month is of money, and not of tokens",
		{"org=acme+team=ml", "pair", "", 1}:                    "",
		{"team=ml+org=acme", "pair", "", 1}:                    "budget pair is by org+team: give a subject such as org=VALUE+team=VALUE, got team=ml+org=acme",
		{"org=acme", "pair", "", 1}:                            "budget pair is by org+team: give a subject such as org=VALUE+team=VALUE, got org=acme",
		{"key=a", "own", "", 1}:                                "",
		{"ip=203.0.113.7", "own", "", 1}:                       "",
		{"org=acme", "own", "", 1}:                             "budget own is by client: give a subject such as key=VALUE, got org=acme",
		{"all", "house", "", 1}:                                "",
		{"org=acme", "house", "", 1}:                           "budget house is of all requests: give the subject all, got org=acme",
		{"all", "month", "", 1}:                                "budget month is by org: give a subject such as org=VALUE, got all",
		{"org=acme", "mnth", "", 1}:                            `unknown budget "mnth"; did you mean month? (budgets: month, pair, house, tokens, gadget, own)`,
		{"device=1", "gadget", "", 1}:                          `must be of verified identities: any client can send "device=1"`,
	} {
		got := ""
		if err := p.CheckTopUp(topUp); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s: got %q, want %q", topUp.Subject, topUp, got, want)
		}
	}
	for text, want := range map[string]string{
		"500": "", "500.5": "must be a whole number of tokens, got 500.5", "0": "must be more than 0, got 0", "-5": "must be more than 0, got -5",
		"many": `must be an amount with at most six decimals, such as 5 or "0.000001", got "many"`,
	} {
		got := ""
		if _, err := p.Budgets[3].ParseAmount(text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
