package guard

import (
	"context"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
)

// A Settlement is the end of a reservation.
type Settlement struct {
	Subject     string
	Reservation string
	// Estimate is the reserved amount, and Actual the actual cost: 0 if nothing was spent.
	Estimate, Actual fcall.Micros
	// Outcome is the result of library cost: settled, repeated, late or unknown.
	Outcome string
}

var errNoReservation = &fcall.ArgumentError{Function: "guard.settle", Name: "charge", Must: "have a reservation", Got: "none"}

// Reserved returns the amount that the request reserved of its budgets; 0 if none, as of a repeat of a receipt.
func (c *Charge) Reserved() fcall.Micros {
	if h := c.load(); h != nil && !h.duplicate {
		return h.estimate
	}
	return 0
}

// Account returns the subject whose budgets the request reserved; "" if none.
func (c *Charge) Account() string {
	if h := c.load(); h != nil {
		return h.account
	}
	return ""
}

// Settle replaces the reserved estimate by the actual cost, once; 0 refunds it, because nothing was spent. A second call does nothing. A cost
// above the budget is recorded in full. After an error the estimate stays counted until its hold ends, and the caller may retry.
//
// A repeat of a receipt reserves nothing, because its first request did. What it settles was spent again, and is recorded.
func (c *Charge) Settle(ctx context.Context, actual fcall.Micros) error {
	h := c.load()
	if h == nil || h.account == "" {
		return errNoReservation
	}
	return h.settle(ctx, actual)
}

func (h *held) settle(ctx context.Context, actual fcall.Micros) error {
	if !h.settled.CompareAndSwap(false, true) {
		return nil
	}
	err := h.guard.settle(ctx, Settlement{Subject: h.account, Reservation: h.reservation, Estimate: h.estimate, Actual: actual}, h.budgets)
	if err != nil {
		h.unrecorded.Store(&actual)
		h.settled.Store(false)
	}
	return err
}

func (g *Guard) settle(ctx context.Context, s Settlement, budgets []cost.SettleLimits) error {
	result, err := g.costs.Settle(ctx, cost.SettleParams{
		Subject: fcall.Subject(s.Subject), Receipt: s.Reservation, Actual: s.Actual, Limits: budgets,
	})
	g.refusals.Invalidate(s.Subject) // after an error too: the call may have run
	s.Outcome = string(result.Outcome)
	g.hooks.settled(ctx, s, err)
	return err
}

// settleAtEnd settles a reservation that was not settled, in the background.
func (h *held) settleAtEnd(ctx context.Context, gone bool) {
	actual, failed := h.estimate, h.unrecorded.Load()
	switch {
	case h.account == "" || h.settled.Load():
		return
	case failed != nil:
		actual = *failed
	case h.duplicate:
		return
	case gone:
		actual = 0
	}
	h.guard.finish(ctx, func(ctx context.Context) {
		if err := h.settle(ctx, actual); err != nil {
			h.guard.warn(noticeSettled, "reservation not settled", "endpoint", h.endpoint, "error", err)
		}
	})
}

// finishWithin limits background work after a request.
const finishWithin = 5 * time.Second

// finish runs work in the background, even if ctx has ended. With an embedded server it is done at once.
func (g *Guard) finish(ctx context.Context, work func(context.Context)) {
	if g.asker.Inline {
		work(context.WithoutCancel(ctx))
		return
	}
	g.background(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
		defer cancel()
		work(ctx)
	})
}
