package guard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Decide decides about a request; see the package's documentation for its errors. It returns within the policy's timeout, apart from
// the time that the process itself needs. The caller of an allowed request with a budget settles the decision in the end.
func (g *Guard) Decide(ctx context.Context, r Request) (*Decision, error) {
	if len(g.hooks) == 0 && g.shadow == nil {
		d, _, err := g.decide(ctx, &r, now())
		return d, err
	}
	return g.decideAndTell(ctx, r)
}

func (g *Guard) decideAndTell(ctx context.Context, r Request) (*Decision, error) {
	start := now()
	ctx = g.hooks.deciding(ctx, &r)
	e := Event{Request: r}
	e.Decision, e.Redis, e.Err = g.decide(ctx, &r, start)
	e.Duration = now().since(start)
	g.hooks.decided(ctx, e)
	if g.shadow != nil && !errors.Is(e.Err, ErrEndpoint) {
		g.shadow.follow(ctx, e)
	}
	return e.Decision, e.Err
}

func (g *Guard) decide(ctx context.Context, r *Request, start moment) (*Decision, time.Duration, error) {
	ps := g.plans.Load()
	pl, ok := ps.byName[r.Endpoint]
	if !ok {
		return nil, 0, fmt.Errorf("decide %q: %w", r.Endpoint, ErrEndpoint)
	}
	if r.Weight == 0 {
		r.Weight = 1
	}
	if r.Weight < 0 || r.Weight > mostLimit {
		return nil, 0, &fcall.ArgumentError{Function: "guard.decide", Name: "Weight", Must: fmt.Sprintf("be 0 to %d", mostLimit), Got: strconv.FormatInt(r.Weight, 10)}
	}
	if strings.HasPrefix(r.Subject, everybody) {
		return nil, 0, &fcall.ArgumentError{Function: "guard.decide", Name: "Subject", Must: "not begin with " + everybody + ": these keys are everybody's", Got: strconv.Quote(r.Subject)}
	}
	times := int64(1)
	if ps.overrides != nil {
		switch o := ps.overrides.Of(r.Subject); {
		case o.Allow:
			return &Decision{Endpoint: r.Endpoint, Subject: r.Subject, Allowed: true}, 0, nil
		case o.Deny:
			return &Decision{Endpoint: r.Endpoint, Subject: r.Subject, Reason: ReasonDenied}, 0, nil
		default:
			times = o.Multiply
		}
	}
	if !g.denied.passes(pl, r.Subject, r.Receipt) {
		if d := g.recall(pl, r, start); d != nil {
			return d, 0, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	parts, params := pl.calls(r, times)
	d := &Decision{Endpoint: r.Endpoint, Subject: r.Subject}
	took, err := g.ask(ctx, ps, d, r, parts, params)
	if err != nil {
		return nil, took, err
	}
	if d.Allowed {
		g.denied.admitted(pl, r.Subject, r.Receipt)
	} else {
		g.remember(pl, r, d, start)
	}
	return d, took, nil
}

// ask puts the parts to Redis, and what it does not answer to the failure contract.
func (g *Guard) ask(ctx context.Context, ps *plans, d *Decision, r *Request, parts []*part, params []guard.AdmitParams) (time.Duration, error) {
	done, open := g.breaker.allow()
	if open != nil {
		return 0, g.without(ctx, ps, d, r, parts, params, unanswered(len(parts), open), open)
	}
	sent := now()
	t := g.start(ctx, params)
	answers := t.await(ctx, ps.policy.Timeout)
	took := now().since(sent)
	if answers == nil {
		if err := ctx.Err(); err != nil { // the caller's time, not Redis's
			done(context.Canceled)
			t.fate <- false
			return took, err
		}
		done(ErrTimeout)
		err := g.without(ctx, ps, d, r, parts, params, unanswered(len(parts), ErrTimeout), ErrTimeout)
		t.fate <- err == nil && d.Allowed
		return took, err
	}
	failed := firstLost(answers)
	done(failed)
	if failed == nil {
		if err := firstError(answers); err != nil {
			g.takeBack(ctx, t, answers)
			return took, err
		}
		g.compose(d, r, parts, params, answers)
		return took, nil
	}
	err := g.without(ctx, ps, d, r, parts, params, answers, failed)
	if err != nil || !d.Allowed {
		g.takeBack(ctx, t, answers)
	}
	return took, err
}

// takeBack gives back what was charged for a request that was turned away for another reason than a refusal by Redis.
func (g *Guard) takeBack(ctx context.Context, t *trip, answers []answer) {
	if mixed(answers) {
		return // the trip has done it
	}
	g.trips.Add(1)
	go func() {
		defer g.trips.Done()
		t.giveBack(context.WithoutCancel(ctx), answers)
	}()
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

// calls makes the calls of a request, with each limit and budget that many times.
func (pl *plan) calls(r *Request, times int64) ([]*part, []guard.AdmitParams) {
	parts := make([]*part, 0, 1+len(pl.globals))
	params := make([]guard.AdmitParams, 0, 1+len(pl.globals))
	parts = append(parts, pl.subject)
	params = append(params, pl.subject.call(pl, r, times))
	for _, pt := range pl.globals {
		parts = append(parts, pt)
		params = append(params, pt.call(pl, r, 1))
	}
	return parts, params
}

// call is the part's call for a request.
func (pt *part) call(pl *plan, r *Request, times int64) guard.AdmitParams {
	p := pt.params
	if r.Weight != 1 || times > 1 {
		p.Limits = make([]guard.AdmitLimits, len(pt.params.Limits))
		copy(p.Limits, pt.params.Limits)
		for i := range p.Limits {
			p.Limits[i].Limit = manyTimes(p.Limits[i].Limit, times, mostLimit)
			p.Limits[i].Burst = manyTimes(p.Limits[i].Burst, times, mostLimit)
			if p.Limits[i].Kind != guard.AdmitLimitsKind(policy.SlidingLog) {
				p.Limits[i].Cost = new(*p.Limits[i].Cost * r.Weight)
			}
		}
	}
	if pt.global != "" {
		return p
	}
	p.Bucket = fcall.Subject(r.Subject)
	if pl.dedup > 0 && r.Receipt != "" {
		p.Receipt, p.Dedup = pl.receipt(r.Receipt), pl.dedup
	}
	if pt.challenge {
		p.Challenge, p.Payload = r.Challenge, r.Payload
	}
	if len(p.Budgets) > 0 {
		p.Estimate = pt.estimate
		if r.Estimate > 0 {
			p.Estimate = r.Estimate
		}
		if times > 1 {
			p.Budgets = make([]guard.AdmitBudgets, len(pt.params.Budgets))
			for i, b := range pt.params.Budgets {
				p.Budgets[i] = guard.AdmitBudgets{Budget: fcall.Micros(manyTimes(int64(b.Budget), times, mostBudget)), Window: b.Window}
			}
		}
		if p.Receipt == "" {
			p.Reservation = fcall.NewToken()
		}
	}
	return p
}

// receipt is a request's receipt as Redis keeps it. There receipts are the subject's: what was paid for at one endpoint must not pass
// at another.
func (pl *plan) receipt(own string) string {
	named := pl.endpoint.Name + ":" + own
	if len(named) <= mostReceipt {
		return named
	}
	sum := sha256.Sum256([]byte(own))
	return pl.endpoint.Name + ":~" + hex.EncodeToString(sum[:])
}

// What a call may name at most; see gen/guard.
const (
	mostReceipt = 224
	mostLimit   = 1_000_000
	mostBudget  = 1_000_000_000_000_000
)

func manyTimes(n, times, most int64) int64 {
	if times <= 1 {
		return n
	}
	if n > most/times {
		return most
	}
	return n * times
}
