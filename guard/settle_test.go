package guard_test

import (
	"context"
	"errors"
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

func spent(t *testing.T, g *guard.Guard, subject string) fcall.Micros {
	t.Helper()
	d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{subject}, Estimate: 1})
	defer func() {
		if err := d.Charge.Settle(t.Context(), 0); err != nil {
			t.Error(err)
		}
	}()
	return d.Budgets[0].Spent - 1
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
	if got := spent(t, g, "ip=ada"); got != 250_000 {
		t.Errorf("%v is spent", got)
	}
}

func TestCharge_anotherProcessSettles(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, budgeted(), guard.Options{})
	text := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Receipt: "fp:c1:ada"}).Charge.Detach().Text()
	worker := newGuard(t, rdb, budgeted(), guard.Options{})
	for _, actual := range []fcall.Micros{70_000, 90_000} { // the second has no effect
		c, err := worker.ParseCharge(text)
		if err != nil {
			t.Fatal(err)
		}
		if accounts := c.Accounts(); c.Reserved().Money != 100_000 || len(accounts) != 1 || accounts[0] != "ip=ada" {
			t.Errorf("%v is reserved of %s", c.Reserved(), accounts)
		}
		if err := c.Settle(t.Context(), actual); err != nil {
			t.Fatal(err)
		}
	}
	if got := spent(t, g, "ip=ada"); got != 70_000 {
		t.Errorf("%v is spent", got)
	}
}

// A tiny request first does not make a huge one with the same receipt free: it reserves the rest or is refused, and each ends what it reserved.
func TestCharge_aRepeatReservesWhatItCostsMore(t *testing.T) {
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := gateway()
		p.Endpoints[0].Idempotency = &policy.Idempotency{Header: "Idempotency-Key", Repeats: new(int64(8))}
		p.Budgets = []policy.Budget{p.Budgets[3], p.Budgets[5]} // 5.00 per hour of the user, 40,000 tokens per minute of the key
		g := newGuard(t, rdb, p, guard.Options{CacheSize: -1})
		ask := func(money fcall.Micros, tokens int64) *guard.Decision {
			return decide(t, g, guard.Request{
				Endpoint: "chat", Subjects: []string{"user=ada", "key=k1"}, Receipt: "r1", Estimate: money, Units: []guard.Amount{{Unit: "tokens", N: tokens}},
			})
		}
		first := ask(100_000, 100)
		for _, huge := range []*guard.Decision{ask(490_000_000, 100), ask(100_000, 400_000)} {
			if huge.Allowed || huge.Reason != guard.ReasonTooLarge {
				t.Errorf("a huge repeat: %+v", huge)
			}
		}
		guard.WaitBackground(g) // what other servers gave back
		larger := ask(4_000_000, 30_000)
		if !larger.Allowed || !larger.Duplicate || larger.Charge.Reserved().Money != 3_900_000 || larger.Charge.Reserved().Units[0].N != 29_900 {
			t.Fatalf("a larger repeat: %+v, which reserved %v", larger, larger.Charge.Reserved())
		}
		if again := ask(4_000_000, 30_000); !again.Allowed || again.Budgets[0].Spent != 4_000_000 {
			t.Errorf("as large again: %+v", again)
		} else {
			again.Charge.End(t.Context(), guard.End{Used: &guard.Amounts{Money: 1_000_000}})
		}
		if err := first.Charge.Settle(t.Context(), 0, guard.Amount{Unit: "tokens"}); err != nil {
			t.Fatal(err)
		}
		guard.WaitBackground(g)
		of := func() string {
			all := spentOf(ask(6_000_000, 0))
			guard.WaitBackground(g)
			return all["user_hour"] + ", " + all["key_tokens"]
		}
		if got := of(); got != "3.9 of user=ada, 29900 of key=k1" {
			t.Errorf("after the first one was settled at 0, spent is %s", got)
		}
		text := larger.Charge.Detach().Text()
		c, err := newGuard(t, rdb, p, guard.Options{}).ParseCharge(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Settle(t.Context(), 2_000_000, guard.Amount{Unit: "tokens", N: 500}); err != nil {
			t.Fatal(err)
		}
		if got := of(); got != "2 of user=ada, 500 of key=k1" {
			t.Errorf("after the repeat was settled, spent is %s", got)
		}
	})
}

// A repeat whose other account refuses gives back what it reserved, and the receipt does not pass for that.
func TestDecide_aRepeatThatIsTakenBackPaidNothing(t *testing.T) {
	rdb, _ := inProcess(t)
	p := gateway()
	p.Endpoints[0].Idempotency = &policy.Idempotency{Header: "Idempotency-Key", Repeats: new(int64(8))}
	p.Budgets = []policy.Budget{p.Budgets[3], p.Budgets[5]}
	g := newGuard(t, manySlots{rdb}, p, guard.Options{CacheSize: -1})
	ask := func(money fcall.Micros, tokens int64) *guard.Decision {
		d := decide(t, g, guard.Request{
			Endpoint: "chat", Subjects: []string{"user=ada", "key=k1"}, Receipt: "r1", Estimate: money, Units: []guard.Amount{{Unit: "tokens", N: tokens}},
		})
		guard.WaitBackground(g)
		return d
	}
	ask(100_000, 100)
	if d := ask(4_000_000, 400_000); d.Allowed || d.Refused != "key=k1" {
		t.Fatalf("more than the key has: %+v", d)
	}
	if d := ask(3_000_000, 100); !d.Allowed || d.Budgets[0].Spent < 3_000_000 {
		t.Errorf("what was given back is free: %+v", d)
	}
}
