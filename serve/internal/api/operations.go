package api

import (
	"context"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/guard/inspect"
)

// operations returns what a program can ask. a may be nil for their description.
func (a *API) operations() []operation {
	return []operation{
		post("/v1/decide", "Decide whether a request may pass, and charge it", a.decide),
		post("/v1/charges/settle", "Replace the estimate of a reservation by what was spent", a.settle),
		post("/v1/charges/renew", "Keep the places of a decision for another lease", a.renew),
		post("/v1/charges/release", "Release the places of a decision", a.release),
		post("/v1/challenges/issue", "Issue a one-time challenge", a.issue),
		post("/v1/challenges/consume", "Consume a challenge", a.consume),
		post("/v1/status", "Return the limits, budgets and block of a subject", a.status),
	}
}

func (a *API) decide(ctx context.Context, r *decideRequest) (*decision, error) {
	q, err := a.request(r)
	if err != nil {
		return nil, err
	}
	d, err := a.guard.Decide(ctx, q)
	if err != nil {
		return nil, err
	}
	d.Charge.Count(ctx, true) // the response is not known here
	left := func(wait time.Duration) seconds { return seconds(max(wait-d.Age, 0)) }
	reserved := d.Charge.Reserved()
	out := &decision{
		Allowed: d.Allowed, Reason: string(d.Reason), Subject: d.Subject, Refused: d.Refused, RetryAfter: seconds(d.RetryAfter),
		Duplicate: d.Duplicate, Challenge: d.Challenge, Fallback: string(d.Fallback),
		Charge: d.Charge.Text(), Reserved: money(reserved.Money), ExpiresAfter: seconds(d.Charge.ExpiresAfter()), Limits: []limit{}, Budgets: []budget{},
	}
	for _, a := range reserved.Units {
		out.Units = append(out.Units, amount(a))
	}
	for _, l := range d.Limits {
		out.Limits = append(out.Limits, limit{
			Name: l.Name, Endpoint: l.Endpoint, Subject: l.Subject, Kind: string(l.Kind), Limit: l.Limit, Window: seconds(l.Window), Lease: seconds(l.Lease), Burst: l.Burst,
			Global: l.Global, Shadow: l.Shadow, Allowed: l.Allowed, Remaining: l.Remaining,
			RetryAfter: left(l.RetryAfter), ResetAfter: left(l.ResetAfter),
		})
	}
	for _, b := range d.Budgets {
		out.Budgets = append(out.Budgets, budget{
			Name: b.Name, Subject: b.Subject, Unit: b.Unit, Budget: money(b.Budget), Window: seconds(b.Window), Every: string(b.Every),
			Warned: b.Warned, Allowed: b.Allowed,
			Spent: money(b.Spent), Remaining: money(b.Remaining), RetryAfter: left(b.RetryAfter),
		})
	}
	return out, nil
}

func (a *API) settle(ctx context.Context, r *settleRequest) (*settlement, error) {
	c, err := a.guard.ParseCharge(r.Charge)
	if err != nil {
		return nil, err
	}
	return &settlement{}, c.Settle(ctx, fcall.Micros(r.Actual), units(r.Units)...)
}

func (a *API) renew(ctx context.Context, r *chargeRequest) (*renewal, error) {
	c, err := a.guard.ParseCharge(r.Charge)
	if err != nil {
		return nil, err
	}
	expiresAfter, err := c.Renew(ctx)
	return &renewal{expiresAfter > 0, seconds(expiresAfter)}, err
}

func (a *API) release(ctx context.Context, r *chargeRequest) (*release, error) {
	c, err := a.guard.ParseCharge(r.Charge)
	if err != nil {
		return nil, err
	}
	released, err := c.Release(ctx)
	return &release{released}, err
}

func (a *API) issue(ctx context.Context, r *issueRequest) (*issued, error) {
	subject, err := a.subject(r.Subject)
	if err != nil {
		return nil, err
	}
	i, err := a.challenges.Issue(ctx, challenge.IssueParams{
		Subject: fcall.Subject(subject), Token: fcall.NewToken(), TTL: time.Duration(r.TTL), Payload: r.Payload,
		ReuseWithin: time.Duration(r.ReuseWithin), MaxOutstanding: r.MaxOutstanding,
	})
	return &issued{i.Token, i.Reused, seconds(i.ExpiresAfter), i.Outstanding}, err
}

func (a *API) consume(ctx context.Context, r *consumeRequest) (*consumed, error) {
	subject, err := a.subject(r.Subject)
	if err != nil {
		return nil, err
	}
	c, err := a.challenges.Consume(ctx, challenge.ConsumeParams{Subject: fcall.Subject(subject), Token: r.Token, Payload: r.Payload})
	return &consumed{string(c.Outcome)}, err
}

func (a *API) status(ctx context.Context, r *statusRequest) (*inspect.Report, error) {
	subject, err := a.subject(r.Subject)
	if err != nil {
		return nil, err
	}
	reader, err := inspect.NewReader(a.rdb, a.guard.Policy())
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	return reader.Subject(ctx, subject)
}
