package guard

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/rlfunc/rlfunc/fcall"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

// Decide decides whether a request may pass. It returns within the policy's timeout, or the request's; see the package documentation for its errors. The
// caller ends what an allowed request holds, see [Decision.Charge].
func (g *Guard) Decide(ctx context.Context, r Request) (*Decision, error) {
	// Decide is inlined, so that the decision can stay on the caller's stack.
	return g.decideInto(ctx, new(Decision), r)
}

func (g *Guard) decideInto(ctx context.Context, d *Decision, r Request) (*Decision, error) {
	var seen Decided
	start, observed := monotime.Now(), len(g.options.Observers) > 0
	if observed {
		r = r.clone() // the caller may reuse its slices
	}
	err := g.decide(ctx, d, &r, &seen, start)
	if err != nil {
		d = nil
	}
	if observed || err != nil || d.Fallback != FallbackNone || seen.Undefined != "" {
		seen.Request, seen.Err, seen.Duration = r, err, monotime.Now().Since(start)
		g.report(ctx, seen, d)
	}
	return d, err
}

// report passes a decision, nil after an error, to the observers. Its copies keep others on the stack.
func (g *Guard) report(ctx context.Context, e Decided, d *Decision) {
	e.Request.At = nil // keeps a policy
	if d != nil {
		shown := *d
		e.Decision = &shown
	}
	g.observe(ctx, e)
}

// decide fills in an empty decision, and in seen what observers are told of the way to it. It keeps none of them.
func (g *Guard) decide(ctx context.Context, d *Decision, r *Request, seen *Decided, start monotime.Time) error {
	g.overrides.start()
	snapshot, plan, err := g.snapshot.Load().plan(r)
	if err != nil {
		return err
	}
	if r.At == nil {
		seen.Undefined = snapshot.policy.Undefined(r.Subjects)
	}
	if r.Weight == 0 {
		r.Weight = 1
	}
	var resolved whom
	overrides := snapshot.current()
	if err := snapshot.resolve(&resolved, plan, r, overrides); err != nil {
		return err
	}
	d.Endpoint, d.Subject = r.Endpoint, resolved.client
	if overridden(overrides, d, r) {
		return nil
	}
	if !resolved.counted(plan) && !plan.unbounded {
		return r.uncounted()
	}
	if g.cachedRefusal(d, plan, &resolved, r, start) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	wait := patienceOf(ctx, snapshot.policy.Timeout, r.Timeout)
	if plan.prefetched != 0 && r.Weight == 1 && !plan.countsAttempts {
		return g.decidePrefetched(ctx, d, plan, &resolved, r, wait, seen, start)
	}
	q := queries.Get().(*ask)
	q.build(plan, r, &resolved, g.split.Load())
	err = g.ask(ctx, d, q, wait, seen)
	if err == nil {
		g.cacheOutcome(plan, &resolved, r, d, start)
	}
	if err == nil && d.Allowed && d.Charge == nil && d.Fallback == FallbackNone {
		queries.Put(q) // any other goes on being used: by a charge, a refund or a call that is late
	}
	return err
}

// queries are for reuse: each has 1.5 kB.
var queries = sync.Pool{New: func() any { return new(ask) }}

// overridden reports whether an override decides the request, and fills in the decision.
func overridden(o *exceptions, d *Decision, r *Request) bool {
	refused, decided := o.decide(r)
	if refused != "" {
		d.Reason, d.Refused = ReasonDenied, refused
	} else if decided {
		d.Allowed = true
	}
	return decided
}

// ask asks Redis. Failure modes decide what Redis leaves undecided.
func (g *Guard) ask(ctx context.Context, d *Decision, q *ask, wait patience, seen *Decided) (err error) {
	if g.asker.ask(ctx, q, wait) {
		seen.Redis = monotime.Now().Since(q.sent)
	}
	undecided, _ := q.errors()
	switch {
	case undecided != nil && q.oneServer && isCrossSlot(undecided):
		g.split.Store(true)
		return g.ask(ctx, d, q.inParts(), wait, seen)
	case undecided != nil && (ctx.Err() != nil || errors.Is(undecided, errCallersDeadline)):
		err = cmp.Or(ctx.Err(), context.DeadlineExceeded)
	default:
		err = g.conclude(ctx, d, q)
	}
	g.dropStrays(q)
	if err != nil || !d.Allowed {
		g.takeBack(ctx, q)
	} else {
		g.hold(d, q, &g.places)
	}
	return err
}

// conclude fills in the decision from the calls' results. An error of an argument or a key fails it; failure modes decide the rest.
func (g *Guard) conclude(ctx context.Context, d *Decision, q *ask) error {
	undecided, failed := q.errors()
	switch {
	case failed != nil:
		return failed
	case undecided != nil:
		return g.applyFailureModes(ctx, d, q, undecided)
	}
	g.compose(d, q)
	return nil
}

// isCrossSlot reports whether a server rejected keys of several hash slots, because it turns out to be part of a cluster. The call ran
// nothing.
func isCrossSlot(err error) bool {
	var refused *fcall.UnavailableError
	return errors.As(err, &refused) && refused.Code == "CROSSSLOT"
}

// dropStrays releases the places of calls whose outcome is unknown.
func (g *Guard) dropStrays(q *ask) {
	for i := range q.calls {
		if c := &q.calls[i]; mayHaveRun(c.err) {
			if p, ok := q.placesOf(c); ok {
				g.places.drop(g.located(p), q.sent)
			}
		}
	}
}

// takeBack refunds, in the background, what Redis charged for a request that does not pass. What a call of unknown outcome counted stays,
// but its reservation ends: also that of a call that is still to come. With a receipt it stays as well, because a repeat may pass by it.
func (g *Guard) takeBack(ctx context.Context, q *ask) {
	refunds := q.refundAll()
	if len(refunds) > 0 {
		g.finish(ctx, func(ctx context.Context) { g.refund(ctx, g.asker.client, refunds) })
	}
	for i := range q.calls {
		c := &q.calls[i]
		if r, ok := q.reserved(c); ok && mayHaveRun(c.err) && q.receipt() == "" {
			money, units := q.estimates(c)
			reserved := Amounts{money, units}
			g.finish(ctx, func(ctx context.Context) { _, _ = g.settle(ctx, &r, &reserved, reserved.none(), "") }) // Settled reports the error
		}
	}
}

// refund makes refunds.
func (g *Guard) refund(ctx context.Context, client *genguard.Client, refunds []refund) {
	for i := range refunds {
		r := &refunds[i]
		err := r.send(ctx, client)
		for _, s := range r.subjects() {
			g.refusals.Invalidate(s)
		}
		g.observe(ctx, Refunded{string(r.subjects()[0]), err})
	}
}
