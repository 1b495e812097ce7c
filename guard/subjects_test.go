package guard_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// several returns a policy with limits by address, by user, by team and user, and by all.
func several() *policy.Policy {
	p := chat(
		policy.Limit{Name: "burst", By: policy.By{"ip"}, Limit: 5, Window: time.Minute},
		policy.Limit{Name: "minute", Limit: 3, Window: time.Minute},
		policy.Limit{Name: "pair", By: policy.By{"team", "user"}, Limit: 2, Window: time.Minute},
		policy.Limit{Name: "all", By: policy.By{"all"}, Kind: policy.GCRA, Limit: 1000, Window: 24 * time.Hour},
	)
	p.Identities = map[string]policy.Identity{
		"user": {Func: true}, "team": {Header: "X-Team", Claimed: true}, "client": {First: []string{"user", "ip"}},
	}
	return p
}

// states formats the limits of a decision as name, subject and remaining.
func states(d *guard.Decision) (all []string) {
	for _, l := range d.Limits {
		all = append(all, fmt.Sprintf("%s %s %d", l.Name, l.Subject, l.Remaining))
	}
	return all
}

// A limit does not apply to a request that lacks its identity.
func TestDecide_eachLimitCountsItsSubject(t *testing.T) {
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		g := newGuard(t, rdb, several(), guard.Options{CacheSize: -1})
		for i, c := range []struct {
			subjects []string
			want     []string
			refused  string
		}{
			{[]string{"ip=1.1.1.1"}, []string{"burst ip=1.1.1.1 4", "minute ip=1.1.1.1 2", "all global/chat/all 999"}, ""},
			{[]string{"ip=1.1.1.1", "user=ada"}, []string{"burst ip=1.1.1.1 3", "minute user=ada 2", "all global/chat/all 998"}, ""},
			{[]string{"ip=1.1.1.1", "team=red", "user=ada"}, []string{"burst ip=1.1.1.1 2", "minute user=ada 1", "pair team=red+user=ada 1", "all global/chat/all 997"}, ""},
			{[]string{"ip=2.2.2.2", "team=red", "user=ada"}, []string{"burst ip=2.2.2.2 4", "minute user=ada 0", "pair team=red+user=ada 0", "all global/chat/all 996"}, ""},
			// All or nothing: if one limit refuses, no other is charged.
			{[]string{"ip=2.2.2.2", "team=red", "user=ada"}, nil, "user=ada"},
			{[]string{"ip=2.2.2.2", "user=bob"}, []string{"burst ip=2.2.2.2 3", "minute user=bob 2", "all global/chat/all 995"}, ""},
			{[]string{"ip=1.1.1.1", "user=cyd"}, []string{"burst ip=1.1.1.1 1", "minute user=cyd 2", "all global/chat/all 994"}, ""},
			{[]string{"ip=1.1.1.1", "user=dan"}, []string{"burst ip=1.1.1.1 0", "minute user=dan 2", "all global/chat/all 993"}, ""},
			{[]string{"ip=1.1.1.1", "user=eve"}, nil, "ip=1.1.1.1"},
		} {
			d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: c.subjects})
			if d.Allowed != (c.refused == "") || d.Refused != c.refused || c.refused == "" && !slices.Equal(states(d), c.want) {
				t.Fatalf("request %d: %+v, want %v, refused %q", i+1, d, c.want, c.refused)
			}
			if err := g.Close(); err != nil { // waits for refunds
				t.Fatal(err)
			}
		}
	})
}

// A block of any identity refuses and is named, even if no limit counts the identity.
func TestDecide_blockOfAnyIdentityRefuses(t *testing.T) {
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		g := newGuard(t, rdb, several(), guard.Options{})
		blocks, err := abuse.New(rdb, fcall.Options{Namespace: "guard"})
		if err != nil {
			t.Fatal(err)
		}
		for _, subject := range []fcall.Subject{"team=bad", "user=mallory", "ip=6.6.6.6"} {
			if _, err := blocks.Block(t.Context(), abuse.BlockParams{Subject: subject, Duration: time.Hour}); err != nil {
				t.Fatal(err)
			}
		}
		for _, subjects := range [][]string{{"ip=1.1.1.1", "team=bad", "user=ada"}, {"ip=1.1.1.1", "user=mallory"}, {"ip=6.6.6.6", "user=ada"}} {
			for i := range 2 {
				d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: subjects})
				if d.Allowed || d.Reason != guard.ReasonBlocked || d.RetryAfter != time.Hour && !d.Cached || !slices.Contains([]string{"team=bad", "user=mallory", "ip=6.6.6.6"}, d.Refused) || d.Cached != (i > 0) {
					t.Errorf("%v, request %d: %+v", subjects, i+1, d)
				}
			}
		}
		if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=1.1.1.1", "user=ada"}}); !d.Allowed {
			t.Errorf("no block, and %+v", d)
		}
	})
}

// Every request must be counted by some limit.
func TestDecide_rejectsRequestsThatNoLimitCounts(t *testing.T) {
	rdb, _ := inProcess(t)
	p := several()
	g := newGuard(t, rdb, p, guard.Options{})
	d, err := g.Decide(t.Context(), guard.Request{Endpoint: "chat", Subjects: []string{"team=red"}})
	if err != nil || len(d.Limits) != 1 || !d.Limits[0].Global {
		t.Errorf("with a global limit: %+v, %v", d, err)
	}
	p = several()
	p.Endpoints[0].Limits = p.Endpoints[0].Limits[:3]
	p.Timeout = 10 * time.Second
	if err := g.SetPolicy(p); err != nil {
		t.Fatal(err)
	}
	if d, err := g.Decide(t.Context(), guard.Request{Endpoint: "chat", Subjects: []string{"team=red"}}); err == nil {
		t.Errorf("without: %+v", d)
	}
}

// If a router may serve a request as another endpoint, the limits of both apply.
func TestDecide_appliesLimitsOfSeveralEndpoints(t *testing.T) {
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := chat()
		p.Endpoints[0].Unbounded = false
		image := policy.Endpoint{Name: "image"}
		for i := range 12 {
			p.Endpoints[0].Limits = append(p.Endpoints[0].Limits, policy.Limit{Name: fmt.Sprint("l", i), Limit: int64(10 + i), Window: time.Minute})
			image.Limits = append(image.Limits, policy.Limit{Name: fmt.Sprint("l", i), Limit: int64(2 + i), Window: time.Minute})
		}
		p.Endpoints = append(p.Endpoints, image)
		g := newGuard(t, rdb, p, guard.Options{CacheSize: -1})
		r := guard.Request{Endpoint: "chat", OtherEndpoints: []string{"image"}, Subjects: []string{"ip=1.1.1.1"}, Receipt: "once"}
		for i := range 4 {
			d := decide(t, g, r)
			if d.Allowed != (i < 2) || d.Duplicate || len(d.Limits) != 24 {
				t.Fatalf("request %d: %+v", i+1, d)
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: r.Subjects}); d.Limits[0].Remaining != 7 {
			t.Errorf("after two admitted requests %d of 10 are left after the third", d.Limits[0].Remaining)
		}
	})
}
