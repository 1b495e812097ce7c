package guard

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/internal/ask"
	"github.com/rlfunc/rlfunc/guard/internal/fallback"
	"github.com/rlfunc/rlfunc/guard/internal/moment"
	"github.com/rlfunc/rlfunc/guard/internal/plan"
)

// Decide decides about a request; see the package's documentation for its errors. It returns within the policy's timeout, apart from
// the time that the process itself needs. The caller of an allowed request with a budget settles the decision in the end.
func (g *Guard) Decide(ctx context.Context, r Request) (*Decision, error) {
	// Inlined, so that the decision stays on the stack of a caller that does not keep it.
	return g.decideInto(ctx, new(Decision), r)
}

func (g *Guard) decideInto(ctx context.Context, d *Decision, r Request) (*Decision, error) {
	var err error
	if len(g.hooks) == 0 && g.shadow == nil {
		_, err = g.decide(ctx, d, &r, moment.Now())
	} else {
		err = g.decideAndTell(ctx, d, r)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// decideAndTell shows hooks copies, which they may keep and edit.
func (g *Guard) decideAndTell(ctx context.Context, d *Decision, r Request) error {
	start := moment.Now()
	r.Subjects, r.Also = slices.Clone(r.Subjects), slices.Clone(r.Also) // the caller may use its own again
	shown := r
	shown.Subjects, shown.Also = slices.Clone(r.Subjects), slices.Clone(r.Also)
	ctx = g.hooks.deciding(ctx, &shown)
	e := Event{Request: r}
	did, err := g.decide(ctx, d, &r, start)
	e.Function, e.Redis, e.Err = did.function, did.took, err
	e.Duration = moment.Now().Since(start)
	if err == nil {
		e.Decision = d.Clone()
	}
	g.hooks.decided(ctx, e)
	if g.shadow != nil && !errors.Is(err, ErrEndpoint) {
		if err == nil {
			e.Decision = d.Clone() // hooks may have kept theirs
		}
		g.shadow.follow(ctx, e)
	}
	return err
}

// asked is what Redis was asked for a decision, and how long it was waited for; zero when it was not.
type asked struct {
	function string
	took     time.Duration
}

// decide fills in an empty decision, which without an error is whole. It keeps neither of its pointers.
func (g *Guard) decide(ctx context.Context, d *Decision, r *Request, start moment.Moment) (asked, error) {
	g.overrides.Start()
	ps := g.plans.Load().For(r.Subjects)
	request := (*plan.Request)(r)
	pl, err := ps.Of(request)
	if err != nil {
		return asked{}, err
	}
	if err := request.Check(); err != nil {
		return asked{}, err
	}
	if r.Weight == 0 {
		r.Weight = 1
	}
	var whom plan.Whom
	overrides := ps.Overrides()
	ps.Resolve(&whom, pl, r.Subjects, overrides)
	d.Endpoint, d.Subject = r.Endpoint, whom.Client
	if overridden(overrides, d, request) {
		return asked{}, nil
	}
	if !whom.Counted(pl) && !pl.Unbounded {
		return asked{}, request.Uncounted()
	}
	if g.recall(d, pl, &whom, r, start) {
		return asked{}, nil
	}
	if err := ctx.Err(); err != nil {
		return asked{}, err
	}
	trip := new(ask.Trip)
	trip.Question.Ask(pl, request, &whom, g.split.Load())
	did, err := g.ask(ctx, ps, d, trip)
	if err == nil {
		g.remember(pl, &whom, r, d, start)
	}
	return did, err
}

// ask puts the calls to Redis, and what it does not answer to the failure contract.
func (g *Guard) ask(ctx context.Context, ps *plan.Plans, d *Decision, trip *ask.Trip) (asked, error) {
	q := &trip.Question
	var room [1]fallback.Pass
	passes, leftOut := g.passes(ctx, room[:0], q)
	if passes == nil {
		return asked{}, g.without(ctx, ps, d, q, ask.Unanswered(len(q.Calls), ErrBreaker), ErrBreaker)
	}
	answers, err := g.asker.Ask(ctx, trip, leftOut, ps.Policy.Timeout)
	if errors.Is(err, ErrBusy) {
		gaveUp(passes)
		return asked{}, g.without(ctx, ps, d, q, ask.Unanswered(len(q.Calls), err), err)
	}
	did := asked{function: g.function, took: moment.Now().Since(q.Sent)}
	if err != nil {
		return did, g.late(ctx, ps, d, trip, passes, err)
	}
	for i := range passes {
		passes[i].Done(answers[i].Err)
	}
	if q.Whole && answers[0].Err != nil && crossSlot(answers[0].Err) {
		g.split.Store(true)
		again := new(ask.Trip)
		again.Question.Ask(q.Plan, &q.Request, &q.Whom, true)
		return g.ask(ctx, ps, d, again)
	}
	switch undecided, failed := worst(answers); {
	case undecided != nil:
		err = g.without(ctx, ps, d, q, answers, undecided)
	case failed != nil:
		g.warn(noticeFailed, "a decision failed", "endpoint", d.Endpoint, "error", failed)
		err = failed
	default:
		g.compose(d, q, answers)
		return did, nil
	}
	if err != nil || !d.Allowed {
		trip.End(ask.TurnedAway(q))
	}
	return did, err
}

// late decides about a request whose answers did not come in time.
func (g *Guard) late(ctx context.Context, ps *plan.Plans, d *Decision, trip *ask.Trip, passes []fallback.Pass, cause error) error {
	q := &trip.Question
	if err := ctx.Err(); err != nil { // the caller's time, not Redis's
		gaveUp(passes)
		trip.End(ask.TurnedAway(q))
		return err
	}
	for i := range passes {
		passes[i].Done(cause)
	}
	err := g.without(ctx, ps, d, q, ask.Unanswered(len(q.Calls), cause), cause)
	if err == nil && d.Allowed {
		trip.End(ask.Counted)
	} else {
		trip.End(ask.TurnedAway(q))
	}
	return err
}

// crossSlot reports whether a server that turns out to be a cluster has refused keys of several slots. Nothing ran.
func crossSlot(err error) bool {
	var refused *fcall.UnavailableError
	return errors.As(err, &refused) && refused.Code == "CROSSSLOT"
}
