package guard_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// logins counts failures by address and by user, and every request of all.
func logins() *policy.Policy {
	failed := &policy.Responses{Status: []int{401}}
	p := chat(
		policy.Limit{Name: "address", By: policy.By{"ip"}, Limit: 5, Window: time.Minute, Count: failed, OnFailure: policy.Local, Share: 1},
		policy.Limit{Name: "user", By: policy.By{"user"}, Kind: policy.GCRA, Limit: 3, Window: time.Minute, Count: failed, OnFailure: policy.Local, Share: 1},
		policy.Limit{Name: "each", By: policy.By{"user"}, Kind: policy.FixedWindow, Limit: 100, Window: time.Minute, OnFailure: policy.Local, Share: 1},
		policy.Limit{Name: "all", By: policy.By{"all"}, Kind: policy.SlidingCounter, Limit: 100, Window: time.Minute, Count: failed, OnFailure: policy.Local, Share: 1},
	)
	p.Identities = map[string]policy.Identity{"user": {Func: true, Claimed: true}}
	return p
}

func countsResponses(t *testing.T, g *guard.Guard) {
	t.Helper()
	respond := func(d *guard.Decision, status int) {
		d.Charge.End(t.Context(), guard.End{Counts: func(r *policy.Responses) bool { return slices.Contains(r.Status, status) }})
		if err := g.Close(); err != nil { // waits for refunds
			t.Fatal(err)
		}
	}
	r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=1.1.1.1", "user=ada"}}
	left := func(d *guard.Decision) (all []int64) {
		for _, l := range d.Limits {
			all = append(all, l.Remaining)
		}
		return all
	}
	for i, c := range []struct {
		status int
		want   []int64
	}{
		{200, []int64{4, 2, 99, 99}},
		{401, []int64{4, 2, 98, 99}},
		{200, []int64{3, 1, 97, 98}},
		{200, []int64{3, 1, 96, 98}},
		{401, []int64{3, 1, 95, 98}},
		{401, []int64{2, 0, 94, 97}},
	} {
		d := decide(t, g, r)
		if !d.Allowed || d.Charge == nil || !slices.Equal(left(d), c.want) {
			t.Fatalf("request %d: %+v, want %v", i+1, d, c.want)
		}
		respond(d, c.status)
		respond(d, 200) // it has responded
	}
	if d := decide(t, g, r); d.Allowed || d.Refused != "user=ada" {
		t.Errorf("after three failures: %+v", d)
	}
	guard.WaitBackground(g)
	d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=1.1.1.1", "user=bob"}})
	if !d.Allowed || d.Limits[0].Remaining != 1 {
		t.Errorf("another user: %+v", d)
	}
	d.Charge.Count(t.Context(), false)
	respond(d, 401)
	if d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=1.1.1.1", "user=bob"}}); d.Limits[0].Remaining != 1 {
		t.Errorf("after one that was skipped: %+v", d)
	}
}

func TestRespond_refundsResponsesThatDoNotCount(t *testing.T) {
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		countsResponses(t, newGuard(t, rdb, logins(), guard.Options{CacheSize: -1}))
	})
}

func TestRespond_refundsLocalCharges(t *testing.T) {
	o := guard.Options{CacheSize: -1, BreakFor: time.Hour}.WithLocalClock(embedded.NewManualClock(moment))
	countsResponses(t, newGuard(t, client(t, closedPort(t)), logins(), o))
}
