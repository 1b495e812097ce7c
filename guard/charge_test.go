package guard_test

import (
	"context"
	"encoding/base64"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// budgeted returns a policy with a budget of 1.00 a day; a request reserves 0.10.
func budgeted() *policy.Policy {
	return &policy.Policy{
		OnFailure: policy.Open,
		Budgets:   []policy.Budget{{Name: "day", Budget: 1_000_000, Window: 24 * time.Hour}},
		Endpoints: []policy.Endpoint{{
			Name: "chat", Cost: &policy.EndpointCost{Estimate: 100_000}, Unbounded: true, Idempotency: &policy.Idempotency{Header: "Idempotency-Key"},
		}},
	}
}

// A handler settles after the deadline of its request.
func TestCharge_endRetriesAFailedSettlement(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, budgeted(), guard.Options{})
	d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
	gone, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if err := d.Charge.Settle(gone, 250_000); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("settled after the deadline: %v", err)
	}
	d.Charge.End(gone, guard.End{Gone: true})
	if err := g.Close(); err != nil { // waits for it
		t.Fatal(err)
	}
	if got := peekSpent(t, rdb, "ip=ada"); got != 250_000 {
		t.Errorf("%v is spent", got)
	}
}

// resumed takes up a charge in some process.
func resumed(t *testing.T, g *guard.Guard, text string) *guard.Charge {
	t.Helper()
	c, err := g.ParseCharge(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The text of a charge is that of one namespace.
func TestCharge_isOfItsNamespace(t *testing.T) {
	rdb, _ := inProcess(t)
	p := chat(policy.Limit{Name: "hour", Limit: 5, Window: time.Hour}, streams(5))
	q := *p
	q.Namespace = "other"
	g, other := newGuard(t, rdb, p, guard.Options{}), newGuard(t, rdb, &q, guard.Options{})
	text := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}).Charge.Detach().Text()
	if _, err := other.ParseCharge(text); !errors.Is(err, fcall.ErrArgument) || !strings.Contains(err.Error(), "of a charge in namespace other") {
		t.Error(err)
	}
	if !release(t, g, text) {
		t.Error("in its own namespace, it has no place")
	}
}

func TestCharge_rejectsOtherText(t *testing.T) {
	rdb, _ := inProcess(t)
	p := budgeted()
	p.Endpoints[0].Limits = []policy.Limit{streams(1)}
	g := newGuard(t, rdb, p, guard.Options{})
	text := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}).Charge.Detach().Text()
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	forged := func(old, text string) string {
		if !strings.Contains(string(decoded), old) {
			t.Fatalf("%s lacks %s", decoded, old)
		}
		return base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(decoded), old, text, 1)))
	}
	holder := regexp.MustCompile(`"Holder":"[^"]*"`).FindString(string(decoded))
	for what, text := range map[string]string{
		"nothing": "", "an unknown field": forged(holder, `"Owner":""`), "an amount below 0": forged(`"Money":`, `"Units":[{"Unit":"tokens","N":-1}],"Money":`),
		"money below 0": forged(`"Money":`, `"Money":-`), "no base64": "?", "an empty list": "W10", "null": "bnVsbA", "an empty object": "e30", "1 MiB": strings.Repeat("a", 1<<20),
		"the end is lost": text[:len(text)/2],
		"another kind":    forged(`"concurrency"`, `"gcra"`), "two subjects of a limit": forged(`"Of":[`, `"Of":["ip=bob",`),
		"no subject": forged(`"Subject":"ip=ada"`, `"Subject":""`),
		"65 places":  forged(`"Places":[`, `"Places":[`+strings.Repeat("{},", 64)),
	} {
		if _, err := g.ParseCharge(text); !errors.Is(err, fcall.ErrArgument) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, text := range map[string]string{
		"no holder": forged(holder, `"Holder":""`), "a limit of 0": forged(`"Limit":1`, `"Limit":0`),
	} {
		if _, err := resumed(t, g, text).Renew(t.Context()); !errors.Is(err, fcall.ErrArgument) {
			t.Errorf("renew with %s: %v", what, err)
		}
	}
	for what, text := range map[string]string{"another holder": forged(`"Holder":"`, `"Holder":"x`), "another subject": forged(`"Of":["ip=ada"`, `"Of":["ip=bob"`)} {
		if renew(t, g, text) || release(t, g, text) {
			t.Errorf("%s has the place", what)
		}
	}
	if !renew(t, g, text) {
		t.Error("a forged charge took the place")
	}
}

