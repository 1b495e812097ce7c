package guard_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// codes has a block of addresses at login, and one of an address with an account where codes are sent again.
func codes() *policy.Policy {
	tiers := func(threshold int64) []policy.Tier {
		return []policy.Tier{{Threshold: threshold, Window: time.Hour, Block: time.Hour}}
	}
	return &policy.Policy{
		Timeout:    10 * time.Second,
		Identities: map[string]policy.Identity{"account": {Header: "X-Account", Claimed: true}},
		Blocks: []policy.Block{
			{Name: "guessing", By: policy.By{"ip"}, Tiers: tiers(2)},
			{Name: "resending", By: policy.By{"ip", "account"}, Attempts: policy.CountAll, Tiers: tiers(3)},
		},
		Endpoints: []policy.Endpoint{
			{Name: "login", Block: "guessing", Limits: []policy.Limit{{Name: "tries", By: policy.By{"ip"}, Kind: policy.FixedWindow, Limit: 2, Window: time.Hour}}},
			{Name: "password", Block: "guessing", Unbounded: true},
			{Name: "resend", Block: "resending", Unbounded: true},
			{Name: "page", Unbounded: true},
		},
	}
}

// Each block counts the attempts of its own subject at the endpoints that name it, and refuses there and nowhere else.
func TestBlocks_holdWhereTheyAreNamed(t *testing.T) {
	server, _ := inProcess(t)
	for name, rdb := range map[string]redis.UniversalClient{"one server": server, "a cluster": engines.OnPath(t).StartCluster(t, 3, 0).Client(t)} {
		for office, o := range map[string]guard.Options{"ip=203.0.113.7": {}, "ip=203.0.113.8": {CacheSize: -1}} {
			g := newGuard(t, rdb, codes(), o)
			ask := func(endpoint, account string) *guard.Decision {
				return decide(t, g, guard.Request{Endpoint: endpoint, Subjects: []string{office, "account=" + account}})
			}
			for _, c := range []struct {
				endpoint, account string
				reason            guard.Reason
				block, refused    string
			}{
				{"resend", "ada", "", "", ""},
				{"resend", "ada", "", "", ""},
				{"resend", "ada", "attempts", "resending", office + "+account=ada"},
				{"resend", "ada", "blocked", "resending", office + "+account=ada"},
				{"resend", "ada", "blocked", "resending", office + "+account=ada"},
				{"resend", "bob", "", "", ""}, // of the same office
				{"login", "ada", "", "", ""},
				{"login", "bob", "", "", ""},
				{"login", "ada", "limit", "", office},
				{"login", "eve", "attempts", "guessing", office},
				{"login", "bob", "blocked", "guessing", office},
				{"password", "bob", "blocked", "guessing", office}, // which names the same block
				{"resend", "bob", "", "", ""},
				{"page", "ada", "", "", ""},
			} {
				d := ask(c.endpoint, c.account)
				if d.Reason != c.reason || d.Block != c.block || d.Refused != c.refused {
					t.Errorf("%s, %s of %s: %q by block %q of %q, want %q, %q, %q", name, c.endpoint, c.account, d.Reason, d.Block, d.Refused, c.reason, c.block, c.refused)
				}
			}
			if err := g.Block(t.Context(), office, time.Minute, ""); err != nil {
				t.Fatal(err)
			}
			for _, endpoint := range []string{"page", "resend", "login"} {
				if d := ask(endpoint, "zoe"); d.Reason != guard.ReasonBlocked || endpoint != "login" && d.Block != "" {
					t.Errorf("%s of a subject that an operator blocked: %+v", endpoint, d)
				}
			}
		}
	}
}

// A client of library abuse sees and ends a block by its name.
func TestBlocks_areThoseOfLibraryAbuse(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, codes(), guard.Options{CacheSize: -1})
	client, err := abuse.New(rdb, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := guard.Request{Endpoint: "resend", Subjects: []string{"ip=203.0.113.7", "account=ada"}}
	for range 3 {
		decide(t, g, r)
	}
	subject := fcall.Subject("ip=203.0.113.7+account=ada")
	status := func(name string) bool {
		s, err := client.Status(t.Context(), abuse.StatusParams{Subject: subject, Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return s.Blocked
	}
	if !status("resending") || status("guessing") || status("") {
		t.Errorf("blocked by name: %v, by another name: %v, without one: %v", status("resending"), status("guessing"), status(""))
	}
	if u, err := client.Unblock(t.Context(), abuse.UnblockParams{Subject: subject, Name: "resending"}); err != nil || !u.Existed {
		t.Fatalf("unblock: %+v, %v", u, err)
	}
	if d := decide(t, g, r); !d.Allowed {
		t.Errorf("after unblock: %+v", d)
	}
}
