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
	// Estimate is what was reserved, 0 when it was settled by name; Actual is what was spent, 0 when cancelled.
	Estimate, Actual fcall.Micros
	// Outcome is what library cost said: settled, repeated, late, unknown, cancelled, lapsed.
	Outcome string
}

// errNoReservation is a settlement of what reserved nothing.
var errNoReservation = errors.New("nothing is reserved")

// Reserved is what the request has reserved of its budgets; 0 without any.
func (d *Decision) Reserved() fcall.Micros {
	if d.charge == nil {
		return 0
	}
	return d.charge.estimate
}

// Account is the subject whose budgets the request has reserved, which settles by name; "" without any.
func (d *Decision) Account() string {
	if d.charge == nil {
		return ""
	}
	return d.charge.subject
}

// Settle replaces the estimate by what was really spent, once: a second call, or one after Cancel, does nothing. What exceeds a
// budget is recorded, not lost. An error leaves the estimate counted until its hold ends, and Settle may be called again.
func (d *Decision) Settle(ctx context.Context, actual fcall.Micros) error {
	c := d.charge
	if c == nil {
		return fmt.Errorf("settle %s: %w", d.Endpoint, errNoReservation)
	}
	if !c.closed.CompareAndSwap(false, true) {
		return nil
	}
	err := c.guard.settle(ctx, Settlement{Subject: c.subject, Reservation: c.reservation, Estimate: c.estimate, Actual: actual}, c.budgets)
	if err != nil {
		c.spent.Store(&actual)
		c.closed.Store(false)
	}
	return err
}

// Cancel gives the reservation back: nothing was spent. After Settle it does nothing, and a duplicate has nothing to give back: the
// first request settles. Without a reservation it does nothing.
func (d *Decision) Cancel(ctx context.Context) error {
	c := d.charge
	if c == nil || !c.closed.CompareAndSwap(false, true) || c.duplicate || c.absent {
		return nil
	}
	err := c.guard.Cancel(ctx, c.subject, c.reservation)
	if err != nil {
		c.closed.Store(false)
	}
	return err
}

// Reservation names the reservation, for a settlement by another process; "" without one.
func (d *Decision) Reservation() string {
	if d.charge == nil {
		return ""
	}
	return d.charge.reservation
}

// Settle settles a reservation of a subject by its name; see [Decision.Settle]. It does not know the plan of the request: of each budget it
// takes the largest that the policy or a plan has.
func (g *Guard) Settle(ctx context.Context, subject, reservation string, actual fcall.Micros) error {
	return g.settle(ctx, Settlement{Subject: subject, Reservation: reservation, Actual: actual}, g.plans.Load().Settling)
}

func (g *Guard) settle(ctx context.Context, s Settlement, budgets []cost.SettleLimits) error {
	result, err := g.costs.Settle(ctx, cost.SettleParams{
		Bucket: fcall.Subject(s.Subject), Receipt: s.Reservation, Actual: s.Actual, Limits: budgets,
	})
	g.denied.Release(s.Subject) // also after an error: it may have run
	s.Outcome = string(result.Outcome)
	g.hooks.settled(ctx, s, err)
	return err
}

// Cancel gives a reservation of a subject back by its name; see [Decision.Cancel].
func (g *Guard) Cancel(ctx context.Context, subject, reservation string) error {
	s := Settlement{Subject: subject, Reservation: reservation}
	result, err := g.costs.Cancel(ctx, cost.CancelParams{Bucket: fcall.Subject(subject), Receipt: reservation})
	g.denied.Release(subject)
	s.Outcome, s.Estimate = string(result.Outcome), result.GivenBack
	g.hooks.settled(ctx, s, err)
	return err
}

// Detach leaves the reservation to whoever settles it by its name later, see [Guard.Settle], and returns that name. Finish, Settle and
// Cancel of this decision do nothing any more.
func (d *Decision) Detach() string {
	if d.charge == nil {
		return ""
	}
	d.charge.closed.Store(true)
	return d.charge.reservation
}

// Finish ends what was neither settled nor cancelled nor detached: the reservation is given back when the request came to nothing
// (its handler panicked or its client has gone, and nothing of an answer was sent), and else counts as it was estimated. What Settle was given and could not record is
// settled, whoever has gone: it is spent.
func (d *Decision) Finish(ctx context.Context, gone bool) error {
	if d.charge == nil {
		return nil
	}
	spent := d.charge.spent.Load()
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

// finishWithin is how long what is done behind a request may take.
const finishWithin = 5 * time.Second

// FinishSoon is Finish behind the request, whose answer does not depend on Redis any more, also when the context has ended.
// Hooks.Settled is told, and Guard.Close waits for it.
func (d *Decision) FinishSoon(ctx context.Context, gone bool) {
	c := d.charge
	if c == nil || c.closed.Load() {
		return
	}
	c.guard.finish(ctx, func(ctx context.Context) {
		if err := d.Finish(ctx, gone); err != nil {
			c.guard.warn(noticeSettled, "a reservation was not settled", "endpoint", d.Endpoint, "subject", c.subject, "error", err)
		}
	})
}

// finish works behind a request, also when its context has ended.
func (g *Guard) finish(ctx context.Context, work func(context.Context)) {
	g.behind(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
		defer cancel()
		work(ctx)
	})
}