// renew renews the places of a charge in some process, and reports whether it still has its places.
func renew(t *testing.T, g *guard.Guard, lease string) bool {
	t.Helper()
	left, err := resumed(t, g, lease).Renew(t.Context())
	if err != nil || left > 30*time.Second {
		t.Fatal(left, err)
	}
	return left > 0
}

func release(t *testing.T, g *guard.Guard, lease string) bool {
	t.Helper()
	released, err := resumed(t, g, lease).Release(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return released
}

func TestCharge_anotherProcessRenewsAndReleases(t *testing.T) {
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := chat(streams(2), policy.Limit{Name: "minute", Kind: policy.GCRA, Limit: 100, Window: time.Hour})
		p.Limits = byAll(policy.Limit{Name: "all", Kind: policy.Concurrency, Limit: 9})
		g, other := newGuard(t, rdb, p, guard.Options{}), newGuard(t, rdb, p, guard.Options{})
		d := decide(t, g, ada)
		left, lease := d.Charge.ExpiresAfter(), d.Charge.Detach().Text()
		if lease == "" || left <= 0 || left > 30*time.Second {
			t.Fatalf("the lease %q lasts %v", lease, left)
		}
		d.Charge.End(context.Background(), guard.End{}) // has no effect
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
	})
}

func TestCharge_placesWithoutRedis(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, chat(policy.Limit{Name: "hour", Limit: 5, Window: time.Hour}), guard.Options{})
	places := chat(streams(8))
	places.Share = 1
	for what, g := range map[string]*guard.Guard{"no limit of kind concurrency": g, "failure mode local": alone(t, places, 1<<20)} {
		if text := decide(t, g, ada).Charge.Text(); text != "" {
			t.Errorf("%s: a text: %s", what, text)
		}
	}
	g = newGuard(t, rdb, chat(streams(1)), guard.Options{BreakFor: time.Hour})
	lease := decide(t, g, ada).Charge.Detach().Text()
	network := new(flakyRedis)
	rdb.AddHook(hook(network.process))
	network.down.Store(true)
	for range 10 {
		if left, err := resumed(t, g, lease).Renew(t.Context()); err == nil {
			t.Fatalf("renewed without Redis for %v", left)
		}
	}
	if released, err := resumed(t, g, lease).Release(t.Context()); !errors.Is(err, guard.ErrBreaker) || released {
		t.Errorf("after ten lost calls: %v %v", released, err)
	}
	network.down.Store(false)
	other := newGuard(t, rdb, chat(streams(1)), guard.Options{})
	if !release(t, other, lease) {
		t.Error("the lease is lost")
	}
}

// Whatever a handler, its middleware and a job do at the same time, what a request holds ends once.
func TestCharge_endsOnceFromManyGoroutines(t *testing.T) {
	rdb, _ := inProcess(t)
	p := budgeted()
	p.Endpoints[0].Limits = []policy.Limit{streams(1), {Name: "hour", Kind: policy.FixedWindow, Limit: 1000, Window: time.Hour, Count: &policy.Responses{Status: []int{401}}}}
	g := newGuard(t, rdb, p, guard.Options{CacheSize: -1})
	ctx := t.Context()
	for round := range 20 {
		c := decide(t, g, ada).Charge
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				switch i % 8 {
				case 0:
					c.End(ctx, guard.End{Gone: true, Counts: func(*policy.Responses) bool { return false }})
				case 1:
					_ = c.Settle(ctx, 0) // of a charge that was detached it is an error
				case 2:
					_, _ = c.Release(ctx)
				case 3:
					c.Count(ctx, false)
				case 4:
					c.Keep()
				case 5:
					c.Detach().End(ctx, guard.End{Gone: true, Counts: func(*policy.Responses) bool { return false }})
				case 6:
					_, _ = c.Renew(ctx)
				case 7:
					_ = c.Text()
				}
			})
		}
		all.Wait()
		guard.WaitBackground(g)
		d := decide(t, g, ada)
		if !d.Allowed || d.Limits[1].Remaining != 999 || d.Budgets[0].Spent != 100_000 {
			t.Fatalf("round %d: %+v", round, d)
		}
		d.Charge.End(ctx, guard.End{Gone: true, Counts: func(*policy.Responses) bool { return false }})
		guard.WaitBackground(g)
	}
}
