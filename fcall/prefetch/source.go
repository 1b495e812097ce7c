package prefetch

import (
	"context"
	"errors"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// A source is a limit in Redis.
type source interface {
	take(ctx context.Context, most int64) (grant, error)
	// refund returns tokens, and reports how many it could.
	refund(ctx context.Context, tokens int64, expires time.Time) (int64, error)
}

var errCost = errors.New("prefetch: Cost must be nil: each request takes one token")

// GCRA returns a limiter that shares a bucket with calls of gcra: p has the bucket, limit, period and burst, and no cost.
func GCRA(client *ratelimit.Client, p ratelimit.GCRAParams, o Options) (*Limiter, error) {
	if p.Cost != nil {
		return nil, errCost
	}
	burst := p.Burst
	if burst == 0 {
		burst = p.Limit
	}
	take := func(ctx context.Context, most int64) (grant, error) {
		p := p
		p.Cost, p.AtMost = &most, true
		r, err := client.GCRA(ctx, p)
		return granted(r.Taken, r.Remaining, r.ResetAfter, r.RetryAfter, r.At).OfBucket(p.Period/time.Duration(p.Limit), o.For), err
	}
	limit := func() ratelimit.RefundParams {
		row := ratelimit.Limit{Kind: ratelimit.LimitKindGCRA, Name: p.Name, Limit: p.Limit, Window: p.Period, Burst: p.Burst}
		return ratelimit.RefundParams{Subject: p.Subject, Limits: ratelimit.PackLimit(row)}
	}
	return newLimiter(&single{client, take, limit}, burst, o)
}

// FixedWindow returns a limiter that shares a window with calls of fixed_window: p has the bucket, limit and window, and no cost.
func FixedWindow(client *ratelimit.Client, p ratelimit.FixedWindowParams, o Options) (*Limiter, error) {
	if p.Cost != nil {
		return nil, errCost
	}
	take := func(ctx context.Context, most int64) (grant, error) {
		p := p
		p.Cost, p.AtMost = &most, true
		r, err := client.FixedWindow(ctx, p)
		return granted(r.Taken, r.Remaining, r.ResetAfter, r.RetryAfter, r.At).OfWindow(), err
	}
	limit := func() ratelimit.RefundParams {
		row := ratelimit.Limit{Kind: ratelimit.LimitKindFixedWindow, Name: p.Name, Limit: p.Limit, Window: p.Window}
		return ratelimit.RefundParams{Subject: p.Subject, Limits: ratelimit.PackLimit(row)}
	}
	return newLimiter(&single{client, take, limit}, p.Limit, o)
}

// Quota returns a limiter that shares a quota with calls of quota. params returns their bucket, limit and boundaries around now, and no
// cost.
func Quota(client *ratelimit.Client, params func() ratelimit.QuotaParams, o Options) (*Limiter, error) {
	p := params()
	if p.Cost != nil {
		return nil, errCost
	}
	take := func(ctx context.Context, most int64) (grant, error) {
		p := params()
		p.Cost, p.AtMost = &most, true
		r, err := client.Quota(ctx, p)
		return granted(r.Taken, r.Remaining, r.ResetAfter, r.RetryAfter, r.At).OfWindow(), err
	}
	limit := func() ratelimit.RefundParams {
		p := params()
		row := ratelimit.Limit{
			Kind: ratelimit.LimitKindQuota, Name: p.Name, Limit: p.Limit, Previous: p.Previous, Start: p.Start, Next: p.Next, After: p.After,
		}
		return ratelimit.RefundParams{Subject: p.Subject, Limits: ratelimit.PackLimit(row)}
	}
	return newLimiter(&single{client, take, limit}, p.Limit, o)
}

// granted returns the grant of a call that was decided at a time of the server's clock.
func granted(taken, remaining int64, reset, retry time.Duration, at time.Time) grant {
	return grant{Taken: taken, Remaining: remaining, Reset: reset, Retry: retry, Expires: at.Add(reset)}
}

// A single limit is one that a function of package ratelimit decides.
type single struct {
	client *ratelimit.Client
	grant  func(ctx context.Context, most int64) (grant, error)
	limit  func() ratelimit.RefundParams // with nothing but the limit
}

func (s *single) take(ctx context.Context, most int64) (grant, error) { return s.grant(ctx, most) }

func (s *single) refund(ctx context.Context, tokens int64, expires time.Time) (int64, error) {
	p := s.limit()
	p.Weight, p.At, p.Taken = tokens, expires.Add(-time.Second), ratelimit.PackRefundTaken(ratelimit.RefundTaken{Left: time.Second})
	r, err := s.client.Refund(ctx, p)
	if !r.Refunded {
		return 0, err
	}
	return tokens, err
}
