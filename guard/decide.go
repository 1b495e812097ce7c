package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
)

// Decide decides about a request; see the package's documentation for its errors. It returns within the policy's timeout, apart from
// the time that the process itself needs. The caller of an allowed request with a budget settles the decision in the end.
func (g *Guard) Decide(ctx context.Context, r Request) (*Decision, error) {
	// Inlined, so that the decision stays on the stack of a caller that does not keep it: then a remembered refusal allocates nothing.
	return g.decideInto(ctx, new(Decision), r)
}

func (g *Guard) decideInto(ctx context.Context, d *Decision, r Request) (*Decision, error) {
	var err error
	if len(g.hooks) == 0 && g.shadow == nil {
		_, err = g.decide(ctx, d, &r, now())
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
	start := now()
	r.Subjects, r.Also = slices.Clone(r.Subjects), slices.Clone(r.Also) // the caller may use its own again
	shown := r
	shown.Subjects, shown.Also = slices.Clone(r.Subjects), slices.Clone(r.Also)
	ctx = g.hooks.deciding(ctx, &shown)
	e := Event{Request: r}
	did, err := g.decide(ctx, d, &r, start)
	e.Function, e.Redis, e.Err = did.function, did.took, err
	e.Duration = now().since(start)
	if err == nil {
		if d.Cached {
			d.Limits, d.Budgets = slices.Clone(d.Limits), slices.Clone(d.Budgets)
		}
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
func (g *Guard) decide(ctx context.Context, d *Decision, r *Request, start moment) (asked, error) {
	ps := g.plans.Load()
	pl, err := ps.plan(r)
	if err != nil {
		return asked{}, err
	}
	if r.Weight == 0 {
		r.Weight = 1
	}
	if r.Weight < 0 || r.Weight > mostWeight {
		return asked{}, &fcall.ArgumentError{Function: "guard.decide", Name: "Weight", Must: fmt.Sprintf("be 0 to %d", mostWeight), Got: strconv.FormatInt(r.Weight, 10)}
	}
	if err := checkSubjects("Subjects", r.Subjects, mostSubjects); err != nil {
		return asked{}, err
	}
	if err := checkSubjects("Also", r.Also, mostAlso); err != nil {
		return asked{}, err
	}
	var res resolved
	ps.resolve(&res, pl, r.Subjects)
	d.Endpoint, d.Subject = r.Endpoint, res.client
	if ps.overrides != nil && ps.overridden(d, r) {
		return asked{}, nil
	}
	if !res.counted(pl) && !pl.unbounded {
		return asked{}, &fcall.ArgumentError{Function: "guard.decide", Name: "Subjects", Must: "have an identity that a limit of " + r.Endpoint + " counts", Got: fmt.Sprintf("%q", r.Subjects)}
	}
	if !g.denied.passes(pl, res.client, r.Receipt) {
		if g.recall(d, pl, &res, r, start) {
			return asked{}, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return asked{}, err
	}
	did, err := g.ask(ctx, ps, d, pl.ask(r, &res, g.split.Load()))
	if err != nil {
		return did, err
	}
	if d.Allowed {
		g.denied.admitted(pl, res.client, r.Receipt)
	} else {
		g.remember(pl, &res, r, d, start)
	}
	return did, nil
}

// mostWeight is what a request may weigh; see gen/guard.
const mostWeight = 1_000_000

const (
	mostSubjects = 16  // as many as a policy has identities
	mostAlso     = 128 // as many as package identity finds
	longest      = 512 // bytes of a subject
)

func checkSubjects(name string, subjects []string, most int) error {
	wrong := func(must, got string) error {
		return &fcall.ArgumentError{Function: "guard.decide", Name: name, Must: must, Got: got}
	}
	if len(subjects) > most {
		return wrong(fmt.Sprintf("be at most %d", most), strconv.Itoa(len(subjects)))
	}
	for _, s := range subjects {
		if len(s) > longest {
			return wrong(fmt.Sprintf("be at most %d bytes", longest), strconv.Itoa(len(s)))
		}
		if mark := strings.IndexByte(s, '='); mark <= 0 || mark == len(s)-1 || strings.IndexByte(s, '+') >= 0 {
			return wrong("be IDENTITY=VALUE without +", strconv.Quote(s))
		}
	}
	return nil
}

// overridden fills in what the policy's overrides decide: a deny of any subject, else an allow of any.
func (ps *plans) overridden(d *Decision, r *Request) bool {
	for _, subjects := range [][]string{r.Subjects, r.Also} {
		for _, s := range subjects {
			if ps.overrides.Of(s).Deny {
				d.Reason, d.Refused = ReasonDenied, s
				return true
			}
		}
	}
	for _, s := range r.Subjects {
		if ps.overrides.Of(s).Allow {
			d.Allowed = true
			return true
		}
	}
	return false
}

// ask puts the calls to Redis, and what it does not answer to the failure contract.
func (g *Guard) ask(ctx context.Context, ps *plans, d *Decision, q *question) (asked, error) {
	done, open := g.breaker.allow()
	if open != nil {
		return asked{}, g.without(ctx, ps, d, q, unanswered(len(q.calls), open), open)
	}
	did, sent := asked{function: g.function}, now()
	t := g.start(ctx, q)
	answers := t.await(ctx, ps.policy.Timeout)
	did.took = now().since(sent)
	if answers == nil {
		if err := ctx.Err(); err != nil { // the caller's time, not Redis's
			done(context.Canceled)
			t.fate <- q.turnedAway()
			return did, err
		}
		done(ErrTimeout)
		err := g.without(ctx, ps, d, q, unanswered(len(q.calls), ErrTimeout), ErrTimeout)
		if err == nil && d.Allowed {
			t.fate <- counted
		} else {
			t.fate <- q.turnedAway()
		}
		return did, err
	}
	if q.whole && crossSlot(answers[0].err) {
		g.split.Store(true)
		done(nil)
		return g.ask(ctx, ps, d, q.plan.ask(&q.request, &q.resolved, true))
	}
	failed := firstLost(answers)
	done(failed)
	if failed == nil {
		if err := firstError(answers); err != nil {
			g.warn(noticeFailed, "a decision failed", "endpoint", d.Endpoint, "error", err)
			g.takeBack(ctx, t, answers)
			return did, err
		}
		g.compose(d, q, answers)
		return did, nil
	}
	err := g.without(ctx, ps, d, q, answers, failed)
	if err != nil || !d.Allowed {
		g.takeBack(ctx, t, answers)
	}
	return did, err
}

// takeBack gives back what was charged for a request that was turned away for another reason than a refusal by Redis.
func (g *Guard) takeBack(ctx context.Context, t *trip, answers []answer) {
	if mixed(answers) || t.asked.turnedAway() == kept {
		return // the trip has done it, or it stays paid
	}
	g.trips.Add(1)
	go func() {
		defer g.trips.Done()
		t.giveBack(context.WithoutCancel(ctx), answers)
	}()
}

// crossSlot reports whether a server that turns out to be a cluster has refused keys of several slots. Nothing ran.
func crossSlot(err error) bool {
	var refused *fcall.UnavailableError
	return errors.As(err, &refused) && refused.Code == "CROSSSLOT"
}

func firstLost(answers []answer) error {
	for i := range answers {
		if err := answers[i].err; err != nil && lost(err) {
			return err
		}
	}
	return nil
}

func firstError(answers []answer) error {
	for i := range answers {
		if answers[i].err != nil {
			return answers[i].err
		}
	}
	return nil
}
