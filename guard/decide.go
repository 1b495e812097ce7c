package guard

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/internal/admit"
	"github.com/rlfunc/rlfunc/guard/internal/fallback"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// Decide decides whether a request may pass. It returns within the policy's timeout, or the request's; see the package documentation for its errors. If an
// allowed request reserved a budget, the caller settles or cancels the decision.
func (g *Guard) Decide(ctx context.Context, r Request) (*Decision, error) {
	// Decide is inlined, so that the decision can stay on the caller's stack.
	return g.decideInto(ctx, new(Decision), r)
}

func (g *Guard) decideInto(ctx context.Context, d *Decision, r Request) (*Decision, error) {
	var err error
	if len(g.hooks) == 0 && g.shadow == nil {
		_, err = g.decide(ctx, d, &r, monotime.Now())
	} else {
		err = g.decideWithHooks(ctx, d, r)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// decideWithHooks passes copies to hooks, which may keep and edit them.
func (g *Guard) decideWithHooks(ctx context.Context, d *Decision, r Request) error {
	start := monotime.Now()
	r = r.clone() // the caller may reuse its slices
	shown := r.clone()
	ctx = g.hooks.deciding(ctx, &shown)
	e := Event{Request: r}
	call, err := g.decide(ctx, d, &r, start)
	e.Function, e.Redis, e.Err = call.function, call.took, err
	e.Duration = monotime.Now().Since(start)
	if err != nil {
		d = nil
	}
	g.report(ctx, e, d)
	return err
}

// report passes copies of a decision, nil after an error, to hooks and to the second policy.
func (g *Guard) report(ctx context.Context, e Event, d *Decision) {
	if d != nil {
		e.Decision = d.Clone()
	}
	g.hooks.decided(ctx, e)
	if g.shadow != nil && !errors.Is(e.Err, ErrEndpoint) {
		if d != nil {
			e.Decision = d.Clone() // hooks may have kept the first copy
		}
		g.shadow.enqueue(ctx, e)
	}
}

// A redisCall is the call that a decision made. It is zero if guard did not call Redis.
type redisCall struct {
	function string
	took     time.Duration
}

// decide fills in an empty decision. It keeps neither d nor r.
func (g *Guard) decide(ctx context.Context, d *Decision, r *Request, start monotime.Time) (redisCall, error) {
	g.overrides.Start()
	ps := g.plans.Load().ForSubjects(r.Subjects)
	request := (*plan.Request)(r)
	pl, err := ps.PlanFor(request)
	if err != nil {
		return redisCall{}, err
	}
	if err := request.Check(); err != nil {
		return redisCall{}, err
	}
	if name := ps.Policy.Undefined(r.Subjects); name != "" {
		if g.options.RejectUndefined {
			return redisCall{}, request.Undefined(name)
		}
		g.hooks.undefined(ctx, r.Endpoint, name)
		g.warn(noticeUndefined, "no limit counts a subject whose identity the policy does not define", "endpoint", r.Endpoint, "identity", name)
	}
	if r.Weight == 0 {
		r.Weight = 1
	}
	var resolved plan.Resolved
	overrides := ps.Overrides()
	ps.Resolve(&resolved, pl, request, overrides)
	d.Endpoint, d.Subject = r.Endpoint, resolved.Client
	if overridden(overrides, d, request) {
		return redisCall{}, nil
	}
	if !resolved.Counted(pl) && !pl.Unbounded {
		err := request.Uncounted()
		g.warn(noticeFailed, "decision failed", "endpoint", d.Endpoint, "error", err)
		return redisCall{}, err
	}
	if g.cachedRefusal(d, pl, &resolved, r, start) {
		return redisCall{}, nil
	}
	if err := ctx.Err(); err != nil {
		return redisCall{}, err
	}
	wait := admit.WaitOf(ps.Policy.Timeout, r.Timeout)
	if pl.Prefetched != 0 && r.Weight == 1 && !pl.Attempts && !r.Refundable {
		return g.decidePrefetched(ctx, d, pl, &resolved, r, wait, start)
	}
	trip := new(admit.RoundTrip)
	trip.Query.Build(pl, request, &resolved, g.split.Load())
	call, err := g.callRedis(ctx, d, trip, nil, wait)
	if err == nil {
		g.cacheOutcome(pl, &resolved, r, d, start)
	}
	return call, err
}

// overridden reports whether an override decides the request, and fills in the decision.
func overridden(o *plan.Overrides, d *Decision, r *plan.Request) bool {
	refused, decided := o.Decide(r)
	if refused != "" {
		d.Reason, d.Refused = ReasonDenied, refused
	} else if decided {
		d.Allowed = true
	}
	return decided
}

// callRedis sends the query to Redis. Failure modes decide what Redis leaves undecided, and limits whose batches failed.
func (g *Guard) callRedis(ctx context.Context, d *Decision, trip *admit.RoundTrip, t *tokens, wait admit.Wait) (redisCall, error) {
	q := &trip.Query
	var room [1]fallback.Permit
	permits, skipped := g.permits(ctx, room[:0], q)
	if t != nil && t.failed != 0 {
		skipped = append(skipped, make([]error, len(q.Calls)-len(skipped))...)
		skipped = append(skipped, t.cause)
		q.AddUndecided(t.failed)
	}
	if permits == nil {
		cause := g.sender.Explain(ErrBreaker)
		return redisCall{}, g.applyFailureMode(ctx, d, q, admit.NoAnswers(len(q.Calls), cause), cause)
	}
	answers, err := g.sender.Send(ctx, trip, skipped, wait)
	if errors.Is(err, ErrBusy) {
		abandon(permits)
		return redisCall{}, g.applyFailureMode(ctx, d, q, admit.NoAnswers(len(q.Calls), err), err)
	}
	call := redisCall{function: g.function, took: monotime.Now().Since(q.Sent)}
	if err != nil {
		return call, g.decideLate(ctx, d, trip, permits, err)
	}
	for i := range permits {
		permits[i].Done(answers[i].Err)
	}
	if q.OneServer && answers[0].Err != nil && isCrossSlot(answers[0].Err) {
		g.split.Store(true)
		again := new(admit.RoundTrip)
		again.Query.Build(q.Plan, &q.Request, &q.Resolved, true)
		return g.callRedis(ctx, d, again, t, wait)
	}
	switch undecided, failed := firstErrors(answers); {
	case undecided != nil:
		err = g.applyFailureMode(ctx, d, q, answers, undecided)
	case failed != nil:
		g.warn(noticeFailed, "decision failed", "endpoint", d.Endpoint, "error", failed)
		err = failed
	default:
		g.compose(d, q, answers)
		if d.Allowed {
			g.hold(d, &g.places, q, answers, g.sender.Share)
		}
		return call, nil
	}
	if err != nil || !d.Allowed {
		trip.Finish(admit.RefusedOutcome(q))
	} else {
		g.hold(d, &g.places, q, answers, g.sender.Share)
	}
	return call, err
}

// decideLate decides a request whose answers missed the deadline.
func (g *Guard) decideLate(ctx context.Context, d *Decision, trip *admit.RoundTrip, permits []fallback.Permit, cause error) error {
	q := &trip.Query
	if ctx.Err() == nil && errors.Is(cause, ErrTimeout) {
		for i := range permits {
			permits[i].Done(cause)
		}
	} else {
		g.judgeLate(trip, permits)
	}
	if callerErr := ctx.Err(); callerErr != nil {
		trip.Finish(admit.RefusedOutcome(q))
		return callerErr
	}
	err := g.applyFailureMode(ctx, d, q, admit.NoAnswers(len(q.Calls), cause), cause)
	if err == nil && d.Allowed {
		trip.Finish(admit.Passed)
	} else {
		trip.Finish(admit.RefusedOutcome(q))
	}
	return err
}

// judgeLate reports the result of calls whose request stopped waiting before the policy's timeout. That alone says nothing about Redis, so
// the answer that comes later decides: a client that disconnects, or that has a shorter deadline, must not open the breaker for others.
func (g *Guard) judgeLate(trip *admit.RoundTrip, permits []fallback.Permit) {
	kept, timeout := slices.Clone(permits), g.Policy().Timeout
	late := trip.OnLate(func(answers []admit.Answer) {
		overdue := monotime.Now().Since(trip.Sent) > timeout
		for i := range kept {
			switch {
			case overdue:
				kept[i].Done(ErrTimeout)
			case answers[i].Err != nil:
				kept[i].Abandon() // it may be that of a call that was taken back before it was sent
			default:
				kept[i].Done(nil)
			}
		}
	})
	if !late {
		abandon(permits)
	}
}

// isCrossSlot reports whether a server rejected keys of several hash slots, because it turns out to be part of a cluster. The call ran
// nothing.
func isCrossSlot(err error) bool {
	var refused *fcall.UnavailableError
	return errors.As(err, &refused) && refused.Code == "CROSSSLOT"
}
