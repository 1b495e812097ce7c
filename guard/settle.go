package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
)

// A Settlement is the end of a reservation.
type Settlement struct {
	Subject     string
	Reservation string
	// Estimate is the reserved amount; 0 if it was settled by name. Actual is the actual cost; 0 if it was cancelled.
	Estimate, Actual fcall.Micros
	// Outcome is the result of library cost: settled, repeated, late, unknown, cancelled or lapsed.
	Outcome string
}

var errNoReservation = errors.New("the decision has no reservation")

// Reserved returns the amount that the request reserved of its budgets; 0 if none.
func (d *Decision) Reserved() fcall.Micros {
	if d.charge == nil {
		return 0
	}
	return d.charge.estimate
}

// Account returns the subject whose budgets the request reserved; "" if none.
func (d *Decision) Account() string {
	if d.charge == nil {
		return ""
	}
	return d.charge.subject
}

// Settle replaces the estimate by the actual cost, once. A second call, or a call after Cancel, does nothing. A cost above the budget is
// recorded in full. After an error the estimate stays counted until its hold ends, and the caller may retry.
func (d *Decision) Settle(ctx context.Context, actual fcall.Micros) error {
	c := d.charge
	if c == nil {
		return fmt.Errorf("settle %s: %w", d.Endpoint, errNoReservation)
	}
	if !c.settled.CompareAndSwap(false, true) {
		return nil
	}
	_, err := c.guard.settle(ctx, Settlement{Subject: c.subject, Reservation: c.reservation, Estimate: c.estimate, Actual: actual}, c.budgets)
	if err != nil {
		c.unrecorded.Store(&actual)
		c.settled.Store(false)
	}
	return err
}

// Cancel refunds the reservation, because nothing was spent. It does nothing after Settle, without a reservation, or for a duplicate, whose
// first request settles.
func (d *Decision) Cancel(ctx context.Context) error {
	c := d.charge
	if c == nil || !c.settled.CompareAndSwap(false, true) || c.duplicate || c.notInRedis {
		return nil
	}
	_, err := c.guard.Cancel(ctx, c.subject, c.reservation)
	if err != nil {
		c.settled.Store(false)
	}
	return err
}

// Reservation returns the name of the reservation, with which another process can settle it; "" without one.
func (d *Decision) Reservation() string {
	if d.charge == nil {
		return ""
	}
	return d.charge.reservation
}

// Settle settles a subject's reservation by its name; see [Decision.Settle]. It does not know the plan of the request, so it applies the
// largest budgets of any plan.
func (g *Guard) Settle(ctx context.Context, subject, reservation string, actual fcall.Micros) (Settlement, error) {
	return g.settle(ctx, Settlement{Subject: subject, Reservation: reservation, Actual: actual}, g.plans.Load().SettleLimits)
}

func (g *Guard) settle(ctx context.Context, s Settlement, budgets []cost.SettleLimits) (Settlement, error) {
	result, err := g.costs.Settle(ctx, cost.SettleParams{
		Subject: fcall.Subject(s.Subject), Receipt: s.Reservation, Actual: s.Actual, Limits: budgets,
	})
	g.refusals.Invalidate(s.Subject) // after an error too: the call may have run
	s.Outcome = string(result.Outcome)
	g.hooks.settled(ctx, s, err)
	return s, err
}

// Cancel cancels a subject's reservation by its name; see [Decision.Cancel].
func (g *Guard) Cancel(ctx context.Context, subject, reservation string) (Settlement, error) {
	s := Settlement{Subject: subject, Reservation: reservation}
	result, err := g.costs.Cancel(ctx, cost.CancelParams{Subject: fcall.Subject(subject), Receipt: reservation})
	g.refusals.Invalidate(subject)
	s.Outcome, s.Estimate = string(result.Outcome), result.Refunded
	g.hooks.settled(ctx, s, err)
	return s, err
}

// Detach returns the name of the reservation, for a later [Guard.Settle] by name. After it, End, Settle and Cancel of this decision leave
// it as it is.
func (d *Decision) Detach() string {
	if d.charge == nil {
		return ""
	}
	d.charge.settled.Store(true)
	return d.charge.reservation
}

// finish ends a reservation that was not settled, cancelled or detached. It retries a settlement that failed, even for an abandoned request.
func (d *Decision) finish(ctx context.Context, gone bool) error {
	if d.charge == nil {
		return nil
	}
	spent := d.charge.unrecorded.Load()
	switch {
	case spent != nil:
		return d.Settle(ctx, *spent)
	case gone:
		return d.Cancel(ctx)
	case d.charge.duplicate:
		return nil // the first request settles
	}
	return d.Settle(ctx, d.charge.estimate)
}

// finishWithin limits background work after a request.
const finishWithin = 5 * time.Second

// finishSoon runs finish in the background, even if ctx has ended.
func (d *Decision) finishSoon(ctx context.Context, gone bool) {
	c := d.charge
	if c == nil || c.settled.Load() {
		return
	}
	c.guard.finish(ctx, func(ctx context.Context) {
		if err := d.finish(ctx, gone); err != nil {
			c.guard.warn(noticeSettled, "reservation not settled", "endpoint", d.Endpoint, "error", err)
		}
	})
}

// finish runs work in the background, even if ctx has ended.
func (g *Guard) finish(ctx context.Context, work func(context.Context)) {
	g.background(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
		defer cancel()
		work(ctx)
	})
}
