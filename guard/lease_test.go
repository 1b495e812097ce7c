package guard_test

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// renew renews a lease in some process, and reports whether it still has its places.
func renew(t *testing.T, g *guard.Guard, lease string) bool {
	t.Helper()
	left, err := g.RenewLease(t.Context(), lease)
	if err != nil || left > 30*time.Second {
		t.Fatal(left, err)
	}
	return left > 0
}

func release(t *testing.T, g *guard.Guard, lease string) bool {
	t.Helper()
	released, err := g.ReleaseLease(t.Context(), lease)
	if err != nil {
		t.Fatal(err)
	}
	return released
}

func TestLease_anotherProcessRenewsAndReleases(t *testing.T) {
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := chat(streams(2), policy.Limit{Name: "minute", Kind: policy.GCRA, Limit: 100, Window: time.Hour})
		p.Limits = byAll(policy.Limit{Name: "all", Kind: policy.Concurrency, Limit: 9})
		outcomes := map[guard.LeaseOutcome]int{}
		o := guard.Options{Hooks: []guard.Hooks{{Leased: func(_ context.Context, outcome guard.LeaseOutcome, err error) {
			if err == nil {
				outcomes[outcome]++
			}
		}}}}
		g, other := newGuard(t, rdb, p, guard.Options{}), newGuard(t, rdb, p, o)
		d := decide(t, g, ada)
		lease, left := d.Lease()
		if lease == "" || left <= 0 || left > 30*time.Second {
			t.Fatalf("the lease %q lasts %v", lease, left)
		}
		d.Release() // has no effect
		for range 2 {
			if !renew(t, other, lease) || free(t, other) != 1 {
				t.Error("the renewed place is lost")
			}
		}
		for i := range 2 {
			if released := release(t, other, lease); released != (i == 0) || free(t, g) != 2 {
				t.Errorf("release %d: %v, %d places are free", i+1, released, free(t, g))
			}
		}
		if renew(t, other, lease) || free(t, g) != 2 {
			t.Error("a released lease is renewed")
		}
		if outcomes[guard.LeaseRenewed] != 2 || outcomes[guard.LeaseReleased] != 1 || outcomes[guard.LeaseLost] != 2 {
			t.Errorf("hooks saw %v", outcomes)
		}
	})
}

// A lease that is not renewed in time is lost, and its release frees no place of another request.
func TestLease_ends(t *testing.T) {
	rdb, clock := inProcess(t)
	g := newGuard(t, rdb, chat(streams(1)), guard.Options{})
	kept, _ := decide(t, g, ada).Lease()
	clock.Advance(29 * time.Second)
	if !renew(t, g, kept) {
		t.Error("lost after 29 of 30 s")
	}
	clock.Advance(29 * time.Second)
	if d := decide(t, g, ada); d.Allowed {
		t.Error("the place is free 29 s after its renewal")
	}
	clock.Advance(time.Second)
	next := decide(t, g, ada)
	if !next.Allowed || renew(t, g, kept) || release(t, g, kept) {
		t.Errorf("after 30 s the old lease still has the place: %+v", next)
	}
	if lease, _ := next.Lease(); !renew(t, g, lease) {
		t.Error("the release of the old lease freed the place of the next request")
	}
}

func TestLease_rejectsOtherText(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, chat(streams(1), policy.Limit{Name: "hour", Limit: 5, Window: time.Hour}), guard.Options{})
	r := ada
	r.Refundable = true
	d := decide(t, g, r)
	lease, _ := d.Lease()
	decoded, err := base64.RawURLEncoding.DecodeString(lease)
	if err != nil {
		t.Fatal(err)
	}
	forged := func(old, text string) string {
		if !strings.Contains(string(decoded), old) {
			t.Fatalf("%s lacks %s", decoded, old)
		}
		return base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(decoded), old, text, 1)))
	}
	one := strings.Trim(string(decoded), "[]")
	for what, text := range map[string]string{
		"nothing": "", "no base64": "?", "an empty list": "W10", "null": "bnVsbA", "1 MiB": strings.Repeat("a", 1<<20),
		"the end is lost": lease[:len(lease)/2], "a ticket": d.Ticket(),
		"another kind": forged(`"concurrency"`, `"gcra"`), "a limit of 0": forged(`"Limit":1`, `"Limit":0`), "no holder": forged(`"Holder":"`, `"Holder":"","_":"`),
		"no subject": forged(`"Subject":"ip=ada"`, `"Subject":""`), "two subjects of a limit": forged(`"Of":[`, `"Of":["ip=bob",`),
		"65 calls": base64.RawURLEncoding.EncodeToString([]byte("[" + strings.Repeat(one+",", 64) + one + "]")),
	} {
		if left, err := g.RenewLease(t.Context(), text); !errors.Is(err, fcall.ErrArgument) {
			t.Errorf("renew %s: %v %v", what, left, err)
		}
		if released, err := g.ReleaseLease(t.Context(), text); !errors.Is(err, fcall.ErrArgument) {
			t.Errorf("release %s: %v %v", what, released, err)
		}
	}
	for what, text := range map[string]string{"another holder": forged(`"Holder":"`, `"Holder":"x`), "another subject": forged(`"Of":["ip=ada"`, `"Of":["ip=bob"`)} {
		if renew(t, g, text) || release(t, g, text) {
			t.Errorf("%s has the place", what)
		}
	}
	if !renew(t, g, lease) {
		t.Error("a forged lease took the place")
	}
	if _, err := g.Refund(t.Context(), lease); !errors.Is(err, fcall.ErrArgument) {
		t.Errorf("refund a lease: %v", err)
	}
}

func TestLease_withoutPlacesInRedis(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, chat(policy.Limit{Name: "hour", Limit: 5, Window: time.Hour}), guard.Options{})
	l := streams(8)
	l.Share = 1
	for what, g := range map[string]*guard.Guard{"no limit of kind concurrency": g, "failure mode local": alone(t, chat(l), 1<<20)} {
		if lease, left := decide(t, g, ada).Lease(); lease != "" || left != 0 {
			t.Errorf("%s: a lease of %v: %s", what, left, lease)
		}
	}
	g = newGuard(t, rdb, chat(streams(1)), guard.Options{BreakFor: time.Hour})
	lease, _ := decide(t, g, ada).Lease()
	network := new(flakyRedis)
	rdb.AddHook(network)
	network.down.Store(true)
	for range 10 {
		if left, err := g.RenewLease(t.Context(), lease); err == nil {
			t.Fatalf("renewed without Redis for %v", left)
		}
	}
	if released, err := g.ReleaseLease(t.Context(), lease); !errors.Is(err, guard.ErrBreaker) || released {
		t.Errorf("after ten lost calls: %v %v", released, err)
	}
	network.down.Store(false)
	other := newGuard(t, rdb, chat(streams(1)), guard.Options{})
	if !release(t, other, lease) {
		t.Error("the lease is lost")
	}
}
