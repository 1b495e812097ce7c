package guard_test

import (
	"context"
	"errors"
	"testing"
	"time"

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
