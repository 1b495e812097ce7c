package prefetch

import (
	"context"
	"errors"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/batch"
)

// A source is a limit in Redis.
type source interface {
	take(ctx context.Context, most int64) (batch.Grant, error)
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
	return newLimiter(&bucket{client, p, o.For}, burst, o)
}

type bucket struct {
	client *ratelimit.Client
	params ratelimit.GCRAParams
	bound  time.Duration
}

func (b *bucket) take(ctx context.Context, most int64) (batch.Grant, error) {
	p := b.params
	r, err := b.client.GCRAAtMost(ctx, ratelimit.GCRAAtMostParams{Subject: p.Subject, Limit: p.Limit, Period: p.Period, Burst: p.Burst, Most: most})
	return batch.Grant{Taken: r.Taken, Remaining: r.Remaining, Reset: r.ResetAfter, Retry: r.RetryAfter, Expires: r.Expires}.OfBucket(p.Period/time.Duration(p.Limit), b.bound), err
}

func (b *bucket) refund(ctx context.Context, tokens int64, expires time.Time) (int64, error) {
	p := b.params
	r, err := b.client.GCRARefund(ctx, ratelimit.GCRARefundParams{Subject: p.Subject, Limit: p.Limit, Period: p.Period, Burst: p.Burst, Cost: tokens, Expires: expires})
	if !r.Refunded {
		return 0, err
	}
	return tokens, err
}

// FixedWindow returns a limiter that shares a window with calls of fixed_window: p has the bucket, limit and window, and no cost.
func FixedWindow(client *ratelimit.Client, p ratelimit.FixedWindowParams, o Options) (*Limiter, error) {
	if p.Cost != nil {
		return nil, errCost
	}
	return newLimiter(&window{client, p}, p.Limit, o)
}

type window struct {
	client *ratelimit.Client
	params ratelimit.FixedWindowParams
}

func (w *window) take(ctx context.Context, most int64) (batch.Grant, error) {
	p := w.params
	r, err := w.client.FixedWindowAtMost(ctx, ratelimit.FixedWindowAtMostParams{Subject: p.Subject, Limit: p.Limit, Window: p.Window, Most: most})
	return batch.Grant{Taken: r.Taken, Remaining: r.Remaining, Reset: r.ResetAfter, Retry: r.RetryAfter, Expires: r.Expires}.OfWindow(), err
}

func (w *window) refund(ctx context.Context, tokens int64, expires time.Time) (int64, error) {
	p := w.params
	r, err := w.client.FixedWindowRefund(ctx, ratelimit.FixedWindowRefundParams{Subject: p.Subject, Limit: p.Limit, Window: p.Window, Cost: tokens, Expires: expires})
	return r.Refunded, err
}

// Quota returns a limiter that shares a quota with calls of quota. params returns their bucket, limit and boundaries around now, and no
// cost.
func Quota(client *ratelimit.Client, params func() ratelimit.QuotaParams, o Options) (*Limiter, error) {
	p := params()
	if p.Cost != nil {
		return nil, errCost
	}
	return newLimiter(&quota{client, params}, p.Limit, o)
}

type quota struct {
	client *ratelimit.Client
	params func() ratelimit.QuotaParams
}

func (q *quota) take(ctx context.Context, most int64) (batch.Grant, error) {
	p := q.params()
	r, err := q.client.QuotaAtMost(ctx, ratelimit.QuotaAtMostParams{
		Subject: p.Subject, Limit: p.Limit, Previous: p.Previous, Start: p.Start, Next: p.Next, After: p.After, Most: most,
	})
	return batch.Grant{Taken: r.Taken, Remaining: r.Remaining, Reset: r.ResetAfter, Retry: r.RetryAfter, Expires: r.Expires}.OfWindow(), err
}

func (q *quota) refund(ctx context.Context, tokens int64, expires time.Time) (int64, error) {
	p := q.params()
	r, err := q.client.QuotaRefund(ctx, ratelimit.QuotaRefundParams{
		Subject: p.Subject, Limit: p.Limit, Previous: p.Previous, Start: p.Start, Next: p.Next, After: p.After, Cost: tokens, Expires: expires,
	})
	return r.Refunded, err
}
