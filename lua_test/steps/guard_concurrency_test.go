package steps_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// Many callers are admitted, and every other one gives back: never are more out than the limit, and at the end each part has
// what was kept, no more and no less.
func TestGuard_nothingLeaksWhereManyRefund(t *testing.T) {
	const callers, each, limit = 20, 25, 60
	p := admitParams{Subject: "u1", Budgets: []guard.AdmitBudgets{{Budget: 1_000_000, Window: time.Hour}}, Estimate: 10}
	for _, l := range suites.GuardLimits(limit) {
		l.Window = time.Hour // longer than the test
		p.Limits = append(p.Limits, l)
	}
	suites.Guards.EachOnRealTime(t, func(t *testing.T, s *luatest.Server, c guarded) {
		var out, kept, most atomic.Int64
		var wg sync.WaitGroup
		for who := range callers {
			wg.Go(func() {
				for i := range each {
					mine := p
					mine.Receipt = fmt.Sprintf("%d-%d", who, i)
					mine.Reservation = "of " + mine.Receipt
					r, err := c.Guard.Admit(t.Context(), mine.Packed())
					if err != nil {
						t.Error(err)
						return
					}
					if !r.Allowed {
						continue
					}
					now := out.Add(1)
					for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
					}
					if i%2 == 0 && who%3 > 0 {
						kept.Add(1)
						continue
					}
					out.Add(-1)
					back := suites.RefundParams{Subject: "u1", Receipt: mine.Receipt, Limits: p.Limits, Left: suites.TakenOf(r.Limits), At: r.At, Reservation: mine.Reservation}
					if b, err := c.Guard.Refund(t.Context(), back.Packed()); err != nil || !b.Refunded {
						t.Errorf("refund: %+v, %v", b, err)
					}
				}
			})
		}
		wg.Wait()
		if most.Load() > limit {
			t.Errorf("%d were out at once, more than the limit of %d", most.Load(), limit)
		}
		look := p
		look.Receipt, look.Reservation, look.Estimate, look.Limits = "", "look", 0, nil
		for _, l := range p.Limits {
			l.Cost = cost(0)
			look.Limits = append(look.Limits, l)
		}
		r, err := c.Guard.Admit(t.Context(), look.Packed())
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range r.Limits {
			// A bucket gains a token a minute meanwhile: none within the test.
			if row.Remaining != limit-kept.Load() {
				t.Errorf("%s has %d left, want %d less the %d kept", p.Limits[i].Kind, row.Remaining, limit, kept.Load())
			}
		}
		if want := fcall.Micros(10 * kept.Load()); r.Budgets[0].Spent != want {
			t.Errorf("%d micros are spent, want %d", r.Budgets[0].Spent, want)
		}
		if kept.Load() == 0 {
			t.Error("no caller was admitted")
		}
	})
}
