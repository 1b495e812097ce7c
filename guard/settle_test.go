package guard_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// budgeted returns a policy with a budget of 1.00 a day; a request reserves 0.10.
func budgeted() *policy.Policy {
	return &policy.Policy{
		OnFailure: policy.Open,
		Cost:      &policy.Cost{Budgets: []policy.Budget{{Name: "day", Budget: 1_000_000, Window: 24 * time.Hour}}},
		Endpoints: []policy.Endpoint{{
			Name: "chat", Cost: &policy.EndpointCost{Estimate: 100_000}, Unbounded: true, Idempotency: &policy.Idempotency{Header: "Idempotency-Key"},
		}},
	}
}

func spent(t *testing.T, g *guard.Guard, subject string) fcall.Micros {
	t.Helper()
	d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{subject}, Estimate: 1})
	defer func() {
		if err := d.Cancel(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	return d.Budgets[0].Spent - 1
}

func TestDecision_reservationEndsOnce(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*testing.T, *guard.Decision) error
		want fcall.Micros
	}{
		"settled":        {func(t *testing.T, d *guard.Decision) error { return d.Settle(t.Context(), 250_000) }, 250_000},
		"cancelled":      {func(t *testing.T, d *guard.Decision) error { return d.Cancel(t.Context()) }, 0},
		"finished":       {func(t *testing.T, d *guard.Decision) error { d.End(t.Context(), guard.End{}); return nil }, 100_000},
		"finished, gone": {func(t *testing.T, d *guard.Decision) error { d.End(t.Context(), guard.End{Gone: true}); return nil }, 0},
		"settled and finished": {func(t *testing.T, d *guard.Decision) error {
			defer d.End(t.Context(), guard.End{Gone: true})
			return d.Settle(t.Context(), 5)
		}, 5},
		"settled twice": {func(t *testing.T, d *guard.Decision) error {
			return errors.Join(d.Settle(t.Context(), 5), d.Settle(t.Context(), 6))
		}, 5},
		"detached": {func(t *testing.T, d *guard.Decision) error {
			d.Detach()
			d.End(t.Context(), guard.End{Gone: true})
			return nil
		}, 100_000},
	} {
		t.Run(name, func(t *testing.T) {
			rdb, _ := inProcess(t)
			g := newGuard(t, rdb, budgeted(), guard.Options{})
			d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
			if d.Reserved() != 100_000 {
				t.Errorf("%v is reserved", d.Reserved())
			}
			if err := c.end(t, d); err != nil {
				t.Fatal(err)
			}
			guard.WaitBackground(g)
			if got := spent(t, g, "ip=ada"); got != c.want {
				t.Errorf("%v is spent, want %v", got, c.want)
			}
		})
	}
}

// A handler settles with the context of a client that disconnected.
func TestDecision_finishRetriesAFailedSettlement(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, budgeted(), guard.Options{})
	d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Settle(gone, 250_000); !errors.Is(err, context.Canceled) {
		t.Fatalf("settled with a context that has ended: %v", err)
	}
	d.End(gone, guard.End{Gone: true})
	if err := g.Close(); err != nil { // waits for it
		t.Fatal(err)
	}
	if got := spent(t, g, "ip=ada"); got != 250_000 {
		t.Errorf("%v is spent", got)
	}
}

func TestDecision_anotherProcessSettlesByName(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, budgeted(), guard.Options{})
	name := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Receipt: "fp:c1:ada"}).Detach()
	worker := newGuard(t, rdb, budgeted(), guard.Options{})
	if _, err := worker.Settle(t.Context(), "ip=ada", name, 70_000); err != nil {
		t.Fatal(err)
	}
	if got := spent(t, g, "ip=ada"); got != 70_000 {
		t.Errorf("%v is spent", got)
	}
}

func TestDecision_duplicateNeverCancelsTheReservation(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, budgeted(), guard.Options{})
	r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Receipt: "fp:c1:ada"}
	first, second := decide(t, g, r), decide(t, g, r)
	if !second.Duplicate || second.Reservation() != first.Reservation() {
		t.Fatalf("the second: %+v, reservation %q, want %q", second, second.Reservation(), first.Reservation())
	}
	second.End(t.Context(), guard.End{Gone: true})
	guard.WaitBackground(g)
	if got := spent(t, g, "ip=ada"); got != 100_000 {
		t.Errorf("after Cancel of the duplicate %v is spent", got)
	}
	if err := errors.Join(second.Settle(t.Context(), 60_000), first.Settle(t.Context(), 60_000)); err != nil {
		t.Fatal(err)
	}
	if got := spent(t, g, "ip=ada"); got != 60_000 {
		t.Errorf("after the first one was settled %v is spent", got)
	}
}

func TestDecision_fallbackCostIsSettledOnceRedisAnswers(t *testing.T) {
	for _, receipt := range []string{"", "fp:c1:ada"} {
		spentWithoutRedis(t, receipt)
	}
}

func spentWithoutRedis(t *testing.T, receipt string) {
	t.Helper()
	rdb, _ := inProcess(t)
	load(t, rdb)
	late := slow{make(chan struct{})}
	rdb.AddHook(late)
	p := budgeted()
	p.Timeout = 5 * time.Millisecond
	g := newGuard(t, rdb, p, guard.Options{})
	d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Receipt: receipt})
	if d.Fallback != guard.FallbackOpen {
		t.Fatalf("%+v", d)
	}
	close(late.gate)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Settle(t.Context(), 300_000); err != nil {
		t.Fatal(err)
	}
	costs, err := cost.New(rdb, fcall.Options{Namespace: "guard"})
	if err != nil {
		t.Fatal(err)
	}
	peek, err := costs.Peek(t.Context(), cost.PeekParams{Subject: "ip=ada", Limits: []cost.PeekLimits{{Budget: 1_000_000, Window: 24 * time.Hour}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fcall.Micros(300_000), peek.Limits[0].Spent); diff != "" {
		t.Errorf("receipt %q: spent, with what a late answer reserved (-want +got):\n%s", receipt, diff)
	}
}

func TestDecide_concurrentRequestsNeverOverspend(t *testing.T) {
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, budgeted(), guard.Options{CacheSize: -1})
	var mu sync.Mutex
	var all sync.WaitGroup
	allowed, budget := 0, 0
	for range 50 {
		all.Go(func() {
			d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
			mu.Lock()
			defer mu.Unlock()
			if d.Allowed {
				allowed++
			} else if d.Reason == guard.ReasonBudget {
				budget++
			}
		})
	}
	all.Wait()
	if allowed != 10 || budget != 40 {
		t.Errorf("%d pass a budget for 10, %d are refused for it", allowed, budget)
	}
}
